"""HTML that cannot be broken by what a host says: only text made here is markup, everything else is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

from cleanslate.report.escapes import visible


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def text(value: Any) -> Html:
    """A value as text. Characters that would not be seen (controls, changes of direction) are shown as escapes."""
    plain = "" if value is None else str(value)
    return Html(html.escape(visible(plain, but="\n\t")))


def tag(name: str, *children: Any, **attributes: Any) -> Html:
    """An element. In names of attributes a last underscore falls (`class_`), others become dashes; None leaves out."""
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value)}"' if value is not True else f" {key.rstrip('_')}"
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Html(f"<{name}{shown}>{join(children)}</{name}>")


def join(children: Iterable[Any], between: str = "") -> Html:
    """Children one after the other; those that are no markup are escaped."""
    return Html(between.join(child if isinstance(child, Html) else text(child) for child in _flat(children)))


def _flat(children: Iterable[Any]) -> Iterable[Any]:
    for child in children:
        if child is None:
            continue
        if isinstance(child, list | tuple):
            yield from _flat(child)
        else:
            yield child


def seconds(value: float) -> str:
    """A duration as people read it."""
    if value < 9.95:
        return f"{value:.1f} s"
    if value < 60:
        return f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def gib(mib: float) -> str:
    """Memory as people read it."""
    if mib < 1024:
        return f"{mib:.0f} MiB"
    return f"{mib / 1024:.1f} GiB" if mib < 100 * 1024 else f"{mib / 1024:.0f} GiB"


def chip(status: str, words: str | None = None) -> Html:
    """A status as a word with its color; the word is what counts."""
    return tag("span", words or status, class_=f"chip {status}")
