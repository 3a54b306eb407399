"""Undefined values as templates see them: they travel through filters and attributes, and raise when used."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

import jinja2

from cleanslate.errors import RenderError
from cleanslate.render import explain
from cleanslate.render.frames import Frame, stack
from cleanslate.render.marks import Undefined, UndefinedVariable


class UndefinedUsed(jinja2.UndefinedError):
    """An undefined value was used; the template that did it becomes undefined in turn."""

    def __init__(self, value: UndefinedValue) -> None:
        super().__init__("undefined")
        self.value = value


class UndefinedValue(Undefined, jinja2.StrictUndefined):
    """A value that is missing: `name` of `obj`, or the variable `name`, asked for in the template of `frame`."""

    __slots__ = ("_frame", "_known")

    def __init__(
        self,
        hint: str | None = None,
        obj: Any = jinja2.utils.missing,
        name: Any = None,
        exc: type[jinja2.TemplateRuntimeError] = jinja2.UndefinedError,
        known: Iterable[str] = (),
    ) -> None:
        super().__init__(hint, obj, name, exc)
        frames = stack()
        self._frame = frames[-1] if frames else None
        self._known = known

    # Jinja's own class fails here; asking an undefined value for more is undefined as well, until it is used.
    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__":
            raise AttributeError(name)
        return self

    def __getitem__(self, key: Any) -> Any:
        return self

    def _fail_with_undefined_error(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise UndefinedUsed(self)

    __iter__ = __str__ = __len__ = __eq__ = __ne__ = __bool__ = __hash__ = __contains__ = __call__ = (
        _fail_with_undefined_error
    )
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _fail_with_undefined_error
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _fail_with_undefined_error
    __pow__ = __rpow__ = __neg__ = __pos__ = __lt__ = __le__ = __gt__ = __ge__ = _fail_with_undefined_error
    __int__ = __float__ = __complex__ = __repr__ = _fail_with_undefined_error

    def as_error(self) -> RenderError:
        """Give the error: the name, the expression, its place, near names."""
        what, fix = self._what()
        frame = self._frame
        if frame is None:
            return UndefinedVariable(what, fix=fix)
        at = self._position(frame)
        shown = explain.expression_at(frame.text, at, bare=frame.bare)
        return UndefinedVariable(f"{what}, in {shown}", origin=explain.place_of(frame.text, at), fix=fix)

    def _what(self) -> tuple[str, str | None]:
        if self._undefined_hint:
            return str(self._undefined_hint), None
        if self._undefined_obj is jinja2.utils.missing:
            return explain.missing_name(str(self._undefined_name), self._known)
        found = explain.find_access(self._frame.text, self._undefined_name) if self._frame else None
        return explain.missing_part(self._undefined_name, self._undefined_obj, found[1] if found else None)

    def _position(self, frame: Frame) -> int:
        if self._undefined_obj is jinja2.utils.missing:
            at = explain.find_name(frame.text, str(self._undefined_name), bare=frame.bare)
        else:
            found = explain.find_access(frame.text, self._undefined_name)
            at = found[0] if found else None
        return explain.first_expression(frame.text, 1) if at is None else at


class Broken(UndefinedValue):
    """A value whose template failed for another reason than an undefined name: only using it raises that error."""

    __slots__ = ("_error",)

    def __init__(self, error: RenderError) -> None:
        super().__init__(hint=error.what)
        self._error = error

    def as_error(self) -> RenderError:
        """Give the error that the template failed with; a new one, as raising one again would lengthen its trace."""
        return type(self._error)(self._error.what, origin=self._error.origin, fix=self._error.fix)

    def _fail_with_undefined_error(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise self.as_error()
