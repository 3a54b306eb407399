"""The competitors of the first two rows: N hosts, each with the same number of steps, `/bin/true` every one."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

from benchmarks import peers
from benchmarks.measuring import Command
from benchmarks.room import HOME, Room, steps

SCRIPTS = Path(__file__).parent / "peer_scripts"


def ours(room: Room, hosts: int, count: int) -> Command:
    """`inv play` as people call it."""
    book = room.playbook(f"steps-{count}", steps(count))
    return Command(room.ours("play", str(book), "-i", str(room.inventory(hosts))), cwd=room.root)


def ansible(room: Room, hosts: int, count: int, *, times: int, mitogen: bool = False) -> Command:
    """ansible-playbook with pipelining, or with mitogen's strategy."""
    more = {}
    if mitogen:
        more = {
            "ANSIBLE_STRATEGY_PLUGINS": peers.mitogen_strategies(),
            "ANSIBLE_STRATEGY": "mitogen_linear",
            "ANSIBLE_HOST_KEY_CHECKING": "False",
        }
    book = room.playbook(f"steps-{count}", steps(count))
    argv = [peers.program("ansible-playbook"), "-i", str(room.inventory(hosts)), str(book)]
    return Command(argv, environment=room.ansible_environment(**more), times=times)


def pyinfra(room: Room, hosts: int, count: int, *, times: int = 5) -> Command:
    """Pyinfra with as many `server.shell` operations."""
    folder = room.folder / "pyinfra"
    folder.mkdir(exist_ok=True)
    reach = {
        "ssh_hostname": room.listen,
        "ssh_port": room.port,
        "ssh_user": room.user,
        "ssh_key": str(room.key),
        "ssh_known_hosts_file": str(room.known_hosts),
        "ssh_strict_host_key_checking": "no",
    }
    inventory = folder / f"inventory_{hosts}.py"
    inventory.write_text(f"hosts = [(f'h{{n:03}}', {reach!r}) for n in range({hosts})]\n")
    deploy = folder / f"deploy_{count}.py"
    deploy.write_text(
        "from pyinfra.operations import server\n"
        f"for n in range({count}):\n    server.shell(name=f'step {{n}}', commands=['/bin/true'])\n"
    )
    argv = [peers.program("pyinfra"), "-y", str(inventory), str(deploy)]
    environment = {**room.ansible_environment(), "HOME": str(room.home)}
    return Command(argv, cwd=folder, environment=environment, times=times)


def fabric(room: Room, hosts: int, count: int) -> Command:
    """Fabric alone, a thread for each host."""
    argv = [peers.program("python"), str(SCRIPTS / "fabric_threads.py"), room.listen, str(room.port), room.user]
    return Command([*argv, str(room.key), str(hosts), str(count)])


def asyncssh(room: Room, hosts: int, count: int) -> Command:
    """Asyncssh alone."""
    argv = [peers.program("python"), str(SCRIPTS / "asyncssh_alone.py"), room.listen, str(room.port), room.user]
    return Command([*argv, str(room.key), str(room.known_hosts), str(hosts), str(count)])


def control_master(room: Room, hosts: int, count: int) -> Command:
    """OpenSSH's client with a ControlMaster: a process for each step, fifty hosts at once."""
    folder = room.folder / "masters"
    folder.mkdir(exist_ok=True)
    ssh = shlex.join(["ssh", *room.ssh_options(), "-o", "ControlMaster=auto", "-o", "ControlPersist=60", room.listen])
    path = f'-o ControlPath={shlex.quote(str(folder))}/"$1"'
    ssh = ssh.replace("ssh ", f"ssh {path} ", 1)
    script = folder / f"loop-{count}"
    script.write_text(
        f"#!/bin/sh\ni=0\nwhile [ $i -lt {count} ]; do\n  {ssh} /bin/true || exit 1\n  i=$((i + 1))\ndone\n"
        f"{ssh} -O exit 2>/dev/null\nexit 0\n"
    )
    script.chmod(0o755)
    argv = ["sh", "-c", f'seq {hosts} | xargs -P 50 -n 1 "$0"', str(script)]
    return Command(argv if hosts > 1 else [str(script), "1"])


def missing() -> list[str]:
    """What this machine lacks to measure all of it."""
    return [name for name in ("ssh", "ssh-keygen", "xargs") if shutil.which(name) is None]


__all__ = ["HOME", "ansible", "asyncssh", "control_master", "fabric", "missing", "ours", "pyinfra"]
