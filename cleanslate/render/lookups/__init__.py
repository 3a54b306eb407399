"""The lookups: values from outside the variables, one file for each family, imported on first use.

A lookup is a function (lookups, terms, **options) -> list; `lookups` gives it variables, files and the renderer.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cleanslate.errors import RenderError, suggest
from cleanslate.render.registry import short_name

if TYPE_CHECKING:
    from cleanslate.render.renderer import Renderer
    from cleanslate.render.variables import Variables

FAMILIES: dict[str, tuple[str, ...]] = {
    "environment": ("env", "pipe", "lines", "vars", "varnames", "inventory_hostnames"),
    "loops": ("dict", "indexed_items", "items", "list", "nested", "sequence", "subelements", "together"),
    "paths": ("file", "fileglob", "first_found", "template", "unvault"),
    "tables": ("csvfile", "ini"),
    "chance": ("password", "random_choice"),
    "web": ("url",),
}
ACTING = frozenset(("pipe", "lines", "password", "random_choice", "url"))
"""Lookups that run a program, make something, or ask over the network."""
REFUSED = {
    "config": "this is not Ansible, so its settings do not exist; put the value into a variable",
}
NAMES = {name: family for family, names in FAMILIES.items() for name in names}


class Lookups:
    """What a lookup may ask for: the variables, and files where the step's role and playbook keep them."""

    def __init__(self, variables: Variables, renderer: Renderer, folder: str = "files") -> None:
        self.variables = variables
        self.renderer = renderer
        self.folder = folder

    def places(self, name: str, kind: str) -> list[Path]:
        """Where a file of that name may be, nearest first."""
        path = Path(name).expanduser()
        if path.is_absolute():
            return [path]
        return [folder / path for folder in self.renderer.lookup_paths(kind)]

    def find(self, name: Any, kind: str) -> Path:
        """The file; RenderError names every folder that was looked in."""
        places = self.places(str(name), kind)
        for place in places:
            if place.exists():
                self.renderer.used(place)
                return place
        folders = ", ".join(dict.fromkeys(str(place.parent) for place in places))
        raise RenderError(f'no file "{name}"', fix=f"looked in {folders}")

    def text(self, path: Path) -> str:
        """A file's text, decrypted if it is a vault envelope."""
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            raise RenderError(f"{path} is no text in UTF-8") from None
        if not text.startswith("$ANSIBLE_VAULT;"):
            return text
        if self.renderer.decrypt is None:
            raise RenderError(f"{path} is encrypted, and no vault password was given", fix="use --vault-password-file")
        text = self.renderer.decrypt(text)
        if self.renderer.secrets is not None:
            self.renderer.secrets.add(text)
        return text


class Lookup(NamedTuple):
    """A lookup's function, and the options that it takes."""

    run: Callable[..., list[Any]]
    options: tuple[str, ...]


@functools.lru_cache(maxsize=64)
def find_lookup(name: str) -> Lookup:
    """The lookup of that name; RenderError with a near one otherwise."""
    short = short_name(name)
    if short in REFUSED:
        raise RenderError(f'lookup "{short}" is not supported: {REFUSED[short]}')
    if short not in NAMES:
        hint = "lookups of collections are not supported" if "." in short else suggest(short, NAMES)
        raise RenderError(f'there is no lookup "{name}"', fix=hint)
    function = importlib.import_module(f"{__name__}.{NAMES[short]}").FUNCTIONS[short]
    return Lookup(function, tuple(list(inspect.signature(function).parameters)[2:]))
