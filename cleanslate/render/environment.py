"""Jinja, made to give native values, to look names up lazily, and to pass undefined values along as Ansible does."""

from __future__ import annotations

import functools
from typing import Any

import jinja2
from jinja2 import nodes, pass_context
from jinja2.filters import FILTERS as DEFAULT_FILTERS
from jinja2.tests import TESTS as DEFAULT_TESTS

from cleanslate.model import SourceText, origin_of
from cleanslate.render.context import Compiled, TemplateContext, concat
from cleanslate.render.filters import Filters
from cleanslate.render.frames import current
from cleanslate.render.jinja_tests import Tests
from cleanslate.render.marks import OMIT, Undefined
from cleanslate.render.syntax import Embedded, EmbeddedInLookups, PathLoader, ValueCodeGenerator, backslashes
from cleanslate.render.undefined import UndefinedValue
from cleanslate.render.variables import MISSING, Variables

_DICT_METHODS = frozenset(name for name in dir(dict) if name[0] != "_")
EMBEDDED = "a text constant should hold no template: write the name bare"


class TemplateEnvironment(jinja2.Environment):
    """Jinja with our values. The process has one for text of YAML files and one for template files, and overlays of
    that with other delimiters; none holds any state of a run.
    """

    is_for_files = False

    code_generator_class = ValueCodeGenerator
    context_class = TemplateContext
    template_class = Compiled
    concat = staticmethod(concat)

    def __init__(self) -> None:
        super().__init__(
            undefined=UndefinedValue,
            trim_blocks=True,
            loader=PathLoader(),
            optimized=False,
            extensions=(),
            cache_size=400,
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
            tokens = backslashes(tokens, literal=not self.is_for_files)
        return jinja2.lexer.TokenStream(self.lexer.wrap(tokens, name, filename), name, filename)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        return EmbeddedInLookups().visit(tree) if "lookup" in source or "q" in source else tree

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
        tree = (Embedded() if embedded else EmbeddedInLookups()).visit(tree)
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
