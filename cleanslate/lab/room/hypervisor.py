"""`pct` and `lxc-info` of the lab's hypervisor, as far as people and playbooks use them on a running container.

Run as `python3 -I -S hypervisor.py FACTS pct|lxc-info [ARGUMENT...]`; FACTS is a file with what the lab knows of its
container: {"vmid", "name", "pid" (of its first process, seen from here), "namespaces", "environment"}.
"""

import json
import os
import sys
from typing import Any

_NAMESPACES = ("user", "mnt", "uts", "ipc", "pid")  # user first: it gives the right to enter the others
# The machines share one file system, so these stand for the container's own files and go with it into `pct exec`.
_PLACES = ("HOME", "PATH", "XDG_STATE_HOME", "TMPDIR", "LD_LIBRARY_PATH")


def _enter(pid: int) -> None:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    handles = [os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in _NAMESPACES]
    own = os.open("/proc/self/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    shared = handles[0] if os.path.samestat(os.fstat(own), os.fstat(handles[0])) else None
    for name, handle in zip(_NAMESPACES, handles, strict=True):
        if handle is shared:
            continue  # one's own user namespace cannot be entered again
        if libc.setns(handle, 0) != 0:
            raise OSError(ctypes.get_errno(), f"setns {name}: {os.strerror(ctypes.get_errno())}")


def _execute(facts: dict[str, Any], words: list[str]) -> int:
    keep = True
    while words and words[0] != "--" and words[0].startswith("-"):
        option, _, value = words.pop(0).lstrip("-").partition("=")
        if option != "keep-env":
            sys.stderr.write(f"Unknown option: {option}\n400 unable to parse option\n")
            return 255
        keep = (value or words.pop(0)) not in ("0", "no", "false")
    if words[:1] == ["--"]:
        words = words[1:]
    if not words:
        sys.stderr.write("400 not enough arguments\npct exec <vmid> [<extra-args>] [OPTIONS]\n")
        return 255
    environment = dict(os.environ) if keep else {"TERM": os.environ.get("TERM", "dumb")}
    environment.update({name: facts["environment"][name] for name in _PLACES}, container="lxc")
    if facts["namespaces"]:
        _enter(facts["pid"])
    child = os.fork()
    if child == 0:
        os.chdir("/")
        try:
            os.execvpe(words[0], words, environment)
        except OSError as error:
            sys.stderr.write(f"lxc-attach: {facts['vmid']}: Failed to exec {words[0]!r}: {error.strerror}\n")
            os._exit(127 if error.errno == 2 else 126)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) % 256


def pct(facts: dict[str, Any], words: list[str]) -> int:
    """Behave as pct."""
    command, rest = (words[0], words[1:]) if words else ("", [])
    if command == "list":
        sys.stdout.write(f"{'VMID':<10} {'Status':<10} {'Lock':<12} {'Name':<20}\n")
        sys.stdout.write(f"{facts['vmid']:<10} {'running':<10} {'':<12} {facts['name']:<20}\n")
        return 0
    if command not in ("status", "exec", "config"):
        sys.stderr.write(f"ERROR: unknown command 'pct {command}'; the lab knows list, status, config, exec\n")
        return 255
    if not rest or rest[0] != str(facts["vmid"]):
        vmid = rest[0] if rest else ""
        sys.stderr.write(f"Configuration file 'nodes/pve-lab/lxc/{vmid}.conf' does not exist\n")
        return 2
    if command == "exec":
        return _execute(facts, rest[1:])
    if command == "config":
        sys.stdout.write(f"arch: amd64\nhostname: {facts['name']}\nostype: debian\nunprivileged: 1\n")
    else:
        sys.stdout.write("status: running\n")
    return 0


def lxc_info(facts: dict[str, Any], words: list[str]) -> int:
    """Behave as lxc-info with -n, -p, -s, -H and their long forms."""
    name, wanted, bare = "", [], False
    words = list(words)
    while words:
        word = words.pop(0)
        if word in ("-n", "--name"):
            name = words.pop(0) if words else ""
        elif word.startswith("--name="):
            name = word.partition("=")[2]
        elif word in ("-p", "--pid"):
            wanted.append(("PID", str(facts["pid"])))
        elif word in ("-s", "--state"):
            wanted.append(("State", "RUNNING"))
        elif word in ("-H", "--no-humanize"):
            bare = True
        elif word.startswith("-"):
            sys.stderr.write(f"lxc-info: unrecognized option '{word}'\n")
            return 1
        else:
            name = word
    if name != str(facts["vmid"]):
        sys.stderr.write(f"{name} doesn't exist\n")
        return 1
    everything = [("Name", name), ("State", "RUNNING"), ("PID", str(facts["pid"]))]
    for label, value in wanted or everything:
        sys.stdout.write(f"{value}\n" if bare else f"{label + ':':<16}{value}\n")
    return 0


def main() -> int:
    """Run the program that argv names."""
    with open(sys.argv[1], encoding="utf-8") as file:  # noqa: PTH123 - pathlib would double the start-up time
        facts = json.load(file)
    program = {"pct": pct, "lxc-info": lxc_info}[sys.argv[2]]
    return program(facts, sys.argv[3:])


if __name__ == "__main__":
    sys.exit(main())
