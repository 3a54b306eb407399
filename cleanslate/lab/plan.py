"""What the processes of a lab share: sockets that were made before them, and how each becomes a machine."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass

from cleanslate.lab import namespaces
from cleanslate.lab.layout import Layout
from cleanslate.lab.namespaces import Isolation
from cleanslate.lab.pipes import Children
from cleanslate.lab.sessions import SshMachine


@dataclass
class Plan:
    """What the processes of a lab are forked with."""

    layout: Layout
    identity: str
    isolation: Isolation
    doors: dict[str, socket.socket]
    ports: dict[str, int]
    driver: socket.socket
    server_port: int
    ready: int = -1  # where the hypervisor says that the lab is up
    protected: str = "no: no namespaces"

    def let_go(self, *, keep: str | None = None) -> None:
        """Close what belongs to the machines' main processes, in a process that is none; `keep` names a machine."""
        for door in [self.driver, *(door for name, door in self.doors.items() if name != keep)]:
            door.close()
        os.close(self.ready)


def settle(plan: Plan, name: str) -> None:
    """Be the first process of a machine: the one that sees its processes, and to whom its orphans fall."""
    if plan.isolation.pid:
        namespaces.settle_machine(name)
    else:
        namespaces.become_subreaper()


async def listen(plan: Plan, name: str, children: Children) -> None:
    """Serve SSH on the door that this computer sees, and for the other machine in the lab's own network."""
    layout = plan.layout
    environment = {**layout.environment(name), "CLEANSLATE_LAB": plan.identity}
    machine = SshMachine(environment, children)
    host_key, authorized = layout.keys / name, layout.keys / "client.pub"
    await machine.listen({"sock": plan.doors[name]}, host_key, authorized)
    if plan.isolation.network:
        await machine.listen({"host": "127.0.0.1", "port": plan.ports[name]}, host_key, authorized)
