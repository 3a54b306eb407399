"""Lookups in tables: INI and properties files, and files of comma-separated values."""

from __future__ import annotations

import configparser
import csv
import io
import re
from pathlib import Path
from typing import Any

from cleanslate.errors import RenderError
from cleanslate.render.lookups import Lookups
from cleanslate.render.lookups.words import key_values

_FLAGS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def _merged(options: dict[str, Any], term: Any, name: str) -> tuple[str, dict[str, Any]]:
    """A term's key, and the options with those that stand in the term."""
    key, words = key_values(str(term))
    if unknown := set(words) - set(options):
        raise RenderError(f'{name} has no option "{sorted(unknown)[0]}"', fix=f"it has {', '.join(options)}")
    return key, {**options, **words}


def ini(
    lookups: Lookups,
    terms: list[Any],
    type: str = "ini",
    file: str = "ansible.ini",
    section: str = "global",
    re: Any = False,
    encoding: str = "utf-8",
    default: Any = "",
    case_sensitive: Any = False,
    interpolation: Any = True,
    allow_no_value: Any = False,
    allow_none: Any = False,
) -> list[Any]:
    """Values of an INI or properties file, by key; with `re`, all whose key matches."""
    options = {
        "type": type,
        "file": file,
        "section": section,
        "re": re,
        "encoding": encoding,
        "default": default,
        "case_sensitive": case_sensitive,
        "interpolation": interpolation,
        "allow_no_value": allow_no_value,
        "allow_none": allow_none,
    }
    found: list[Any] = []
    for term in terms:
        key, chosen = _merged(options, term, "ini")
        found += _ini_values(lookups, key or str(term), chosen)
    return found


def _flag(value: Any) -> bool:
    return _FLAGS.get(value.lower(), False) if isinstance(value, str) else bool(value)


def _ini_values(lookups: Lookups, key: str, options: dict[str, Any]) -> list[Any]:
    parser = configparser.ConfigParser(
        interpolation=configparser.BasicInterpolation() if _flag(options["interpolation"]) else None,
        allow_no_value=_flag(options["allow_no_value"]) or _flag(options["allow_none"]),
    )
    if _flag(options["case_sensitive"]):
        parser.optionxform = str  # type: ignore[assignment,method-assign]  # how configparser wants to be told
    text = _text(lookups, options)
    section = options["section"]
    if options["type"] == "properties":
        section, text = "java_properties", f"[java_properties]\n{text}"
    try:
        parser.read_string(text)
        if _flag(options["re"]):
            return [value for name, value in parser.items(section) if re.match(key, name)]
        return [parser.get(section, key)]
    except configparser.NoOptionError:
        return [options["default"]]
    except configparser.Error as error:
        raise RenderError(f"ini: {options['file']}: {' '.join(str(error).split())}") from None


def _text(lookups: Lookups, options: dict[str, Any]) -> str:
    path: Path = lookups.find(options["file"], "files")
    return path.read_bytes().decode(options["encoding"]).removeprefix("\ufeff")


def csvfile(
    lookups: Lookups,
    terms: list[Any],
    col: Any = "1",
    keycol: Any = 0,
    default: Any = None,
    delimiter: str = "TAB",
    file: str = "ansible.csv",
    encoding: str = "utf-8",
) -> list[Any]:
    """One column of the row whose first column (or `keycol`) is the key."""
    options = {
        "col": col,
        "keycol": keycol,
        "default": default,
        "delimiter": delimiter,
        "file": file,
        "encoding": encoding,
    }
    found: list[Any] = []
    for term in terms:
        key, chosen = _merged(options, term, "csvfile")
        if not key:
            raise RenderError("csvfile wants a key to look for")
        value = _cell(lookups, key, chosen)
        if value is not None:
            found.append(value)
    return found


def _cell(lookups: Lookups, key: str, options: dict[str, Any]) -> Any:
    delimiter = "\t" if options["delimiter"] in ("TAB", "\\t") else str(options["delimiter"])
    rows = csv.reader(io.StringIO(_text(lookups, options), newline=""), delimiter=delimiter)
    try:
        for row in rows:
            if row and row[int(options["keycol"])] == key:
                return row[int(options["col"])]
    except (IndexError, ValueError) as error:
        raise RenderError(f"csvfile: {options['file']}: {error}") from None
    return options["default"]


FUNCTIONS = {"csvfile": csvfile, "ini": ini}
