"""`sudo` in the lab's machines, where the user is root already and a real sudo finds no root that it knows.

Run as `python3 -I -S sudo.py [OPTION...] [NAME=VALUE...] COMMAND...`. Becoming root is all it does: that is what this
user is. Where it is not (no namespaces were allowed), sudo refuses, as for somebody who may not.
"""

import os
import sys

_FLAGS = "nHESkKbPi"  # taken and without effect: there is no password, no session, and one home
_WITH_VALUE = {"u": "user", "g": "group", "p": "prompt", "C": "close-from", "h": "host", "D": "chdir"}
_LONG_FLAGS = ("non-interactive", "set-home", "preserve-env", "stdin", "reset-timestamp", "login", "preserve-groups")


def read_options(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Split sudo's own options from the command; ValueError names one that is not known."""
    options: dict[str, str] = {}
    words = list(words)
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word == "--":
            break
        name, mark, value = word.lstrip("-").partition("=")
        if word.startswith("--"):
            if name in _WITH_VALUE.values():
                options[name] = value if mark else words.pop(0)
            elif name not in _LONG_FLAGS:
                raise ValueError(f"unrecognized option '{word}'")
            continue
        letters = word[1:]
        while letters:
            letter, letters = letters[0], letters[1:]
            if letter in _WITH_VALUE:
                options[_WITH_VALUE[letter]] = letters or words.pop(0)
                letters = ""
            elif letter not in _FLAGS:
                raise ValueError(f"invalid option -- '{letter}'")
    return options, words


def main() -> int:
    """Run the command as root, or say why not."""
    try:
        options, command = read_options(sys.argv[1:])
    except (ValueError, IndexError) as error:
        sys.stderr.write(f"sudo: {error}\n")
        return 1
    user = options.get("user", "root")
    if os.geteuid() != 0:
        sys.stderr.write("sudo: a password is required\n")
        return 1
    if user not in ("root", "#0"):
        sys.stderr.write(f"sudo: unknown user {user}: the lab's machines have only root\n")
        return 1
    environment = {**os.environ, "SUDO_USER": "root", "SUDO_UID": "0", "SUDO_GID": "0"}
    while command and "=" in command[0] and not command[0].startswith("/"):
        name, _, value = command.pop(0).partition("=")
        environment[name] = value
    if not command:
        return 0  # -v, -k and their like
    try:
        os.execvpe(command[0], command, environment)
    except OSError:
        sys.stderr.write(f"sudo: {command[0]}: command not found\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
