"""Asks the person at the terminal: prompts, and the passwords of connections and of become."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from cleanslate.cli.loading import PlayOptions
from cleanslate.redaction import Secrets


def connection_variables(options: PlayOptions, secrets: Secrets) -> dict[str, Any]:
    """What the command line says of connections; variables of the inventory win over it, as in Ansible."""
    said: dict[str, Any] = {
        "ansible_user": options.user,
        "ansible_ssh_private_key_file": options.private_key,
        "ansible_connection": options.connection,
        "ansible_become_method": options.become_method,
    }
    if options.ask_pass:
        import getpass

        said["ansible_password"] = getpass.getpass("SSH password: ")
        secrets.add(said["ansible_password"])
    return {name: value for name, value in said.items() if value is not None}


class Asker:
    """Asks the person at the terminal."""

    def __call__(self, prompt: str, echo: bool, seconds: float | None) -> str | None:
        """Ask; None when the seconds ran out."""
        if not echo:
            import getpass

            return getpass.getpass(f"{prompt}: ")
        print(f"{prompt}: ", end="", flush=True)
        if seconds is not None:
            import select

            ready, _, _ = select.select([sys.stdin], [], [], seconds)
            if not ready:
                print()
                return None
        return sys.stdin.readline().rstrip("\n")

    def become_password(self, secrets: Secrets) -> Callable[[], str]:
        """A function that asks for the become password, once."""
        known: list[str] = []

        def ask() -> str:
            if not known:
                import getpass

                known.append(getpass.getpass("BECOME password: "))
                secrets.add(known[0])
            return known[0]

        return ask
