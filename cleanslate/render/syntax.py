"""How templates are read and compiled where that differs from Jinja: constants, backslashes, files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.compiler import CodeGenerator
from jinja2.nativetypes import NativeCodeGenerator
from jinja2.visitor import NodeTransformer

from cleanslate.render.marks import is_template_text

_NO_ESCAPE = re.compile(r"((?:^|[^\\])(?:\\\\)*)\\(?![\\'\"abfnrtvxuUN0-7\n])")


class ValueCodeGenerator(NativeCodeGenerator):
    """Native code, whose constants keep their type too."""

    def _output_child_to_const(self, node: nodes.Expr, frame: Any, finalize: CodeGenerator._FinalizeInfo) -> Any:
        if isinstance(node, nodes.TemplateData):
            return node.as_const(frame.eval_ctx)
        raise nodes.Impossible


class Embedded(NodeTransformer):
    """Renders templates that stand in text constants, as Ansible still does in conditions and lookups."""

    def visit_Const(self, node: nodes.Const) -> nodes.Node:
        """Hand a constant that is a template to the filter that renders it."""
        if isinstance(node.value, str) and is_template_text(node.value):
            return nodes.Filter(node, "_embedded", [], [], None, None, lineno=node.lineno)
        return node


class EmbeddedInLookups(NodeTransformer):
    """The same in the arguments of lookups alone."""

    def visit_Call(self, node: nodes.Call) -> nodes.Node:
        """Look into the arguments of a lookup."""
        self.generic_visit(node)
        if isinstance(node.node, nodes.Name) and node.node.name in ("lookup", "query", "q"):
            Embedded().generic_visit(node)
        return node


class PathLoader(jinja2.BaseLoader):
    """Reads templates whose names are paths already, again when they have changed."""

    def get_source(self, environment: jinja2.Environment, template: str) -> Any:
        """The text, the path, and whether they still belong together."""
        path = Path(template)
        try:
            text, changed = path.read_text(encoding="utf-8"), path.stat().st_mtime_ns
        except OSError as error:
            raise jinja2.TemplateNotFound(template, f"{template}: {error.strerror}") from None

        def fresh() -> bool:
            try:
                return path.stat().st_mtime_ns == changed
            except OSError:
                return False

        return text, template, fresh


def backslashes(tokens: Iterable[tuple[int, str, str]], literal: bool) -> Iterator[tuple[int, str, str]]:
    """Double the backslashes in constants that stand for themselves: no escape, or (`literal`) all inside `{{ }}`."""
    inside = False
    for line, kind, text in tokens:
        if kind in ("variable_begin", "variable_end"):
            inside = kind == "variable_begin"
        if kind == "string" and "\\" in text:
            text = text.replace("\\", "\\\\") if inside and literal else _NO_ESCAPE.sub(r"\1\\\\", text)
        yield line, kind, text
