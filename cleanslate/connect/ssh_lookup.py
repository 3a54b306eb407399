"""Looks options up in OpenSSH configuration text; imported only when a connection is opened, as the library is slow."""

from __future__ import annotations

import subprocess
from typing import Any

from paramiko.config import SSHConfig

_PATIENCE = 10.0  # seconds for a command of `Match exec`


class OpenSshConfig(SSHConfig):
    """The library's, but for the commands of `Match exec`: it would read our terminal for them, and wait for ever."""

    def _does_match(
        self, match_list: list[dict[str, Any]], host: str, canonical: bool, final: bool, options: dict[str, Any]
    ) -> Any:
        answered: list[dict[str, Any]] = []
        for condition in match_list:
            if condition["type"] == "exec":
                if answered and not super()._does_match(answered, host, canonical, final, options):  # type: ignore[misc]
                    return False
                command = self._tokenize(options, host, "match-exec", condition["param"])  # type: ignore[attr-defined]
                condition = {**condition, "type": "originalhost", "param": "*" if _succeeds(command) else ""}
            answered.append(condition)
        return super()._does_match(answered, host, canonical, final, options)  # type: ignore[misc]


def _succeeds(command: str) -> bool:
    """Whether a command line ends well, and soon enough."""
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=_PATIENCE
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0
