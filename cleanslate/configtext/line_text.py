"""INI and .env files: one `key = value` a line, comments and order kept; every value is text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from cleanslate.configtext.spans import line_end, newline_of
from cleanslate.configtext.values import EditRefused, Path, show_path
from cleanslate.dataclass import dataclass

_SECTION = re.compile(r"[ \t]*\[(?P<name>[^\]\n]+)\][ \t]*(?:[#;][^\n]*)?\r?\n?")
_INI = re.compile(r"(?P<key>[^\s#;\[=:][^=:\n]*?)[ \t]*(?P<sign>[=:])[ \t]*(?P<value>[^\r\n]*?)[ \t]*(?=\r?\n|\Z)")
_ENV = re.compile(r"[ \t]*(?:export[ \t]+)?(?P<key>[A-Za-z_][A-Za-z0-9_.]*)=")
_ENV_VALUE = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|(?:[^\s#]|(?<=\S)#|[ \t]+(?=[^\s#]))*", re.DOTALL)
_BARE = re.compile(r"[A-Za-z0-9_./:@%+,=-]*")


@dataclass
class _Line:
    """One setting: its path, its key's and its value's place, and where its lines end."""

    path: Path
    start: int
    value_start: int
    value_end: int
    end: int
    continued: bool = False


def plain(value: Any) -> str:
    """A value as the text it becomes here: true, 5, and nothing for null."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        raise EditRefused("a value in this kind of file is one text", "set each key by itself")
    return str(value)


class Ini:
    """Sections and keys; keys before the first section have a path of one part."""

    def load(self, text: str) -> Any:
        """{section: {key: text}, key: text}."""
        data: dict[str, Any] = {}
        for section in self._sections(text):
            data.setdefault(section, {})
        for line in self._lines(text):
            at = data.setdefault(line.path[0], {}) if len(line.path) > 1 else data
            if line.path[-1] in at:
                raise EditRefused(f'"{show_path(line.path)}" stands twice', "remove all but one by hand")
            at[line.path[-1]] = text[line.value_start : line.value_end]
        return data

    def set_value(self, text: str, path: Path, value: Any) -> str:
        """The text with the value exchanged, or with a new line at the end of its section."""
        written = plain(value)
        if "\n" in written:
            raise EditRefused("a value of several lines cannot be set here", "use template or ini by hand")
        for line in self._lines(text):
            if line.path == path:
                _no_continuation(line)
                blank = (
                    " " if line.value_start == line.value_end and text[line.value_start - 1] in "=:" and written else ""
                )
                return text[: line.value_start] + blank * self._spaced(text) + written + text[line.value_end :]
        return self._add(text, path, written)

    def remove(self, text: str, path: Path) -> str:
        """The text without the key's line."""
        for line in self._lines(text):
            if line.path == path:
                return text[: line.start] + text[line.end :]
        raise EditRefused(f'"{show_path(path)}" is a whole section', "remove its keys one by one")

    def _add(self, text: str, path: Path, written: str) -> str:
        if len(path) > 2:
            raise EditRefused(f'"{show_path(path)}" is too deep: here a path is a section and a key')
        newline = newline_of(text)
        line = f"{path[-1]}{' = ' if self._spaced(text) else '='}{written}"
        sections = self._sections(text)
        if len(path) > 1 and path[0] not in sections:
            gap = "" if not text else newline if text.endswith("\n") else newline * 2
            return f"{text}{gap}[{path[0]}]{newline}{line}{newline}"
        own = [found.end for found in self._lines(text) if found.path[:-1] == path[:-1]]
        end = max([*own, sections[path[0]] if len(path) > 1 else 0])
        gap = newline if end and not text[:end].endswith("\n") else ""
        return text[:end] + gap + line + ("" if gap else newline) + text[end:]

    def _sections(self, text: str) -> dict[str, int]:
        """Each section's name and where its header line ends."""
        return {name: end for name, end, _ in self._headers(text)}

    def _headers(self, text: str) -> Iterator[tuple[str, int, int]]:
        at = 0
        while at < len(text):
            if found := _SECTION.match(text, at):
                yield found["name"].strip(), found.end(), at
            at = line_end(text, at)

    def _spaced(self, text: str) -> bool:
        """Whether this file writes blanks around its sign; true where it has no key yet."""
        first = next(self._lines(text), None)
        return first is None or text[first.value_start - 1 : first.value_start] != text[first.value_start - 1].strip()

    def _lines(self, text: str) -> Iterator[_Line]:
        at = 0
        section: Path = ()
        last: _Line | None = None
        while at < len(text):
            end = line_end(text, at)
            header = _SECTION.match(text, at)
            found = _INI.match(text, at)
            if last is not None and text[at] in " \t" and text[at:end].strip():
                last.end, last.continued = end, True
            else:
                if last is not None:
                    yield last
                last = None
                if header:
                    section = (header["name"].strip(),)
                elif found:
                    last = _Line((*section, found["key"]), at, found.start("value"), found.end("value"), end)
            at = end
        if last is not None:
            yield last


class Env:
    """`KEY=value` and `export KEY=value`, with the quoting of a shell."""

    def load(self, text: str) -> Any:
        """{key: text}; the last of two equal keys counts, as in a shell."""
        return {line.path[0]: _unquote(text[line.value_start : line.value_end]) for line in self._lines(text)}

    def set_value(self, text: str, path: Path, value: Any) -> str:
        """The text with the value exchanged in the quotes it had, or with a new line at the end."""
        if len(path) != 1:
            raise EditRefused(f'"{show_path(path)}" is too deep: here a path is one name')
        written = plain(value)
        found = [line for line in self._lines(text) if line.path == path]
        if found:
            line = found[-1]
            quoted = _quote(written, text[line.value_start : line.value_end][:1])
            return text[: line.value_start] + quoted + text[line.value_end :]
        newline = newline_of(text)
        gap = "" if not text or text.endswith("\n") else newline
        export = "export " if re.search(r"^\s*export ", text, re.MULTILINE) else ""
        return f"{text}{gap}{export}{path[0]}={_quote(written, '')}{newline}"

    def remove(self, text: str, path: Path) -> str:
        """The text without any line that sets the name."""
        for line in reversed([line for line in self._lines(text) if line.path == path]):
            text = text[: line.start] + text[line.end :]
        return text

    def _lines(self, text: str) -> Iterator[_Line]:
        at = 0
        while at < len(text):
            found = _ENV.match(text, at)
            end = at
            if found:
                value = _ENV_VALUE.match(text, found.end())
                end = value.end() if value else found.end()
                yield _Line((found["key"],), at, found.end(), end, line_end(text, end))
            at = line_end(text, end)


def _no_continuation(line: _Line) -> None:
    if line.continued:
        raise EditRefused(f'"{show_path(line.path)}" goes on over several lines', "edit it by hand")


def _unquote(value: str) -> str:
    if value[:1] == "'" and value[-1:] == "'" and len(value) > 1:
        return value[1:-1]
    if value[:1] == '"' and value[-1:] == '"' and len(value) > 1:
        return re.sub(r"\\(.)", lambda found: {"n": "\n", "t": "\t"}.get(found[1], found[1]), value[1:-1])
    return value


def _quote(value: str, old: str) -> str:
    """The value in the quotes that stood there; in double quotes where bare text would not do."""
    if old == "'" and "'" not in value:
        return f"'{value}'"
    if old != '"' and _BARE.fullmatch(value):
        return value
    if "'" not in value and re.search(r"[\\$`]", value):
        return f"'{value}'"
    escaped = re.sub(r'([\\"$`])', r"\\\1", value).replace("\n", "\\n")
    return f'"{escaped}"'
