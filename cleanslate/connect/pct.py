"""Into a container through its hypervisor: every command is `pct exec VMID -- /bin/sh -c ...` on the hypervisor."""

from __future__ import annotations

from cleanslate.connect.bootstrap import in_container
from cleanslate.connect.stream import Link, Stream


class PctLink:
    """The way into one container; `hypervisor` is an open link to the machine that carries it."""

    def __init__(self, hypervisor: Link, vmid: int) -> None:
        self._hypervisor = hypervisor
        self._vmid = vmid
        self._keep_env = True
        self.patience = hypervisor.patience
        self.near = hypervisor.near

    def start(self, command: str, seconds: float) -> Stream:
        """Start a command line in the container's /bin/sh."""
        return self._hypervisor.start(in_container(command, self._vmid, keep_env=self._keep_env), seconds)

    def trouble(self) -> str | None:
        """What is wrong with the hypervisor's connection."""
        return self._hypervisor.trouble()

    def learn(self, errors: str) -> bool:
        """An older pct does not know --keep-env, and says so before it does anything."""
        if not self._keep_env or not errors.lstrip().startswith("Unknown option: keep-env"):
            return False
        self._keep_env = False
        return True

    def close(self) -> None:
        """Close a dead connection to the hypervisor; a live one is others' too."""
        if self._hypervisor.trouble() is not None:
            self._hypervisor.close()
