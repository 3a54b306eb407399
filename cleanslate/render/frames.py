"""Which template is being rendered right now, in this thread: for its place in errors, and to notice a circle."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from cleanslate.render.renderer import Renderer
    from cleanslate.render.variables import Variables


class Frame(NamedTuple):
    """One template under way. `bare` says that the text is an expression, without `{{ }}`."""

    text: str
    variables: Variables
    renderer: Renderer
    bare: bool = False


class _Frames(threading.local):
    def __init__(self) -> None:
        self.stack: list[Frame] = []


_frames = _Frames()


def stack() -> list[Frame]:
    """The templates under way in this thread, outermost first."""
    return _frames.stack


def current() -> Frame:
    """The innermost template under way."""
    return _frames.stack[-1]
