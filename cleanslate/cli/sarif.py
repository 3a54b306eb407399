"""Mistakes as SARIF 2.1.0, which code hosts and editors read: one run, one rule for each kind of mistake."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import cleanslate
from cleanslate.errors import Problem

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_UNNAMED = "mistake"


def sarif(problems: Sequence[Problem], root: Path) -> dict[str, Any]:
    """The log file's content; files below `root` are told relative to it."""
    codes = sorted({problem.code or _UNNAMED for problem in problems})
    driver = {
        "name": "cleanslate",
        "version": cleanslate.__version__,
        "rules": [{"id": code, "shortDescription": {"text": code.replace("-", " ")}} for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"ROOT": {"uri": root.absolute().as_uri() + "/"}},
        "results": [_result(problem, codes, root) for problem in problems],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(problem: Problem, codes: Sequence[str], root: Path) -> dict[str, Any]:
    code = problem.code or _UNNAMED
    text = f"{problem.what}; {problem.fix}" if problem.fix else problem.what
    made: dict[str, Any] = {
        "ruleId": code,
        "ruleIndex": codes.index(code),
        "level": problem.severity,
        "message": {"text": text},
    }
    if problem.origin is not None:
        region = {"startLine": max(1, problem.origin.line), "startColumn": max(1, problem.origin.column)}
        made["locations"] = [
            {"physicalLocation": {"artifactLocation": _place(problem.origin.file, root), "region": region}}
        ]
    return made


def _place(file: str, root: Path) -> dict[str, str]:
    path = Path(file).absolute()
    try:
        return {"uri": quote(path.relative_to(root.absolute()).as_posix()), "uriBaseId": "ROOT"}
    except ValueError:
        return {"uri": path.as_uri()}
