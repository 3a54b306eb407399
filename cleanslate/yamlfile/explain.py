"""Explains libyaml's syntax errors the way people make the mistake, with what to write instead."""

from __future__ import annotations

import re
from typing import Any

import yaml

from cleanslate.errors import Origin, Problem

Said = tuple[str, "str | None", int, int]  # what, fix, line and column (from 0)

_UNQUOTED = re.compile(r"^\s*(?:- +)*(?:(?P<key>[^\s'\"{\[#][^'\"{]*?): +|(?<=- ))(?P<value>\{[{%].*?)\s*$")
_KEY_AT_START = re.compile(r"^\s*(?:- +)*[^\s:'\"{\[#-][^:'\"]*$")
_NO_BLANK = re.compile(r"^\s*(?:- +)?(?P<key>[A-Za-z_][\w.]*):(?P<value>[^\s:/\\].*)$")


def explain(error: yaml.YAMLError, text: str, file: str, shift: int) -> Problem:
    """Turn an error of the parser into a Problem; `shift` is the number of the text's first line."""
    what, fix, line, column = _Explainer(text).explain(error)
    return Problem(what, Origin(file, line + shift, column + 1), fix, code="yaml-syntax")


def explain_unquoted(lines: list[str], line: int, column: int) -> tuple[str, str] | None:
    """What and fix, if a template starts at this place without quotes; else None."""
    rest = lines[line][column:].rstrip() if line < len(lines) else ""
    if not rest.startswith(("{{", "{%")):
        return None
    rest = re.sub(r"\s+#.*$", "", rest)
    before = re.match(r"^\s*(?:- +)*(\S[^:]*: +)?$", lines[line][:column])
    key = (before[1] or "").strip() + " " if before and before[1] else ""
    return f'a value that starts with "{rest[:2]}" must stand in quotes', f"write {key}{quoted(rest)}"


def quoted(text: str) -> str:
    """The text in whichever YAML quotes need the least escaping; too long a one is cut, to be read and not copied."""
    text = text if len(text) <= 80 else text[:77] + "..."
    if '"' not in text and "\\" not in text:
        return f'"{text}"'
    return "'" + text.replace("'", "''") + "'"


class _Explainer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")

    def explain(self, error: yaml.YAMLError) -> Said:
        if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
            return self.unreadable(error)
        mark, context = error.problem_mark, error.context_mark
        line, column = mark.line, mark.column
        problem = error.problem or ""
        for found in (
            self.tab(problem, line, column),
            self.unquoted_template(line),
            self.start_of_value(problem, error.context or "", line, column, context),
            self.quotes(problem, line, column, context),
            self.second_colon(problem, line, column),
            self.missing_colon(problem, context),
            self.brackets(problem, error.context or "", context, line, column),
            self.block_text(error.context or "", line, column),
            self.indentation(problem, line, column, context),
        ):
            if found:
                return found
        context_said = f" ({error.context})" if error.context else ""
        return f"this is not YAML: {problem}{context_said}", None, line, column

    def unreadable(self, error: Any) -> Said:
        """A character that may not stand in YAML at all; libyaml gives its offset in bytes."""
        before = self.text.encode("utf-8", "surrogatepass")[: getattr(error, "position", 0) or 0]
        good = before.decode("utf-8", "ignore")
        line, column = good.count("\n"), len(good) - good.rfind("\n") - 1
        code = getattr(error, "character", 0)
        shown = f"U+{code:04X}" if isinstance(code, int) else repr(code)
        fix = 'remove it, or write it as an escape in double quotes ("\\x1b")'
        return f"a control character ({shown}) may not stand in YAML", fix, line, column

    def at(self, line: int) -> str:
        return self.lines[line] if 0 <= line < len(self.lines) else ""

    def tab(self, problem: str, line: int, column: int) -> Said | None:
        text = self.at(line)
        indent = text[: len(text) - len(text.lstrip())]
        if "tab" in problem or text[column : column + 1] == "\t" or ("\t" in indent and column <= len(indent)):
            place = text.find("\t") if "\t" in text else column
            return "a tab stands where YAML wants spaces", "replace the tab with spaces", line, place
        return None

    def unquoted_template(self, line: int) -> Said | None:
        found = _UNQUOTED.match(self.at(line))
        said = explain_unquoted(self.lines, line, found.start("value")) if found else None
        return (*said, line, found.start("value")) if said and found else None

    def start_of_value(self, problem: str, context: str, line: int, column: int, mark: Any) -> Said | None:
        if "cannot start any token" in problem:
            char, rest = self.at(line)[column : column + 1], self.at(line)[column:].strip()
            return f'a value cannot start with "{char}"', f"put it in quotes: {quoted(rest)}", line, column
        for word, char, name in (("alias", "*", "an alias"), ("anchor", "&", "an anchor"), ("tag", "!", "a tag")):
            if f"scanning {word}" in context.replace(" an ", " ").replace(" a ", " ") and mark:
                rest = self.at(mark.line)[mark.column :].strip()
                return (
                    f'a value that starts with "{char}" is {name} to YAML',
                    f"put it in quotes: {quoted(rest)}",
                    mark.line,
                    mark.column,
                )
        return None

    def quotes(self, problem: str, line: int, column: int, context: Any) -> Said | None:
        if "unknown escape" in problem:
            escape = self.at(line)[column : column + 2]
            return (
                f'"{escape}" is no escape in double quotes',
                "use single quotes, where a backslash is just itself",
                line,
                column,
            )
        if "unexpected end of stream" in problem and context:
            return "the quote that is opened here is never closed", "close it", context.line, context.column
        before = self.at(line)[:column]
        value = re.match(r"^(\s*(?:- +)*(?:[^'\":#]+: +)?)((['\"]).*\3)(\s*)$", before)
        if "expected key" in problem and value:
            whole = self.at(line)[len(value[1]) :].strip()
            return (
                "text follows after the closing quote",
                f"put the whole value in quotes: {value[1].strip().removeprefix('- ')} {_requoted(whole)}".replace(
                    "  ", " "
                ),
                line,
                column,
            )
        return None

    def second_colon(self, problem: str, line: int, column: int) -> Said | None:
        if "mapping values are not allowed" not in problem:
            return None
        text = self.at(line)
        dash = next((n for n in (line, line - 1) if re.match(r"^\s*-[^\s-]", self.at(n))), None)
        if dash is not None:
            start = self.at(dash).index("-")
            fix = f'write "- {self.at(dash).strip()[1:]}"'
            return "no blank after the dash that starts an item", fix, dash, start
        if _KEY_AT_START.match(text[:column]):
            return self.too_deep(line, column)
        first = re.match(r"^\s*(?:- +)*([^:]+): +(.*)$", text)
        if not first:
            return None
        return (
            f'the value of "{first[1]}" holds a colon and a blank, which make it a map',
            f"put it in quotes: {first[1]}: {quoted(first[2].rstrip())}",
            line,
            column,
        )

    def too_deep(self, line: int, column: int) -> Said:
        """A key where none can stand: the line above is at fault, or this line's indentation."""
        above = next((n for n in range(line - 1, -1, -1) if self.at(n).strip()), None)
        text = self.at(line)
        key = text[:column].strip().removeprefix("- ").strip()
        start = len(text) - len(text.lstrip())
        if above is None:
            return f'"{key}:" cannot be a key here', None, line, start
        upper = self.at(above)
        if text.lstrip().startswith("- ") and upper.lstrip().startswith("- "):
            what = f'the dash before "{key}" stands deeper than the one above it'
            return (
                what,
                f"start it in column {len(upper) - len(upper.lstrip()) + 1}, as in line {above + 1}",
                line,
                start,
            )
        glued = _NO_BLANK.match(upper)
        if glued:
            fix = f"write {glued['key']}: {glued['value']}"
            return f'no blank after the colon of "{glued["key"]}"', fix, above, glued.end("key")
        lead = len(upper) - len(re.sub(r"^\s*(?:- +)*", "", upper))
        if ":" not in upper:
            what = f'"{upper.strip()}" in line {{}} is no key, and "{key}:" follows'
            return _numbered(what, above), "is a colon missing there?", line, start
        what = f'"{key}" is indented deeper than the line above it, which has a value already'
        return what, f"start it in column {lead + 1}, as in the line above", line, start

    def missing_colon(self, problem: str, context: Any) -> Said | None:
        if "could not find expected ':'" not in problem or context is None:
            return None
        text = self.at(context.line).strip().removeprefix("- ")
        return (
            f'"{text}" stands where a key is wanted',
            f"is a colon missing? write {text}:",
            context.line,
            context.column,
        )

    def brackets(self, problem: str, context: str, mark: Any, line: int, column: int) -> Said | None:
        if "flow" not in context:
            return None
        if "expected ','" in problem and mark:
            opened = self.at(mark.line)[mark.column : mark.column + 1] or "["
            close = "]" if opened == "[" else "}"
            what = f'the "{opened}" that is opened here is not closed, or a comma is missing'
            return what, f'close it with "{close}"', mark.line, mark.column
        return "a bracket is not closed before the end", "close it", line, column

    def block_text(self, context: str, line: int, column: int) -> Said | None:
        if "block scalar" not in context:
            return None
        return (
            'text stands on the same line as "|" or ">"',
            "start it on the next line, indented",
            line,
            column,
        )

    def indentation(self, problem: str, line: int, column: int, context: Any) -> Said | None:
        text = self.at(line)
        if text[:column].strip() or context is None or "did not find expected" not in problem:
            return None
        word = re.sub(r"^- +", "", text.strip()).split(":")[0]
        if column == context.column:
            if "'-'" in problem:
                fix = "indent it if it belongs to the item above, or start it with a dash"
                return f'the key "{word}" stands at the level of a list\'s dashes', fix, line, column
            return (
                "a list's dash stands at the level of keys",
                "indent the list below the key it belongs to",
                line,
                column,
            )
        levels = self.levels(line, column)
        named = " or ".join(f"column {at + 1} (as line {{}})".format(number + 1) for at, number in levels)
        what = f'the indentation of "{word}" fits nothing above it (column {column + 1})'
        return what, f"start it in {named}" if named else None, line, column

    def levels(self, line: int, column: int) -> list[tuple[int, int]]:
        """The columns at which a line could stand here, with a line that stands there; nearest to `column` first."""
        found: dict[int, int] = {}
        limit = 10_000
        for number in range(line - 1, -1, -1):
            text = self.at(number)
            if not text.strip() or text.lstrip().startswith("#"):
                continue
            start = len(text) - len(text.lstrip())
            if start < limit:
                inner = len(text) - len(re.sub(r"^\s*(?:- +)*", "", text))
                for at in {inner, start}:
                    if at < limit:
                        found.setdefault(at, number)
                limit = start
            if start == 0:
                break
        return sorted(found.items(), key=lambda pair: (abs(pair[0] - column), pair[0]))[:2]


def _numbered(text: str, line: int) -> str:
    return text.format(line + 1)


def _requoted(whole: str) -> str:
    """Quotes for a text that starts with some: `'it's'` was meant as one text, `"a" in b` as a condition."""
    if whole.startswith("'") and whole.endswith("'") and whole.count("'") == 3:
        whole = whole[1:-1]
    return quoted(whole)
