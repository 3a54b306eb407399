"""YAML: scalars are exchanged where they stand, keys added and removed by the line; comments stay.

What cannot be done by position without guessing is refused with what to do instead: block scalars, whole block
mappings and lists, and whatever is shared through an anchor.
"""

from __future__ import annotations

import json
import re
from typing import Any

from cleanslate.configtext.spans import Child, Span, add_child, cut_child, line_end, line_start, newline_of, walk
from cleanslate.configtext.values import MISSING, EditRefused, Path, lookup, show_path

_PLAIN = re.compile(r"[A-Za-z_./][A-Za-z0-9_./@+-]*(?: [A-Za-z0-9_./@+-]+)*")
_OTHER_MEANING = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null"])
_UNIT = "  "


def load(text: str) -> Any:
    """The data of the one document; EditRefused with line and column where the text is not YAML."""
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        said = getattr(error, "problem", None) or getattr(error, "context", None) or "several documents in one file"
        raise EditRefused(f"this is not YAML that can be edited: {said}{where}") from None
    except RecursionError:
        raise EditRefused("the YAML is nested too deeply") from None


def set_value(text: str, path: Path, value: Any) -> str:
    """The text with the scalar at the path exchanged, or with a new key behind the last one of its mapping."""
    data = load(text)
    depth = len(path)
    while depth and lookup(data, path[:depth]) is MISSING:
        depth -= 1
    if depth < len(path):
        return _add(text, path, depth, value)
    node = _reach(text, path)
    old = text[node.start_mark.index : node.end_mark.index]
    if node.id != "scalar" and not node.flow_style:
        raise EditRefused(f'"{show_path(path)}" is a whole block {node.id}', "set the scalars in it one by one")
    if old[:1] in ("&", "!", "|", ">"):
        raise EditRefused(f'"{show_path(path)}" is a block scalar or has an anchor or tag', "edit it by hand")
    style = getattr(node, "style", None)
    written = _flow(value, style if node.id == "scalar" else None)
    blank = " " if not old and not text[node.start_mark.index - 1 : node.start_mark.index].isspace() else ""
    return text[: node.start_mark.index] + blank + written + text[node.end_mark.index :]


def remove(text: str, path: Path) -> str:
    """The text without the key or item: its lines, or its place in a flow collection."""
    parent = _reach(text, path[:-1])
    if parent.flow_style:
        return cut_child(text, *walk(_flow_span(parent), path[-1:]))
    key, value = _entry(parent, path)
    start = key.start_mark.index
    before = text[line_start(text, start) : start]
    if before.strip(" \t") not in ("", "-") or (parent.id == "mapping" and "-" in before):
        raise EditRefused(f'"{show_path(path)}" shares its line with its parent', "remove it by hand")
    return text[: line_start(text, start)] + text[line_end(text, max(_last(value) - 1, start)) :]


def _reach(text: str, path: Path) -> Any:
    """The node at an existing path; refused where an anchor, an alias or a merge key stands on the way."""
    import yaml

    node = yaml.compose(text, Loader=yaml.SafeLoader)
    shared = _shared(node)
    for depth in range(len(path)):
        node = _entry(node, path[: depth + 1])[1]
        if id(node) in shared:
            raise EditRefused(
                f'"{show_path(path[: depth + 1])}" is shared through an anchor',
                "edit it where the anchor stands, by hand",
            )
    return node


def _shared(root: Any) -> set[int]:
    """The nodes that stand in the tree more than once, that is, those with aliases."""
    seen: set[int] = set()
    twice: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            twice.add(id(node))
            continue
        seen.add(id(node))
        for part in node.value if node.id != "scalar" else ():
            waiting.extend(part if isinstance(part, tuple) else (part,))
    return twice


def _entry(parent: Any, path: Path) -> tuple[Any, Any]:
    """(key node, value node) of the last part of a path below its parent; for an item both are the item."""
    if parent.id == "sequence":
        item = parent.value[int(path[-1])]
        return item, item
    found = [pair for pair in parent.value if pair[0].value == path[-1]] if parent.id == "mapping" else []
    if len(found) > 1:
        raise EditRefused(
            f'the key "{path[-1]}" stands {len(found)} times in one mapping', "remove all but one by hand"
        )
    if not found:
        raise EditRefused(
            f'"{show_path(path)}" comes out of a merged anchor', "edit it where the anchor stands, by hand"
        )
    key, value = found[0]
    return key, value


def _last(node: Any) -> int:
    """Where the text of a node really ends: PyYAML's mark of a block stands behind the comments that follow it."""
    if node.id == "scalar" or node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    return _last(last[1] if isinstance(last, tuple) else last)


def _add(text: str, path: Path, depth: int, value: Any) -> str:
    newline = newline_of(text)
    if not load(text):
        gap = "" if not text or text.endswith("\n") else newline
        return text + gap + newline.join(_block(path, value, "")) + newline
    parent = _reach(text, path[:depth])
    if parent.id != "mapping":
        raise EditRefused(f'"{show_path(path[:depth])}" is a {parent.id}: keys can be added to mappings only')
    if parent.flow_style:
        for part in reversed(path[depth + 1 :]):
            value = {part: value}
        return add_child(text, _flow_span(parent), f"{_flow(path[depth], None)}: {_flow(value, None)}", None)
    first = parent.value[0][0].start_mark.index
    indent = " " * (first - line_start(text, first))
    end = line_end(text, max(_last(parent) - 1, first))
    gap = "" if text[:end].endswith("\n") else newline
    lines = newline.join(_block(path[depth:], value, indent))
    return text[:end] + gap + lines + (newline if not gap else "") + text[end:]


def _block(path: Path, value: Any, indent: str) -> list[str]:
    """The lines of a new key, one level for each part of the path."""
    *parents, key = path
    lines = [f"{indent}{_UNIT * level}{_flow(part, None)}:" for level, part in enumerate(parents)]
    return [*lines, f"{indent}{_UNIT * len(parents)}{_flow(key, None)}: {_flow(value, None)}"]


def _flow_span(node: Any) -> Span:
    """A flow collection as the span that the comma arithmetic knows."""
    opens = {"mapping": "{", "sequence": "["}.get(node.id, "")
    span = Span(node.start_mark.index, node.end_mark.index, opens)
    for part in node.value if opens else ():
        key, value = part if isinstance(part, tuple) else (None, part)
        start = (key or value).start_mark.index
        span.children.append(Child(key.value if key else None, start, _flow_span(value)))
    return span


def _flow(value: Any, style: str | None) -> str:
    """A value on one line, read the same by YAML 1.1 and 1.2; text in the quotes that stood there before."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flow(str(key), None)}: {_flow(item, None)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_flow(item, None) for item in value) + "]"
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, int):
        return str(value)
    return _text(str(value), style)


def _float(value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        return {"nan": ".nan", "inf": ".inf", "-inf": "-.inf"}[str(value)]
    written = repr(value)
    if "e" in written and "." not in written:
        written = written.replace("e", ".0e")  # YAML 1.1 takes 1e-06 for text
    return written


def _text(value: str, style: str | None) -> str:
    if style == "'" and "\n" not in value and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    if style is None and _PLAIN.fullmatch(value) and value.lower() not in _OTHER_MEANING and not _numeric(value):
        return value
    return "".join(map(_escape, json.dumps(value, ensure_ascii=False)))


def _escape(character: str) -> str:
    if character.isprintable():
        return character
    return f"\\U{ord(character):08x}"


def _numeric(value: str) -> bool:
    """Whether a reader might take this text for a number (`.5`, `.inf`, `_1`)."""
    return bool(re.fullmatch(r"[._+-]?(?:[\d_]|inf|nan).*", value, re.IGNORECASE))
