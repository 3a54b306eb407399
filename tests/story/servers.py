"""The lab's two machines behind real OpenSSH servers: each connection is an sshd of its own, in inetd's way.

The lab gives the machine room (namespaces, pretend GPUs, the stuck server, the orphan); asyncssh is left out. `sshd -i`
is started for each connection by a ProxyCommand, for the container through nsenter in all of its namespaces but the
user's, so that the sessions see what a real container's sessions see.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

REPOSITORY = Path(__file__).parents[2]
SSHD = shutil.which("sshd") or "/usr/sbin/sshd"


class Room:
    """A lab of a test's own, and an inventory that reaches its machines through OpenSSH."""

    def __init__(self, folder: Path, *up: str) -> None:
        self.folder = folder
        self.lab = folder / "lab"
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd insists on it
        self._lab("up", *up)
        known = json.loads((self.lab / "lab.json").read_text())
        self.hosts = known["hosts"]
        self.inventory = folder / "hosts.yml"
        self._write_inventory()
        shutil.copytree(REPOSITORY / "inventory" / "group_vars", folder / "group_vars")

    def _lab(self, *words: str) -> str:
        command = [sys.executable, "-m", "cleanslate.lab", *words, "--root", str(self.lab)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def lab_break(self, *faults: str) -> None:
        """Ask for troubles."""
        self._lab("break", *faults)

    def status(self) -> dict:
        """What the lab itself sees: who holds which GPU."""
        return json.loads(self._lab("status", "--json"))

    def close(self) -> None:
        """End the lab."""
        self._lab("down")

    def _write_inventory(self) -> None:
        for name in ("host_key", "client"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name)], check=True)
        known_hosts = self.folder / "known_hosts"
        public = " ".join((self.folder / "host_key.pub").read_text().split()[:2])
        known_hosts.write_text(f"eagle3-lab {public}\npve-lab {public}\n")
        hosts = {}
        for name, variables in self.hosts.items():
            way = self.way(name)
            options = {
                "UserKnownHostsFile": known_hosts,
                "IdentitiesOnly": "yes",
                "HostKeyAlias": name,
                **way,
            }
            arguments = " ".join(f"-o {key}={self._quoted(str(value))}" for key, value in options.items())
            hosts[name] = {
                **variables,
                "ansible_host": name,
                "ansible_port": int(way.get("Port", "22")),
                "ansible_ssh_private_key_file": str(self.folder / "client"),
                "ansible_ssh_common_args": arguments,
            }
        groups = {"eagle3": {"hosts": {"eagle3-lab": None}}, "hypervisors": {"hosts": {"pve-lab": None}}}
        self.inventory.write_text(yaml.safe_dump({"all": {"hosts": hosts, "children": groups}}))

    def way(self, name: str) -> dict[str, str]:
        """The ssh options that lead to a machine."""
        return {"ProxyCommand": self.server_command(name)}

    @staticmethod
    def _quoted(text: str) -> str:
        return f'"{text}"' if " " in text else text

    def server_command(self, name: str) -> str:
        """The command that is one connection's sshd."""
        from cleanslate.lab.layout import Layout

        environment = Layout(self.lab).environment(name)
        config = self.folder / f"sshd_{name}"
        config.write_text(
            f"HostKey {self.folder / 'host_key'}\n"
            f"AuthorizedKeysFile {self.folder / 'client.pub'}\n"
            "PasswordAuthentication no\nStrictModes no\nUsePAM no\nPrintMotd no\nPermitRootLogin yes\n"
            + "SetEnv "
            + " ".join(f'"{key}={value}"' for key, value in environment.items())
            + "\n"
        )
        sshd = f"{SSHD} -i -f {config}"
        return f"nsenter -t {self._first_process(name)} -U -m -u -i -n -p {sshd}"

    def _first_process(self, name: str) -> int:
        """The first process of a machine's PID namespace, as seen from outside of all of them."""
        command = ["ssh", "-F", str(self.lab / "ssh_config"), name, "readlink /proc/self/ns/pid"]
        wanted = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and str((entry / "ns" / "pid").readlink()) == wanted:
                    found.append(int(entry.name))
        return min(found)


def inv(*words: str, folder: Path, runs: Path, seconds: float = 150) -> subprocess.CompletedProcess:
    """Run `inv` as a person does, with records of its own."""
    environment = {**os.environ, "NO_COLOR": "1", "INVOKE_CLEANSLATE_RUNS": str(runs), "HOME": str(folder)}
    return subprocess.run(
        [sys.executable, "-m", "cleanslate.cli", *words],
        capture_output=True,
        text=True,
        timeout=seconds,
        env=environment,
        stdin=subprocess.DEVNULL,
        cwd=REPOSITORY,
    )
