"""What can be said about templates without a host: their mistakes, and the variables they need."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cleanslate.errors import Origin, Problems, RenderError, suggest
from cleanslate.model import SourceText
from cleanslate.render import explain
from cleanslate.render.conditions import BRACES, is_all_template
from cleanslate.render.marks import is_template_text
from cleanslate.render.registry import short_name

if TYPE_CHECKING:
    from jinja2 import nodes

_TAKES_FILTER = ("map",)
_TAKES_TEST = {"select": 0, "reject": 0, "selectattr": 1, "rejectattr": 1}
_LOOKUPS = ("lookup", "query", "q")


def check_template(value: Any, problems: Problems, *, condition: bool = False) -> None:
    """Report what is wrong with the templates in a value (deep): syntax, and filters, tests and lookups that do not
    exist. With `condition`, texts are bare expressions. Imports Jinja only where there is something to look at.
    """
    for text in _texts(value, condition):
        bare = condition and not is_all_template(text)
        if condition and not bare:
            problems.add(BRACES, text.origin, severity="note", code="condition-braces")
        _check(text, problems, bare=bare)


def free_names(value: Any, *, condition: bool = False, certain: bool = False) -> set[str]:
    """The variables that the templates in a value (deep) use and do not set themselves.

    With `certain`, only those without which rendering must fail: none that stand under `default`, `is defined`,
    or in a branch that may not be taken. Texts that are no valid templates have no names.
    """
    names: set[str] = set()
    for text in _texts(value, condition):
        names |= _names_in(text, condition and not is_all_template(text), certain)
    return names


@functools.lru_cache(maxsize=4096)  # the runner asks again for each host
def _names_in(text: str, bare: bool, certain: bool) -> frozenset[str]:
    tree = _parsed(text, bare=bare)
    if tree is None:
        return frozenset()
    return frozenset(_certain(tree) if certain else _undeclared(tree))


def unknown_name(kind: str, name: str) -> tuple[str, str | None]:
    """What is wrong, and what to do, about a filter, test or lookup that there is not."""
    names, refused = _known(kind)
    short = short_name(name)
    if short in refused:
        return f'the {kind} "{name}" is not supported', refused[short]
    if "." in short:
        return f'there is no {kind} "{name}"', f"{kind}s of collections are not supported"
    return f'there is no {kind} "{name}"', suggest(short, names)


# --------------------------------------------------------------------------- texts and trees


def _texts(value: Any, condition: bool) -> Iterator[SourceText]:
    """The templates in a value; the conditions, where it is one or a list of them."""
    if isinstance(value, SourceText):
        if is_template_text(value) or (condition and value.strip()):
            yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item, condition)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item, condition)


def referenced_templates(text: SourceText) -> list[tuple[str, Origin | None]]:
    """The templates that a template includes, imports or extends by a constant name, with the place of the name.

    Those that may be missing (`ignore missing`, a list of choices) are left out.
    """
    from jinja2 import nodes

    found: list[tuple[str, Origin | None]] = []
    tree = _parsed(text, bare=False) if is_template_text(text) else None
    kinds: Any = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)
    for node in list[Any](tree.find_all(kinds)) if tree else []:
        name = node.template.value if isinstance(node.template, nodes.Const) else None
        if isinstance(name, str) and not getattr(node, "ignore_missing", False):
            at = text.find(name, explain.position_of_line(text, node.lineno))
            found.append((name, explain.place_of(text, max(at, 0))))
    return found


@functools.lru_cache(maxsize=256)  # a text is usually checked, and then asked for its names
def _tree(text: str, *, bare: bool) -> nodes.Node:
    from cleanslate.render.environment import environment
    from cleanslate.render.files import environment_of, has_header

    if bare:
        return environment().parse_bare(text)
    if has_header(text):
        made, body = environment_of(SourceText(text))
        return made.parse("\n" + body)  # the header's line counts
    return environment().parse(text)


def _parsed(text: str, *, bare: bool) -> nodes.Node | None:
    import jinja2

    try:
        return _tree(text, bare=bare)
    except (jinja2.TemplateSyntaxError, RenderError):
        return None


# --------------------------------------------------------------------------- mistakes


def _check(text: SourceText, problems: Problems, *, bare: bool) -> None:
    import jinja2

    from cleanslate.render.failures import syntax_error

    try:
        tree = _tree(text, bare=bare)
    except RenderError as error:
        problems.add(error.what, error.origin or text.origin, fix=error.fix, code="template-header")
        return
    except jinja2.TemplateSyntaxError as error:
        what, fix = syntax_error(error)
        start = explain.position_of_line(text, error.lineno)
        at = start if bare else explain.first_expression(text, error.lineno)
        shown = explain.expression_at(text, at, bare=bare)
        problems.add(f"{what}, in {shown}", explain.place_of(text, at), fix=fix, code="template-syntax")
        return
    for kind, name, line in _used(tree):
        names, refused = _known(kind)
        short = short_name(name)
        if short in names and short not in refused:
            continue
        what, fix = unknown_name(kind, name)
        problems.add(what, explain.place_of(text, _place_in(text, name, line)), fix=fix, code=f"unknown-{kind}")


def _place_in(text: str, name: str, line: int) -> int:
    start = explain.position_of_line(text, line)
    match = re.compile(rf"(?<![\w.]){re.escape(name)}(?![\w.])").search(text, start)
    return match.start() if match else start


def _used(tree: nodes.Node) -> Iterator[tuple[str, str, int]]:
    """Each filter, test and lookup that a template names: (kind, name, line)."""
    from jinja2 import nodes

    for node in tree.find_all((nodes.Filter, nodes.Test, nodes.Call)):
        if isinstance(node, nodes.Filter):
            yield from _used_by_filter(node)
        elif isinstance(node, nodes.Test):
            yield "test", node.name, node.lineno
        elif isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) and node.node.name in _LOOKUPS:
            name = _constant(node.args, 0)
            if name is not None:
                yield "lookup", name, node.lineno


def _used_by_filter(node: nodes.Filter) -> Iterator[tuple[str, str, int]]:
    if node.name.startswith("_"):  # one of our own, put in while parsing
        return
    yield "filter", node.name, node.lineno
    name = short_name(node.name)
    inner = _constant(node.args, _TAKES_TEST.get(name, 0))
    if inner is not None and name in _TAKES_FILTER:
        yield "filter", inner, node.lineno
    elif inner is not None and name in _TAKES_TEST:
        yield "test", inner, node.lineno


def _constant(arguments: list[Any], index: int) -> str | None:
    from jinja2 import nodes

    if index < len(arguments) and isinstance(arguments[index], nodes.Const):
        value = arguments[index].value
        return value if isinstance(value, str) else None
    return None


def _known(kind: str) -> tuple[set[str], dict[str, str]]:
    from cleanslate.render import lookups
    from cleanslate.render.environment import environment

    if kind == "lookup":
        return set(lookups.NAMES), dict(lookups.REFUSED)
    registry: Any = environment().filters if kind == "filter" else environment().tests
    return set(registry.names()), dict(registry.refused)


# --------------------------------------------------------------------------- names


def _undeclared(tree: nodes.Node) -> set[str]:
    import jinja2
    from jinja2 import meta, nodes

    try:
        names = meta.find_undeclared_variables(tree)  # type: ignore[arg-type]  # a Template node
    except jinja2.TemplateSyntaxError:  # an unknown filter, which is somebody else's to report
        names = {node.name for node in tree.find_all(nodes.Name) if node.ctx == "load"}
    return names - set(tree.environment.globals)  # type: ignore[union-attr]  # parsed trees have one


def _certain(tree: nodes.Node) -> set[str]:
    from jinja2 import nodes

    found: set[str] = set()
    guarded: set[str] = set()

    def visit(node: nodes.Node) -> None:
        if isinstance(node, nodes.Name) and node.ctx == "load":
            found.add(node.name)
        elif isinstance(node, nodes.CondExpr | nodes.If):
            visit(node.test)
        elif isinstance(node, nodes.And | nodes.Or):
            visit(node.left)
        elif isinstance(node, nodes.For):
            visit(node.iter)
        elif not isinstance(node, nodes.Macro | nodes.CallBlock | nodes.Block):
            for child in node.iter_child_nodes():
                visit(child)

    visit(tree)
    for node in tree.find_all((nodes.Test, nodes.Filter)):
        name = short_name(node.name)
        if name in ("defined", "undefined") or (isinstance(node, nodes.Filter) and name in ("default", "d")):
            guarded |= {inner.name for inner in _chain(node.node)}
    return (found & _undeclared(tree)) - guarded


def _chain(node: Any) -> Iterator[Any]:
    """The variables at the root of `a.b['c'] | upper`."""
    from jinja2 import nodes

    if isinstance(node, nodes.Name):
        yield node
    elif node is not None:
        yield from node.find_all(nodes.Name)
