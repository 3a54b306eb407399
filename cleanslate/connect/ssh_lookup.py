"""Looks options up in OpenSSH configuration text; imported only when a connection is opened, as the library is slow."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from typing import Any

from paramiko.config import SSHConfig

_PATIENCE = 10.0  # seconds for a command of `Match exec`


class OpenSshConfig(SSHConfig):
    """The library's, but for two things. Commands of `Match exec` do not read our terminal, and wait for ever. And the
    resolver is asked for this machine's full name, which takes as long as DNS likes, only where a `%l` wants it.
    """

    def parse(self, file_obj: Iterable[str]) -> None:
        """Take the text of a configuration."""
        lines = list(file_obj)
        if not any("%l" in line for line in lines):
            known = self.TOKENS_BY_CONFIG_KEY
            self.TOKENS_BY_CONFIG_KEY = {key: [one for one in tokens if one != "%l"] for key, tokens in known.items()}
        super().parse(lines)

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
