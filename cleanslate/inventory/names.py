"""Host names as inventories write them: `host:port`, IPv6 addresses, ranges `[01:20]`, `[a:f]`, `[0:100:10]`."""

from __future__ import annotations

import ipaddress
import itertools
import re
import string

LOCALHOSTS = ("localhost", "127.0.0.1", "::1")
"""The names that mean this computer even when no inventory names it."""

MOST_HOSTS_IN_A_RANGE = 65_536

_BRACKETED = re.compile(r"^\[(?P<host>.+)\](?::(?P<port>\d+))?$")
_PLAIN = re.compile(r"^(?P<host>(?:[^:\[\]]|\[[^\[\]]*\])+):(?P<port>[^:\[\]]*)$")
_RANGE = re.compile(r"\[(?P<content>[^\[\]]*)\]")
_HOST_AND_PORT = re.compile(r"^(?:[\w.-]|\[[0-9a-zA-Z]*:[0-9a-zA-Z]+(?::\d+)?\])+:\d+$")


class NameMistake(ValueError):
    """A host name that cannot be read; `offset` is the place in the text, from 0."""

    def __init__(self, what: str, offset: int = 0, fix: str | None = None) -> None:
        self.what = what
        self.offset = offset
        self.fix = fix
        super().__init__(what)


def expand_hosts(text: str) -> tuple[list[str], int | None]:
    """Give the host names that an inventory's entry stands for, in order, and the port it names.

    Raises NameMistake.
    """
    host, port = split_port(text)
    if "[" not in host and "]" not in host:
        return [host], port
    return expand_ranges(host), port


def split_port(text: str) -> tuple[str, int | None]:
    """Part `host:port` and `[address]:port`; an IPv6 address without brackets has no port."""
    bracketed = _BRACKETED.match(text)
    if bracketed and _looks_like_ipv6(bracketed["host"]):
        return bracketed["host"], _port(bracketed["port"], text) if bracketed["port"] else None
    plain = _PLAIN.match(text)
    return (plain["host"], _port(plain["port"], text)) if plain else (text, None)


def _port(digits: str, text: str) -> int:
    offset = len(text) - len(digits)
    if not digits:
        raise NameMistake(f'"{text}" ends in ":", which announces a port', offset, "remove the colon, or add the port")
    if not digits.isascii() or not digits.isdigit():
        raise NameMistake(f'"{digits}" is not a port number', offset, "a name may hold no colon")
    if not 1 <= int(digits) <= 65535:
        raise NameMistake(f"{digits} is not a port", offset, "ports go from 1 to 65535")
    return int(digits)


def _looks_like_ipv6(text: str) -> bool:
    bare = _RANGE.sub("1", text)
    return "::" in bare or bare.count(":") == 7


def expand_ranges(text: str) -> list[str]:
    """Give every name that a text with ranges stands for; the last range counts fastest. Raises NameMistake."""
    parts: list[list[str]] = []
    end = 0
    count = 1
    for found in _RANGE.finditer(text):
        parts.append([_literal(text, end, found.start())])
        parts.append(_range(found["content"], found.start()))
        count *= len(parts[-1])
        if count > MOST_HOSTS_IN_A_RANGE:
            raise NameMistake(f'"{text}" stands for more than {MOST_HOSTS_IN_A_RANGE} hosts', found.start())
        end = found.end()
    parts.append([_literal(text, end, len(text))])
    return ["".join(chosen) for chosen in itertools.product(*parts)]


def _literal(text: str, start: int, end: int) -> str:
    for offset in range(start, end):
        if text[offset] in "[]":
            raise NameMistake(
                f'"{text}" has a "{text[offset]}" without its partner', offset, "a range reads [first:last]"
            )
    return text[start:end]


def _range(content: str, offset: int) -> list[str]:
    bounds = content.split(":")
    if len(bounds) not in (2, 3):
        raise NameMistake(
            f'"[{content}]" is not a range',
            offset,
            "a range reads [first:last] or [first:last:step], as [01:20] or [a:f]",
        )
    first, last = bounds[0] or "0", bounds[1]
    if not last:
        raise NameMistake(f'the range "[{content}]" has no end', offset, "a range reads [first:last]")
    step = _step(bounds[2], content, offset) if len(bounds) == 3 else 1
    letters = string.ascii_letters
    if len(first) == len(last) == 1 and first in letters and last in letters:
        start, stop = letters.index(first), letters.index(last)
        _check_order(start, stop, content, offset)
        return list(letters[start : stop + 1 : step])
    return _numbers(first, last, step, content, offset)


def _numbers(first: str, last: str, step: int, content: str, offset: int) -> list[str]:
    for bound in (first, last):
        if not (bound.isascii() and bound.isdigit()):
            raise NameMistake(
                f'the range "[{content}]" goes from "{first}" to "{last}"',
                offset,
                "both ends must be numbers, or both one letter",
            )
    padded = len(first) > 1 and first.startswith("0")
    if padded and len(first) != len(last):
        raise NameMistake(
            f'the ends of the range "[{content}]" differ in length',
            offset,
            f'with leading zeros both have as many digits: "[{first.zfill(len(last))}:{last.zfill(len(first))}]"',
        )
    start, stop = int(first), int(last)
    _check_order(start, stop, content, offset)
    if (stop - start) // step >= MOST_HOSTS_IN_A_RANGE:
        raise NameMistake(f'"[{content}]" stands for more than {MOST_HOSTS_IN_A_RANGE} hosts', offset)
    width = len(first) if padded else 0
    return [str(number).zfill(width) for number in range(start, stop + 1, step)]


def _step(text: str, content: str, offset: int) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise NameMistake(f'the step of the range "[{content}]" is "{text}"', offset, "a step is a number from 1")
    return int(text)


def _check_order(start: int, stop: int, content: str, offset: int) -> None:
    if start > stop:
        raise NameMistake(f'the range "[{content}]" counts down', offset, "the smaller end comes first")


def is_address(text: str) -> bool:
    """Whether a text is an IPv4 or IPv6 address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def is_one_host(text: str) -> bool:
    """Whether a text with colons is one address (IPv6, or `name:22`) rather than names parted by colons."""
    bracketed = _BRACKETED.match(text)
    return is_address(bracketed["host"] if bracketed else text) or bool(_HOST_AND_PORT.match(text))
