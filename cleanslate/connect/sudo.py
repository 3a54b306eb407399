"""Answers sudo's question for a password at the start of a command, and never shows the password to anything else."""

from __future__ import annotations

import time

from cleanslate.connect.bootstrap import Words
from cleanslate.connect.stream import Stream
from cleanslate.errors import Unreachable

_TICK = 0.02  # seconds between looks at both outputs


def satisfy(stream: Stream, words: Words, password: str, user: str, where: str, seconds: float) -> bytes:
    """Wait until sudo runs the command, giving it the password if it asks. Gives what came after that already.

    Unreachable when the password is wrong, sudo refuses, or nothing happens in time.
    """
    until = time.monotonic() + seconds
    printed = b""
    answered = False
    while time.monotonic() < until:
        data = stream.receive(_TICK)
        printed += data or b""
        if words.ready in printed:
            return printed.partition(words.ready)[2]
        asked = stream.errors.text().count(words.prompt)
        if data == b"" or asked > 1:
            break
        if asked and not answered:
            answered = True
            stream.send(password.encode() + b"\n")
    else:
        raise Unreachable(f"{where}: sudo did not let us become {user} within {seconds:.3g} s")
    if stream.errors.text().count(words.prompt) > 1 or answered:
        raise Unreachable(f"{where}: sudo does not take the password for becoming {user}", fix=_fix(stream, words))
    raise Unreachable(f"{where}: sudo does not let us become {user}: {_said(stream, words)}")


def _said(stream: Stream, words: Words) -> str:
    text = stream.errors.text().replace(words.prompt, "")
    return " / ".join(line.strip() for line in text.splitlines() if line.strip())[-400:]


def _fix(stream: Stream, words: Words) -> str:
    return f"sudo says: {_said(stream, words) or 'nothing'}; check ansible_become_password"
