"""Where everything of a lab lies, below its folder."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from cleanslate.lab.hardware import Hardware, load

CONTAINER = "eagle3-lab"
HYPERVISOR = "pve-lab"
MACHINES = (HYPERVISOR, CONTAINER)
VMID = 101
SERVER = "eagle3"
DRAFT_COMMIT = "5f0b8e2c4d1a97360e8f5b2c9a4d7e1f3c6b0a92"
DRAFT_COMMIT_BEFORE = "a3c1d5e7f90b2846c8e0a1b3d5f7092846ace013"
ROOM = Path(__file__).with_name("room")
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Layout:
    """The folders and files of the lab in `root`, an absolute path."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.hardware_facts = root / "hardware.json"
        self.identity = root / "lab.id"  # marks the folder as ours; the lab ends when it changes or goes
        self.inventory = root / "lab.json"
        self.pid = root / "lab.pid"
        self.log = root / "lab.log"
        self.faults = root / "faults"
        self.container_facts = root / "container.json"
        self.keys = root / "keys"
        self.known_hosts = root / "known_hosts"
        self.ssh_config = root / "ssh_config"
        self.run = root / "run"
        self.devices = root / "dev"
        self.libraries = root / "lib"
        self.outside = root / "proc"  # real GPUs: the hypervisor's /proc, for the orphans in the container

    @cached_property
    def hardware(self) -> Hardware:
        """The GPUs that this lab was built with."""
        return load(self.hardware_facts)

    def machine(self, name: str) -> Path:
        """The folder that is a machine's own."""
        return self.root / name

    def home(self, name: str) -> Path:
        """The home of a machine's root user."""
        return self.machine(name) / "home"

    @cached_property
    def models(self) -> Path:
        """The container's models."""
        return self.machine(CONTAINER) / "models"

    @cached_property
    def draft(self) -> Path:
        """The draft model, as the Hugging Face cache keeps one: blobs, refs, snapshots."""
        return self.models / "eagle3-draft"

    @cached_property
    def draft_snapshot(self) -> Path:
        """The revision of the draft that the server loads."""
        return self.draft / "snapshots" / DRAFT_COMMIT

    @cached_property
    def logs(self) -> Path:
        """Where the container's servers write their logs."""
        return self.machine(CONTAINER) / "log"

    @cached_property
    def server(self) -> Path:
        """The virtual environment in which the server is installed."""
        return self.machine(CONTAINER) / "server"

    @property
    def server_log(self) -> Path:
        """The log of the server in the story."""
        return self.logs / f"{SERVER}.log"

    @property
    def server_python(self) -> Path:
        """The interpreter of the server."""
        return self.server / "bin" / "python"

    def environment(self, machine: str) -> dict[str, str]:
        """What a session on a machine starts with, beside SSH_CONNECTION."""
        # Beside pretend GPUs an empty libnvidia-ml.so.1 hides a real NVML.
        libraries = self.hardware.libraries if self.hardware.real else str(self.libraries)
        programs = [str(self.machine(machine) / "bin"), self.hardware.path, _SYSTEM_PATH]
        found = {
            "PATH": ":".join(part for part in programs if part),
            "HOME": str(self.home(machine)),
            "USER": "root",
            "LOGNAME": "root",
            "SHELL": "/bin/sh",
            "LANG": "C.UTF-8",
            "TMPDIR": str(self.machine(machine) / "tmp"),
            "XDG_STATE_HOME": str(self.home(machine) / ".local" / "state"),
            "CLEANSLATE_LEASES": str(self.home(machine) / ".local" / "state" / "cleanslate" / "leases"),
        }
        return {**found, "LD_LIBRARY_PATH": libraries} if libraries else found
