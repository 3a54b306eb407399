"""Where a running template finds names and calls functions: Jinja's context over Variables instead of a copied dict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import jinja2
from jinja2.runtime import Context, Macro
from jinja2.utils import _PassArg, missing

from cleanslate.render.lazy import LazyList, LazyMap
from cleanslate.render.marks import Undefined
from cleanslate.render.undefined import UndefinedValue
from cleanslate.render.values import listed
from cleanslate.render.variables import MISSING, Variables

_NOTHING: dict[str, Any] = {}


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
