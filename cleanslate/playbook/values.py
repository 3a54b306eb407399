"""Small questions about values from the sources, asked all over this room."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from typing import Any

from cleanslate.errors import Origin
from cleanslate.model import SourceMap, SourceText

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_NO_NAMES = {"True", "False", "None"}


def templated(value: Any) -> bool:
    """Whether a text holds a template, so that its value is not known yet."""
    return isinstance(value, str) and ("{{" in value or "{%" in value)


def is_name(value: Any) -> bool:
    """Whether a variable can be called so."""
    return isinstance(value, str) and bool(_NAME.match(value)) and not keyword.iskeyword(value)


def name_refusal(value: Any) -> str:
    """What to do about a name that no variable can have."""
    if templated(value):
        return "write the name itself, not a template"
    if not isinstance(value, str):
        return "quote it, and start it with a letter"
    if keyword.iskeyword(value):
        return f'"{value}" is a word of the template language; take another'
    better = re.sub(r"\W", "_", value.strip(), flags=re.ASCII)
    better = f"_{better}" if better[:1].isdigit() else better
    return f'names have letters, digits and underscores only; for example "{better}"' if better else "give it a name"


def nearest(word: Any, known: Iterable[str], *, taken: Iterable[Any] = (), cutoff: float = 0.6) -> str | None:
    """The known word that was most likely meant: one with the same first letter before one that is only near."""
    words = [one for one in known if one not in set(taken)]
    text = str(word)
    import difflib

    near = difflib.get_close_matches(text, words, n=5, cutoff=cutoff)
    starts = [one for one in words if len(text) > 1 and one.startswith(text)]
    same = [one for one in near if one[:1] == text[:1]]
    return next(iter([*same[:1], *starts, *near]), None)


def did_you_mean(word: Any, known: Iterable[str], *, taken: Iterable[Any] = (), cutoff: float = 0.6) -> str | None:
    """`did you mean "x"?`, or None where nothing known is near."""
    found = nearest(word, known, taken=taken, cutoff=cutoff)
    return f'did you mean "{found}"?' if found else None


def shown(value: Any) -> str:
    """A value as messages quote it: short, and saying what it is."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        line = value if "\n" not in value else value.split("\n")[0] + "..."
        return f'"{line}"' if len(line) <= 60 else f'"{line[:57]}..."'
    return str(value)


def placed(value: Any) -> Origin | None:
    """Where a value stands, if it knows."""
    return getattr(value, "origin", None)


def as_text(value: Any, origin: Origin | None) -> SourceText:
    """A scalar of the sources as text of the sources."""
    return value if isinstance(value, SourceText) else SourceText(str(value), origin)


def copy_entry(source: SourceMap, key: Any, target: SourceMap, name: Any | None = None) -> None:
    """Take a key over into another map, with its places; under another name if one is given."""
    name = key if name is None else name
    target[name] = source[key]
    if key in source.key_origins:
        target.key_origins[name] = source.key_origins[key]
    if key in source.value_origins:
        target.value_origins[name] = source.value_origins[key]


def as_data(value: Any) -> Any:
    """A value of the sources as plain data: nothing in it is a template any more."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, dict):
        return {as_data(key): as_data(inner) for key, inner in value.items()}
    return [as_data(inner) for inner in value] if isinstance(value, list) else value
