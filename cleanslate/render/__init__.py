"""Templates, conditions and expressions over a host's variables, as ansible-core understands them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cleanslate.render.marks import OMIT, Undefined, UndefinedVariable, is_template
from cleanslate.render.renderer import Renderer
from cleanslate.render.variables import Variables

if TYPE_CHECKING:
    from cleanslate.render.files import TemplateOptions, template_variables
    from cleanslate.render.functions import with_items
    from cleanslate.render.static import check_template, free_names, referenced_templates

_LATER = {
    "TemplateOptions": "files",
    "template_variables": "files",
    "with_items": "functions",
    "check_template": "static",
    "free_names": "static",
    "referenced_templates": "static",
}


def __getattr__(name: str) -> Any:
    """Import what needs Jinja, or the file system, when it is first asked for."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)


__all__ = [
    "Renderer",
    "Variables",
    "TemplateOptions",
    "template_variables",
    "is_template",
    "check_template",
    "free_names",
    "referenced_templates",
    "with_items",
    "OMIT",
    "Undefined",
    "UndefinedVariable",
]
