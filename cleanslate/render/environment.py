"""Jinja, made to give native values, to look names up lazily, and to pass undefined values along as Ansible does."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jinja2
from jinja2 import nodes, pass_context
from jinja2.compiler import CodeGenerator
from jinja2.filters import FILTERS as DEFAULT_FILTERS
from jinja2.nativetypes import NativeCodeGenerator
from jinja2.runtime import Context, Macro
from jinja2.tests import TESTS as DEFAULT_TESTS
from jinja2.utils import _PassArg, missing
from jinja2.visitor import NodeTransformer

from cleanslate.model import SourceText, origin_of
from cleanslate.render.filters import Filters
from cleanslate.render.frames import current
from cleanslate.render.jinja_tests import Tests
from cleanslate.render.lazy import LazyList, LazyMap
from cleanslate.render.marks import OMIT, Undefined, is_template_text
from cleanslate.render.undefined import UndefinedUsed, UndefinedValue
from cleanslate.render.values import listed
from cleanslate.render.variables import MISSING, Variables

_DICT_METHODS = frozenset(name for name in dir(dict) if name[0] != "_")
EMBEDDED = "a text constant should hold no template: write the name bare"
_NOTHING: dict[str, Any] = {}
_NO_ESCAPE = re.compile(r"((?:^|[^\\])(?:\\\\)*)\\(?![\\'\"abfnrtvxuUN0-7\n])")


def concat(values: Iterable[Any]) -> Any:
    """Put a template's parts together: one part keeps its type, more become text, null parts are nothing."""
    parts = [value for value in values if value is not None]
    if len(parts) == 1:
        return parts[0]
    return "".join(map(str, parts)) if parts else None


class Scope(Mapping[str, Any]):
    """The names a template starts with: the locals of whoever included it, above the host's variables."""

    __slots__ = ("local", "variables")

    def __init__(self, variables: Variables | None, local: Mapping[str, Any] = _NOTHING) -> None:
        self.variables = variables
        self.local = local

    def with_locals(self, more: Mapping[str, Any] | None) -> Scope:
        """The same, with more local names above."""
        known = {name: value for name, value in (more or {}).items() if value is not missing}
        return Scope(self.variables, {**self.local, **known}) if known else self

    def find(self, name: str) -> Any:
        """Give a value, an Undefined, or MISSING."""
        if name in self.local:
            return self.local[name]
        return MISSING if self.variables is None else self.variables.resolve(name)

    def __getitem__(self, name: str) -> Any:
        value = self.find(name)
        if value is MISSING:
            raise KeyError(name)
        return value

    def __iter__(self) -> Any:
        return iter({**dict.fromkeys(self.variables or ()), **self.local})

    def __len__(self) -> int:
        return sum(1 for _ in self)


class TemplateContext(Context):
    """Finds names: the template's own, the scope's, then Jinja's and Ansible's global functions."""

    parent: Any

    def resolve_or_missing(self, key: str) -> Any:
        """Give a value; an undefined one for a name that nobody knows."""
        if key in self.vars:
            return self.vars[key]
        value = self.parent.find(key)
        if value is not MISSING:
            return value
        if key in self.environment.globals:
            return self.environment.globals[key]
        return UndefinedValue(name=key, known=self.parent)

    def get_all(self) -> Any:
        """Everything an included template may see."""
        return self.parent.with_locals(self.vars)

    def derived(self, locals: dict[str, Any] | None = None) -> Context:
        """The same context with more locals."""
        scope = self.get_all().with_locals(locals)
        context = TemplateContext(self.environment, scope, self.name, {})
        context.blocks.update((name, list(found)) for name, found in self.blocks.items())
        return context

    def call(__self, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        """Call something: an undefined callee or argument gives itself; what only iterates becomes a list."""
        kwargs.pop("_block_vars", None)
        kwargs.pop("_loop_vars", None)
        if isinstance(__obj, Undefined):
            return __obj
        if isinstance(__obj, Macro):
            return __obj(*args, **kwargs)
        if not getattr(__obj, "takes_undefined", False):
            for value in (*args, *kwargs.values()):
                if isinstance(value, Undefined):
                    return value
        for value in args:
            if isinstance(value, LazyList | LazyMap):
                value.settled()
        passed = _PassArg.from_obj(__obj)
        if passed is _PassArg.context:
            args = (__self, *args)
        elif passed is _PassArg.eval_context:
            args = (__self.eval_ctx, *args)
        elif passed is _PassArg.environment:
            args = (__self.environment, *args)
        return listed(__obj(*args, **kwargs))


class Compiled(jinja2.Template):
    """A compiled template, run over Variables instead of a copied dict."""

    def new_context(
        self,
        vars: Any = None,
        shared: bool = False,
        locals: Mapping[str, Any] | None = None,
    ) -> Context:
        """A context over a Scope; a plain dict becomes one."""
        scope = vars if isinstance(vars, Scope) else Scope(None, vars or {})
        return self._context(scope.with_locals(locals))

    def _context(self, scope: Any) -> Context:
        return TemplateContext(self.environment, scope, self.name, self.blocks)

    def value(self, variables: Variables) -> Any:
        """Run it: a native value, or an exception of Jinja's or of whatever the template called."""
        return concat(self.root_render_func(self._context(Scope(variables))))


class _CodeGenerator(NativeCodeGenerator):
    """Native code, whose constants keep their type too."""

    def _output_child_to_const(self, node: nodes.Expr, frame: Any, finalize: CodeGenerator._FinalizeInfo) -> Any:
        if isinstance(node, nodes.TemplateData):
            return node.as_const(frame.eval_ctx)
        raise nodes.Impossible


class _Embedded(NodeTransformer):
    """Renders templates that stand in text constants, as Ansible still does in conditions and lookups."""

    def visit_Const(self, node: nodes.Const) -> nodes.Node:
        if isinstance(node.value, str) and is_template_text(node.value):
            return nodes.Filter(node, "_embedded", [], [], None, None, lineno=node.lineno)
        return node


class _EmbeddedInLookups(NodeTransformer):
    def visit_Call(self, node: nodes.Call) -> nodes.Node:
        self.generic_visit(node)
        if isinstance(node.node, nodes.Name) and node.node.name in ("lookup", "query", "q"):
            _Embedded().generic_visit(node)
        return node


class _Loader(jinja2.BaseLoader):
    def get_source(self, environment: jinja2.Environment, template: str) -> Any:
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


def _backslashes(tokens: Iterable[tuple[int, str, str]], literal: bool) -> Iterator[tuple[int, str, str]]:
    """Double the backslashes in constants that stand for themselves: no escape, or (`literal`) all inside `{{ }}`."""
    inside = False
    for line, kind, text in tokens:
        if kind in ("variable_begin", "variable_end"):
            inside = kind == "variable_begin"
        if kind == "string" and "\\" in text:
            text = text.replace("\\", "\\\\") if inside and literal else _NO_ESCAPE.sub(r"\1\\\\", text)
        yield line, kind, text


class TemplateEnvironment(jinja2.Environment):
    """Jinja with our values. The process has one for text of YAML files and one for template files, and overlays of
    that with other delimiters; none holds any state of a run.
    """

    is_for_files = False

    code_generator_class = _CodeGenerator
    context_class = TemplateContext
    template_class = Compiled
    concat = staticmethod(concat)

    def __init__(self) -> None:
        super().__init__(
            undefined=UndefinedValue, trim_blocks=True, loader=_Loader(), optimized=False, extensions=(), cache_size=400
        )
        from cleanslate.render.functions import GLOBALS

        self.filters = Filters(DEFAULT_FILTERS)
        self.tests = Tests(DEFAULT_TESTS)
        self.globals.update(GLOBALS)
        self.globals["omit"] = OMIT
        self.filters["_embedded"] = _embedded

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Give `obj.attribute`: a mapping's method, its item, else the object's own attribute."""
        if isinstance(obj, Undefined):
            return obj
        if isinstance(obj, dict):
            if attribute in _DICT_METHODS:
                return getattr(obj, attribute)
            try:
                return obj[attribute]
            except KeyError:
                return UndefinedValue(obj=obj, name=attribute)
        if isinstance(obj, Variables):
            return self._variable(obj, attribute)
        return self._other_attribute(obj, attribute)

    def _variable(self, variables: Variables, name: Any) -> Any:
        value = variables.resolve(name) if isinstance(name, str) else MISSING
        if value is not MISSING:
            return value
        if name in ("get", "items", "keys", "values"):
            return getattr(variables, name)
        return UndefinedValue(obj=variables, name=name)

    def _other_attribute(self, obj: Any, attribute: str) -> Any:
        if attribute[:1] != "_":  # the inside of Python objects is no business of a template's
            try:
                return getattr(obj, attribute)
            except AttributeError:
                pass
        try:
            return obj[attribute]
        except (TypeError, LookupError, AttributeError):
            return UndefinedValue(obj=obj, name=attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Give `obj[argument]`: the item, else the attribute of that name."""
        if isinstance(obj, Undefined):
            return obj
        if isinstance(argument, UndefinedValue):
            argument._fail_with_undefined_error()
        if isinstance(obj, Variables):
            return self._variable(obj, argument)
        try:
            return obj[argument]
        except (AttributeError, TypeError, LookupError):
            if isinstance(argument, str) and argument[:1] != "_" and hasattr(obj, argument):
                return getattr(obj, argument)
            return UndefinedValue(obj=obj, name=argument)

    def _tokenize(
        self, source: str, name: str | None, filename: str | None = None, state: str | None = None
    ) -> jinja2.lexer.TokenStream:
        """Read a template; in text of YAML files, backslashes in the constants of `{{ }}` stand for themselves."""
        source = self.preprocess(source, name, filename)
        tokens = self.lexer.tokeniter(source, name, filename, state)
        if "\\" in source:
            tokens = _backslashes(tokens, literal=not self.is_for_files)
        return jinja2.lexer.TokenStream(self.lexer.wrap(tokens, name, filename), name, filename)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        return _EmbeddedInLookups().visit(tree) if "lookup" in source or "q" in source else tree

    def _load_template(self, name: str, globals: Any) -> jinja2.Template:
        frame = current()
        path = frame.renderer.find_template(str(name), frame.text)
        if path is None:
            raise jinja2.TemplateNotFound(str(name))
        if not self.is_for_files:
            return environment_with(())._load_found(str(path))
        return self._load_found(str(path))

    def _load_found(self, path: str) -> jinja2.Template:
        return super()._load_template(path, None)

    def compile_text(self, text: str) -> Compiled:
        """Compile a template."""
        return self.from_string(text)  # type: ignore[return-value]

    def parse_bare(self, text: str) -> nodes.Template:
        """Parse an expression that stands without `{{ }}`."""
        parser = jinja2.parser.Parser(self, text, state="variable")
        expression = parser.parse_expression()
        if not parser.stream.eos:
            raise jinja2.TemplateSyntaxError(
                f"unexpected {jinja2.lexer.describe_token(parser.stream.current)!r}", parser.stream.current.lineno
            )
        tree = nodes.Template([nodes.Output([expression], lineno=1)], lineno=1)
        tree.set_environment(self)
        return tree

    def compile_bare(self, text: str, *, embedded: bool) -> Compiled:
        """Compile an expression that stands without `{{ }}`; `embedded` renders templates in its constants."""
        tree = self.parse_bare(text)
        tree = (_Embedded() if embedded else _EmbeddedInLookups()).visit(tree)
        return self.from_string(tree)  # type: ignore[return-value]  # the template_class


@functools.lru_cache(maxsize=1)
def environment() -> TemplateEnvironment:
    """The process's environment."""
    return TemplateEnvironment()


@functools.lru_cache(maxsize=4096)
def compiled(text: str) -> Compiled:
    """The compiled form of a template text, from the cache where it was rendered before."""
    return environment().compile_text(text)


@functools.lru_cache(maxsize=4096)
def compiled_bare(text: str, embedded: bool) -> Compiled:
    """The compiled form of a bare expression."""
    return environment().compile_bare(text, embedded=embedded)


@functools.lru_cache(maxsize=16)
def environment_with(options: tuple[tuple[str, Any], ...]) -> TemplateEnvironment:
    """The environment for template files, with other delimiters or blanks where they are wanted."""
    overlay: TemplateEnvironment = environment().overlay(**dict(options))
    overlay.is_for_files = True
    return overlay


@pass_context
def _embedded(context: TemplateContext, text: str) -> Any:
    """Render a template that stands in an expression's text constant."""
    frame = current()
    value = frame.renderer.evaluate(SourceText(text, origin_of(frame.text)), frame.variables)
    frame.renderer.note(EMBEDDED, origin_of(frame.text))
    return value


__all__ = ["Compiled", "UndefinedUsed", "compiled", "compiled_bare", "environment", "environment_with"]
