"""Builds values from libyaml's events, one pass, each with the place where it stands."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import date
from functools import partial
from typing import Any, NoReturn

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from cleanslate.errors import InputError, Origin, Problems, suggest
from cleanslate.model import SourceList, SourceMap, SourceText
from cleanslate.yamlfile import scalars
from cleanslate.yamlfile.explain import explain, explain_unquoted

VAULT_HEADER = "$ANSIBLE_VAULT;"
MOST_LEVELS = 100
MOST_EXPANDED = 1_000_000
_YAML = "tag:yaml.org,2002:"
_VAULT_TAGS = ("!vault", "!vault-encrypted")
_UNHASHABLE = object()
_MERGE = object()
Event = Any  # libyaml's events have no types of their own
_origin = partial(tuple.__new__, Origin)  # half the price of Origin(...), which counts with one for each value


def build(text: str, file: str, vault: Callable[[str], str] | None, first_line: int) -> Any:
    """Give the one document in `text`; InputError with everything that is wrong with it."""
    return _Builder(text, file, vault, first_line).document()


class _Builder:
    def __init__(self, text: str, file: str, vault: Callable[[str], str] | None, first_line: int) -> None:
        self.text = text
        self.file = file
        self.vault = vault
        self.shift = first_line  # libyaml counts lines from 0
        self.problems = Problems()
        self.anchors: dict[str, tuple[Any, int]] = {}  # name -> value, how many values it holds
        self.size = 0
        self.expanded = 0
        self.unsafe = 0
        self._lines: list[str] | None = None
        # The C parser fails already here when the text holds a control character.
        self.parser = self._reading(lambda: yaml.CSafeLoader(text))
        self.next: Callable[[], Event] = self.parser.get_event

    @property
    def lines(self) -> list[str]:
        if self._lines is None:
            self._lines = self.text.split("\n")
        return self._lines

    def document(self) -> Any:
        return self._reading(self._document)

    def _document(self) -> Any:
        self.next()  # the stream's start
        event = self.next()
        value = None
        if isinstance(event, DocumentStartEvent):
            value = self.value(first := self.next(), self.place(first), 1)
            self.next()  # the document's end
            event = self.next()
        if not isinstance(event, StreamEndEvent):
            self.problems.add(
                "a second YAML document starts here, where one is wanted",
                self.place(event),
                fix='remove the "---", or put the rest into a file of its own',
            )
        self.problems.raise_if_any()
        return value

    def _reading(self, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except yaml.YAMLError as error:
            self.problems.found.append(explain(error, self.text, self.file, self.shift))
            self.problems.raise_if_any()
            raise  # unreachable: the line above raises

    def place(self, event: Event) -> Origin:
        mark = event.start_mark
        return _origin((self.file, mark.line + self.shift, mark.column + 1))

    # ------------------------------------------------------------------ values

    def value(self, event: Event, place: Origin, level: int) -> Any:
        self.size += 1
        kind = type(event)
        if kind is ScalarEvent:
            value = self.scalar(event, place)
            if event.anchor:
                self.anchors[event.anchor] = (value, 1)
            return value
        if kind is AliasEvent:
            return self.alias(event)
        if level > MOST_LEVELS:
            self.stop(f"more than {MOST_LEVELS} levels of maps and lists, one in another", event)
        before, expanded = self.size, self.expanded
        unsafe = self.unsafe
        tag = event.tag
        if tag and tag.startswith("!"):
            self.container_tag(tag, event)
        value = self.mapping(event, place, level) if kind is MappingStartEvent else self.sequence(place, level)
        self.unsafe = unsafe
        if tag and tag.startswith(_YAML):
            value = self.container_type(tag, value, event)
        if event.anchor:
            self.anchors[event.anchor] = (value, self.size - before + self.expanded - expanded)
        return value

    def scalar(self, event: Event, place: Origin) -> Any:
        text: str = event.value
        plain_ok, quoted_ok = event.implicit
        if plain_ok:
            try:
                value = scalars.plain(text)
            except ValueError as error:
                return self.wrong_scalar(text, place, error)
            if value is not scalars.TEXT:
                return value
            return text if self.unsafe else SourceText(text, place)
        if quoted_ok or event.tag in ("!", _YAML + "str"):
            return text if self.unsafe else SourceText(text, self.inside(event, place))
        return self.tagged_scalar(text, event, place)

    def inside(self, event: Event, place: Origin) -> Origin:
        """Where a quoted or block scalar's first character stands."""
        mark, style = event.start_mark, event.style
        if style in ("'", '"'):
            return _origin((self.file, place[1], place[2] + 1))
        if style not in ("|", ">"):
            return place
        for line in self.lines[mark.line + 1 :]:
            if line.strip():
                return Origin(self.file, place.line + 1, len(line) - len(line.lstrip()) + 1)
        return place

    def tagged_scalar(self, text: str, event: Event, place: Origin) -> Any:
        tag: str = event.tag
        if tag in _VAULT_TAGS:
            return self.decrypted(text, place)
        if tag == "!unsafe":
            return text
        try:
            return scalars.tagged(tag, text)
        except KeyError:
            self.unknown_tag(tag, event)
            return text
        except ValueError as error:
            return self.wrong_scalar(text, place, error)

    def decrypted(self, text: str, place: Origin) -> Any:
        if self.vault is None:
            self.problems.add(
                "the value is encrypted, and no vault password was given",
                place,
                fix="give --vault-password-file or --ask-vault-password",
                code="vault",
            )
            return text
        try:
            return SourceText(self.vault("\n".join(text.split()) + "\n"), place)
        except InputError as error:
            self.problems.add(error.what, place, fix=error.fix, code="vault")
            return text

    def wrong_scalar(self, text: str, place: Origin, error: ValueError) -> str:
        self.problems.add(f"{text!r} looks like a number or a date and is none: {error}", place, fix="quote it")
        return text

    def alias(self, event: Event) -> Any:
        name = event.anchor
        if name not in self.anchors:
            self.stop(
                f'"*{name}" refers to an anchor "&{name}" that does not stand above it',
                event,
                fix=suggest(name, self.anchors) or f'quote the value if the star belongs to it: "*{name}"',
            )
        value, size = self.anchors[name]
        self.expanded += size
        if self.expanded > MOST_EXPANDED:
            self.stop(f"aliases make more than {MOST_EXPANDED:,} values of this file", event)
        return value

    # ------------------------------------------------------------------ maps and lists

    def sequence(self, place: Origin, level: int) -> SourceList:
        made = SourceList((), place)
        origins, read = made.item_origins, self.next
        while True:
            event = read()
            if type(event) is SequenceEndEvent:
                return made
            item_place = self.place(event)
            origins.append(item_place)
            made.append(self.value(event, item_place, level + 1))

    def mapping(self, event: Event, place: Origin, level: int) -> SourceMap:
        made = SourceMap((), place)
        keys, values, read = made.key_origins, made.value_origins, self.next
        merges: list[SourceMap] = []
        while True:
            inner = read()
            if type(inner) is MappingEndEvent:
                return _merge(made, merges) if merges else made
            key_place = self.place(inner)
            key = self.key(inner, key_place, level, event)
            inner = read()
            value_place = self.place(inner)
            value = self.value(inner, value_place, level + 1)
            if key is _MERGE:
                merges += self.merged(value, value_place)
            elif key is not _UNHASHABLE:
                if key in made:
                    self.duplicate(key, key_place, keys[key])
                made[key] = value
                keys[key] = key_place
                values[key] = value_place

    def key(self, event: Event, place: Origin, level: int, outer: Event) -> Any:
        if type(event) is ScalarEvent:
            key = self.scalar(event, place)
            if event.anchor:
                self.anchors[event.anchor] = (key, 1)
            if key == "<<" and event.implicit[0]:
                return _MERGE
            return sys.intern(str(key)) if isinstance(key, str) and "{" not in key else key
        key = self.value(event, place, level + 1)
        if key is None or isinstance(key, str | int | float | bool | date):
            return key
        unquoted = explain_unquoted(self.lines, outer.start_mark.line, outer.start_mark.column)
        if unquoted and isinstance(key, SourceMap):
            self.problems.add(unquoted[0], self.place(outer), fix=unquoted[1], code="yaml-syntax")
        else:
            self.problems.add("a list or map cannot be a key", place, code="yaml-syntax")
        return _UNHASHABLE

    def duplicate(self, key: Any, here: Origin, first: Origin) -> None:
        self.problems.add(
            f'the key "{key}" stands twice in one map; the first is in line {first.line}',
            here,
            fix="remove one of them: YAML would silently keep the last",
            code="duplicate-key",
        )

    def merged(self, value: Any, place: Origin) -> list[SourceMap]:
        """The maps that one `<<:` brings, in order of precedence."""
        maps = value if isinstance(value, SourceList) else [value]
        if all(isinstance(one, SourceMap) for one in maps):
            return list(maps)
        self.problems.add('"<<" takes a map, or a list of maps', place, fix="name an anchor that stands for a map")
        return []

    # ------------------------------------------------------------------ tags

    def container_tag(self, tag: str, event: Event) -> None:
        if tag == "!unsafe":
            self.unsafe += 1
        else:
            self.unknown_tag(tag, event)

    def container_type(self, tag: str, value: Any, event: Event) -> Any:
        name = tag.removeprefix(_YAML)
        if name in ("map", "seq"):
            return value
        if name == "set" and isinstance(value, SourceMap):
            return set(value)
        if name in ("omap", "pairs") and isinstance(value, SourceList):
            pairs = [pair for one in value if isinstance(one, dict) for pair in one.items()]
            return SourceMap(pairs, value.origin) if name == "omap" else SourceList(map(list, pairs), value.origin)
        self.unknown_tag("!!" + name, event)
        return value

    def unknown_tag(self, tag: str, event: Event) -> None:
        self.problems.add(
            f'"{tag}" is not a tag that is known here (!vault and !unsafe are)',
            self.place(event),
            fix=f'quote the value if the exclamation mark belongs to it: "{tag}..."',
            code="yaml-syntax",
        )

    def stop(self, what: str, event: Event, fix: str | None = None) -> NoReturn:
        """Refuse the file at once: going on would make no sense, or no end."""
        self.problems.add(what, self.place(event), fix=fix, code="yaml-syntax")
        self.problems.raise_if_any()
        raise AssertionError("an error was added just now")


def _merge(own: SourceMap, merges: list[SourceMap]) -> SourceMap:
    """A map with the merged maps' keys first; its own keys win, then the first merged map's."""
    made = SourceMap((), own.origin)
    for source in [*reversed(merges), own]:
        made.update(source)
        made.key_origins.update(source.key_origins)
        made.value_origins.update(source.value_origins)
    return made
