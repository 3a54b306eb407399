"""`python -m cleanslate.lab up | down | status | break FAULT...`, each with `--root FOLDER`."""

from __future__ import annotations

import os
import sys


def _default_root() -> str:
    """`.lab` of the repository that this code lies in."""
    return os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), ".lab")  # noqa: PTH100, PTH118, PTH120 - pathlib would cost more than `up` when up


def _quick(words: list[str]) -> bool:
    """Answer `up` and `up --root FOLDER` at once when the lab is up."""
    if words[:1] != ["up"] or (words[1:] and (len(words) != 3 or words[1] != "--root")):
        return False
    from cleanslate.lab.alive import running_pid

    root = words[2] if words[1:] else _default_root()
    return running_pid(root) is not None and os.path.exists(os.path.join(root, "lab.json"))  # noqa: PTH110, PTH118 - as above


def main(words: list[str]) -> int:
    """Run one command; 64 for wrong words, 1 when the lab cannot do it."""
    if _quick(words):
        return 0
    from cleanslate.lab.commands import run

    return run(words, _default_root())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
