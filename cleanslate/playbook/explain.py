"""What to say to somebody whose step does not read: the mistake they most likely made, and what to write instead."""

from __future__ import annotations

from typing import Any

from cleanslate.model import SourceMap
from cleanslate.playbook.keywords import BLOCK, BLOCK_PARTS, HANDLER, PLAY_WORDS, STEP, STEP_WORDS, all_words
from cleanslate.playbook.types import argument_names, known_names, step_name, unknown_name
from cleanslate.playbook.values import did_you_mean, shown

Said = tuple[str, "str | None"]


def not_an_entry(entry: Any) -> Said:
    """An entry of a list of steps that is no map."""
    if entry is None:
        return "an entry of the list is empty", 'remove the lone "-", or indent what belongs to it'
    if isinstance(entry, str) and step_name(entry.split(" ")[0].rstrip(":")):
        word = entry.split(" ")[0].rstrip(":")
        rest = entry[len(word) :].strip()
        return f"{shown(entry)} is text, not a step", f"a colon is missing: write {word}: {rest}".rstrip()
    fix = 'remove one "-"' if isinstance(entry, list) else "a step is a map: a step type and its arguments"
    return f"{shown(entry)} is not a step", fix


def stray_part(part: str, *, handlers: bool) -> Said:
    """A `rescue` or `always` that watches over nothing."""
    if handlers:
        return f'"{part}" has no effect among handlers', "let an include_tasks handler run a file with the block"
    return f'"{part}" stands here without a "block"', 'give it a "block:" with the steps to watch over'


def unknown_block_key(key: Any, entry: SourceMap) -> Said:
    """A key of a block that is no keyword of blocks."""
    if isinstance(key, str) and step_name(key):
        fix = f'start the step with "- ", or move "{key}" into the block\'s list'
        return f'the step type "{key}" stands beside the block', fix
    return _misplaced(key, "a block", [*BLOCK, *BLOCK_PARTS, "name"])


def unknown_step_key(key: Any, entry: SourceMap, type_name: str | None, type_key: Any, kind: str) -> Said:
    """A key beside the step type that is no keyword; perhaps it is an argument that lost its indentation."""
    if not isinstance(key, str):
        return f'the key "{_spelt(key)}" is {type(key).__name__}, not a word', "quote it if it is meant as text"
    if type_name and key in argument_names(type_name):
        fix = f'indent it further, so that it stands below "{type_key}:"'
        return f'"{key}" stands beside "{type_key}", but is an argument of it', fix
    return _misplaced(key, f"a {kind}", [*(HANDLER if kind == "handler" else STEP), *STEP_WORDS, "loop"])


def _misplaced(key: Any, where: str, words: list[str]) -> Said:
    places = all_words().get(key) if isinstance(key, str) else None
    if places:
        return f'"{key}" is a keyword of {places}, not of {where}', None
    if key in PLAY_WORDS:
        return f'"{key}" is a keyword of plays, not of {where}', None
    return f'{where} has no keyword "{key}"', did_you_mean(str(key), words)


def _spelt(key: Any) -> str:
    return {True: "yes/on/true", False: "no/off/false", None: "null"}.get(key, str(key))


def several_types(keys: list[str], entry: SourceMap) -> Said:
    """Two step types in one entry."""
    first, second = keys[0], keys[1]
    what = f'a step has one step type, and both "{first}" and "{second}" stand here'
    inner, outer = (first, second) if entry[second] is None else (second, first)
    outer_name = step_name(outer)
    if entry[outer] is None and outer_name and inner in argument_names(outer_name):
        return what, f'indent "{inner}" further if it is an argument of "{outer}"'
    return what, f'start "{second}" as a step of its own with "- "'


def no_type(entry: SourceMap) -> Said:
    """An entry with keywords alone."""
    if "hosts" in entry:
        return "a play stands where a step is wanted", "plays stand in the playbook's own list"
    if not entry:
        return "the step is empty", "name a step type and its arguments"
    lists = [key for key in entry if isinstance(entry[key], list) and key in ("tasks", *BLOCK_PARTS)]
    if lists:
        return f'"{lists[0]}" stands in a step', "use block: to group steps"
    return "no step type stands here, only keywords", "say what to do: command:, copy:, stop_server: ..."


def likely_type(unknown: list[Any], entry: SourceMap) -> Any:
    """Which of the unknown keys was meant as the step type: a full name, a near name, or the first with arguments."""
    from cleanslate.modules.find import plausible

    words = [key for key in unknown if isinstance(key, str)]
    for key in words:
        if key.count(".") >= 2 or plausible(key):
            return key
    names = known_names()
    keywords = [*STEP, *BLOCK]
    for key in words:
        if did_you_mean(key, names) and not did_you_mean(key, keywords):
            return key
    return next((key for key in unknown if isinstance(entry[key], dict | None)), unknown[0])


def unknown_type(key: Any, entry: SourceMap) -> Said:
    """A step type that there is not, or a keyword that was misspelt so that none is left."""
    if not isinstance(key, str):
        return f'the key "{_spelt(key)}" is no step type', "quote it if it is meant as text"
    places = all_words().get(key)
    if places or key in PLAY_WORDS:
        return f'"{key}" is a keyword of {places or "plays"}, not of steps', None
    return unknown_name(key, [*STEP, *STEP_WORDS, *BLOCK_PARTS])


def free_text(type_name: str, rest: str, has_pairs: bool) -> Said:
    """Text where a step type wants `argument=value`."""
    arguments = argument_names(type_name)
    if has_pairs:
        return (
            f'{type_name}: "{rest}" belongs to no argument',
            "quote a value that has blanks, or write the arguments as a map",
        )
    first = arguments[0] if arguments else None
    value = rest if len(rest) <= 40 and not any(sign in rest for sign in ":{}[],#'\"\n") else "..."
    fix = f"write {type_name}: {{{first}: {value}}}" if first else "it takes no arguments"
    return f"{type_name} takes no free text, and {shown(rest)} is some", fix
