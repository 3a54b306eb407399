"""What a module's own documentation says of its arguments, read from its text: no code of it is run."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from cleanslate.modules.find import Module, ansible_root
from cleanslate.steps.contract import Option
from cleanslate.yamlfile import load_foreign


@cache
def documentation(module: Module) -> Mapping[str, Any]:
    """The module's DOCUMENTATION with the options of the fragments that it extends; empty where there is none.

    Under `whole` stands whether every fragment was found, so that the options are all there are.
    """
    said = _own(module.path)
    if not said:
        return {}
    options: dict[str, Any] = {}
    named = said.get("extends_documentation_fragment") or []
    fragments = [_fragment(str(name), module.roots) for name in ([named] if isinstance(named, str) else named)]
    for fragment in [*(one or {} for one in fragments), said]:
        options |= fragment.get("options") or {}
    return {**said, "options": options, "whole": all(one is not None for one in fragments)}


def options_of(module: Module) -> dict[str, Option] | None:
    """The arguments that a module takes; None where its documentation does not surely tell."""
    said = documentation(module)
    if not said or not said["whole"] or "free_form" in said["options"]:
        return None
    try:
        return {str(name): _option(about or {}) for name, about in said["options"].items()}
    except (AttributeError, TypeError):  # documentation of a form of its own
        return None


def examples(module: Module) -> str:
    """The examples that the module's documentation gives."""
    return _assigned(module.path.read_text(encoding="utf-8", errors="replace"), "EXAMPLES").strip("\n")


def mentioned(module: Module, word: str) -> bool:
    """Whether a word stands anywhere in the module's text: then it may be an argument that nobody documented."""
    text = module.path.read_text(encoding="utf-8", errors="replace")
    return re.search(rf"\b{re.escape(word)}\b", text) is not None


def _option(about: Mapping[str, Any]) -> Option:
    choices = about.get("choices") or ()
    words = about.get("description") or ""
    return Option(
        aliases=tuple(map(str, about.get("aliases") or ())),
        required=about.get("required") is True,
        choices=tuple(choices),
        kind=str(about.get("type") or "str"),
        default=about.get("default"),
        about=" ".join(map(str, words)) if isinstance(words, list) else str(words),
    )


def _own(file: Path) -> dict[str, Any]:
    beside = next((one for end in (".yml", ".yaml") if (one := file.with_suffix(end)).is_file()), None)
    if beside is not None:
        return _parsed(beside.read_text(encoding="utf-8")).get("DOCUMENTATION") or {}
    text = file.read_bytes()
    if b"DOCUMENTATION" not in text:
        return {}
    return _parsed(_assigned(text.decode("utf-8", "replace"), "DOCUMENTATION"))


def _fragment(name: str, roots: tuple[Path, ...]) -> dict[str, Any] | None:
    """The options of a fragment (`files`, `community.general.proxmox.documentation`); None where it is not found."""
    parts = name.split(".")
    root = ansible_root()
    if len(parts) >= 3 and parts[:2] != ["ansible", "builtin"]:
        homes = [one / parts[0] / parts[1] / "plugins/doc_fragments" for one in roots]
        parts = parts[2:]
    else:
        homes = [root / "plugins/doc_fragments"] if root else []
        parts = parts[2:] if parts[:2] == ["ansible", "builtin"] else parts
    file = next((one for home in homes if (one := home / f"{parts[0]}.py").is_file()), None)
    if file is None:
        return None
    wanted = parts[1].upper() if len(parts) > 1 else "DOCUMENTATION"
    return _parsed(_assigned(file.read_text(encoding="utf-8"), wanted))


def _assigned(text: str, name: str) -> str:
    """The text that a module or class gives a name; parsing a whole module would take longer than all else."""
    found = re.search(rf"^\s*{name}\s*(?::\s*\w+\s*)?=\s*([rRuU]*)(\"\"\"|'''|\"|')", text, re.MULTILINE)
    if found is None:
        return ""
    end = text.find(found[2], found.end())
    try:
        value = ast.literal_eval(text[found.start(1) : end + len(found[2])])
    except (ValueError, SyntaxError):
        return ""
    return value if isinstance(value, str) else ""


def _parsed(text: str) -> dict[str, Any]:
    try:
        found = load_foreign(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
