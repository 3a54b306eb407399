"""The items of a step's loop: what they are, what each of them sees, and whether one ends the loop."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from cleanslate.errors import StepFailed
from cleanslate.model import Keywords, Result
from cleanslate.render import OMIT, with_items

if TYPE_CHECKING:
    from cleanslate.render import Variables
    from cleanslate.runner.words import StepWords


class Loop:
    """One step's loop on one host."""

    def __init__(self, words: StepWords) -> None:
        self.words = words
        self.keywords: Keywords = words.keywords
        self.control: Mapping[Any, Any] = words.keywords.loop_control or {}
        self.variable = str(self.control.get("loop_var", "item"))

    def items(self, variables: Variables) -> list[Any]:
        """Render what is looped over."""
        if self.keywords.loop_with is not None:
            return with_items(self.keywords.loop_with, self.keywords.loop, variables, self.words.renderer)
        items = self.words.renderer.render(self.keywords.loop, variables)
        if isinstance(items, str | bytes | Mapping) or not hasattr(items, "__iter__"):
            kind = type(items).__name__
            raise StepFailed(
                f"loop needs a list, and this is {kind}: {items!r:.80}", fix="a mapping wants `| dict2items`"
            )
        return [item for item in items if item is not OMIT]

    def scopes(self, items: list[Any], variables: Variables) -> Iterator[tuple[dict[str, Any], str]]:
        """Each item as the variables it adds, and its label."""
        control = self.control
        loop_var, index_var = self.variable, control.get("index_var")
        pause = float(self.words.renderer.render(control.get("pause", 0), variables) or 0)
        for index, item in enumerate(items):
            if index and pause:
                time.sleep(pause)
            extra: dict[str, Any] = {loop_var: item, "ansible_loop_var": loop_var}
            if index_var:
                extra |= {str(index_var): index, "ansible_index_var": str(index_var)}
            if control.get("extended"):
                extra["ansible_loop"] = _extended(items, index)
            label: Any = item
            if "label" in control:
                label = self.words.renderer.render(control["label"], self.words.variables(extra))
            yield extra, _short(label)

    def ends(self, extra: Mapping[str, Any], result: Result) -> bool:
        """Whether `break_when` holds after an item."""
        condition = self.control.get("break_when")
        if condition is None:
            return False
        conditions = condition if isinstance(condition, list) else [condition]
        seen = {**extra, self.keywords.register: result.data} if self.keywords.register else extra
        return self.words.renderer.condition(list(conditions), self.words.variables(seen))


def _extended(items: list[Any], index: int) -> dict[str, Any]:
    """`ansible_loop` of loop_control's extended."""
    last = len(items) - 1
    found: dict[str, Any] = {
        "allitems": items,
        "index": index + 1,
        "index0": index,
        "revindex": last - index + 1,
        "revindex0": last - index,
        "first": index == 0,
        "last": index == last,
        "length": len(items),
    }
    if index:
        found["previtem"] = items[index - 1]
    if index < last:
        found["nextitem"] = items[index + 1]
    return found


def _short(label: Any) -> str:
    """A loop item as one line of at most 100 characters."""
    text = str(label).replace("\n", "\\n")
    return text if len(text) <= 100 else text[:97] + "..."
