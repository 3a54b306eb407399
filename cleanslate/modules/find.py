"""Where Ansible's modules are: in ansible-core, in collections, and in `library/` beside a playbook or a role."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from cleanslate.dataclass import dataclass
from cleanslate.errors import suggest

_CORE = ("ansible.builtin", "ansible.legacy")
_MOST_REDIRECTS = 10
# Modules of ansible-core (and names that once were); so one that is not installed is not called misspelt.
_NAMES = """
    apt apt_key apt_repository authorized_key cron deb822_repository debconf dnf dnf5 dpkg_selections expect firewalld
    getent git group hostname iptables known_hosts mount mount_facts package package_facts pip rpm_key seboolean selinux
    service_facts subversion sysctl sysvinit user yum yum_repository
"""
_KNOWN = frozenset(_NAMES.split())


@dataclass(frozen=True)
class Module:
    """A module that was found. `name` is the one that all its spellings stand for (`apt`, `community.general.ufw`)."""

    name: str
    path: Path
    full_name: str
    aliases: tuple[str, ...] = ()
    utils: tuple[Path, ...] = ()  # folders called module_utils beside it
    roots: tuple[Path, ...] = ()  # where collections were looked for


@dataclass(frozen=True)
class Refused:
    """A module that there is and that cannot be run from here."""

    what: str
    fix: str | None = None


@dataclass(frozen=True)
class Places:
    """Where a step's modules are looked for: `beside` are the folders of its roles and its playbook, nearest first;
    `collections` those that its play or role names.
    """

    beside: tuple[Path, ...] = ()
    collections: tuple[str, ...] = ()


def plausible(word: str) -> bool:
    """Whether a name is one of Ansible's modules by its looks, wherever it may be."""
    short = word.removeprefix("ansible.builtin.").removeprefix("ansible.legacy.")
    return short in _KNOWN or short.count(".") >= 2


@cache
def ansible_root() -> Path | None:
    """The folder of ansible-core beside our own Python; None where it is not installed."""
    try:
        spec = importlib.util.find_spec("ansible")
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None or not (Path(spec.origin).parent / "modules").is_dir():
        return None  # a folder that is only called so
    return Path(spec.origin).parent


def core_modules() -> list[str]:
    """The names of ansible-core's modules; where that is not installed, as far as we know them."""
    root = ansible_root()
    return sorted(file.stem for file in (root / "modules").glob("[a-z]*.py")) if root else sorted(_KNOWN)


def routed_names() -> list[str]:
    """Short names of modules that have moved from ansible-core to collections; none where it is not installed."""
    root = ansible_root()
    if root is None:
        return []
    plugins = runtime(root / "config/ansible_builtin_runtime.yml").get("plugin_routing") or {}
    return sorted(plugins.get("modules") or {})


def bring() -> str:
    """The one command that installs ansible-core beside us."""
    wrapper = Path(__file__).parents[2] / "inv"
    return "./inv extras ansible" if wrapper.is_file() else "pip install 'cleanslate-runner[ansible]'"


def find_module(word: str, places: Places) -> Module | Refused | None:
    """The module that a step names; None where there is none. Needs ansible-core to be installed."""
    root = ansible_root()
    if root is None:
        return None
    return _Search(root, places).find(word)


def library_file(word: str, places: Places) -> Path | None:
    """The module of that name in a `library/` folder."""
    if not re.fullmatch(r"[A-Za-z_]\w*", word):
        return None
    return next((file for folder in _libraries(places) if (file := _file_in(folder, word)) is not None), None)


class _Search:
    def __init__(self, root: Path, places: Places) -> None:
        self.root = root
        self.places = places
        self.roots = collection_roots(places.beside)
        self.aliases: list[str] = []

    def find(self, word: str) -> Module | Refused | None:
        for _ in range(_MOST_REDIRECTS):
            found = self._once(word)
            if found is None and word.count(".") >= 2 and not word.startswith(_CORE):
                return self._missing(word)
            if not isinstance(found, str):
                return found
            self.aliases.append(word)
            word = found
        return Refused(f'the name "{word}" is redirected for ever')

    def _missing(self, word: str) -> Refused:
        """A full name that nothing has: its collection is not installed, or has no such module."""
        said = self.aliases[0] if self.aliases else word
        space, collection, *_, short = word.split(".")
        name = f"{space}.{collection}"
        base = self._base(space, collection)
        if base is None:
            what = f'the step type "{said}" is of the collection {name}, which is not installed'
            return Refused(what, f"ansible-galaxy collection install {name}")
        there = [file.stem for file in (base / "plugins/modules").glob("*.py")]
        return Refused(f'the collection {name} has no module "{short}"', suggest(short, there))

    def _base(self, space: str, collection: str) -> Path | None:
        return next((one for root in self.roots if (one := root / space / collection).is_dir()), None)

    def _once(self, word: str) -> Module | Refused | str | None:
        """A module, why not, or the name that stands for it now."""
        prefix, _, short = word.rpartition(".")
        if prefix in _CORE:
            return self._core(short) if prefix == _CORE[0] else self._beside(short) or self._core(short)
        if prefix.count("."):
            return self._in_collection(word)
        if prefix:
            return None
        named = (self._in_collection(f"{one}.{word}") for one in self.places.collections if one not in _CORE)
        return next((found for found in named if found is not None), None) or self._beside(word) or self._core(word)

    def _beside(self, word: str) -> Module | Refused | None:
        path = library_file(word, self.places)
        if path is None:
            return None
        utils = tuple(folder / "module_utils" for folder in self.places.beside if (folder / "module_utils").is_dir())
        return self._module(word, path, f"ansible.legacy.{word}", utils)

    def _core(self, short: str) -> Module | Refused | str | None:
        path = self.root / "modules" / f"{short}.py"
        if not re.fullmatch(r"[a-z]\w*", short):
            return None
        if (self.root / "plugins/action" / f"{short}.py").is_file():
            return _needs_action(short)
        if not path.is_file():
            routing = _routing(self.root / "config/ansible_builtin_runtime.yml", short)
            return _routed(routing, short) if routing else None
        return self._module(short, path, f"ansible.builtin.{short}", ())

    def _in_collection(self, word: str) -> Module | Refused | str | None:
        space, collection, *folders, short = word.split(".")
        base = self._base(space, collection)
        if base is None:
            return None
        routing = _routing(base / "meta/runtime.yml", ".".join([*folders, short]))
        if routing:
            return _routed(routing, word)
        path = _file_in((base / "plugins/modules").joinpath(*folders), short)
        if path is None:
            return None
        if (base / "plugins/action").joinpath(*folders, f"{short}.py").is_file():
            return _needs_action(word)
        return self._module(word, path, word, ())

    def _module(self, name: str, path: Path, full: str, utils: tuple[Path, ...]) -> Module | Refused:
        if path.suffix == ".ps1":
            return Refused(f'the module "{name}" runs on Windows, which is no target here')
        return Module(name, path, full, tuple(self.aliases), utils, self.roots)


def _needs_action(name: str) -> Refused:
    what = f'"{name}" needs a plugin of Ansible\'s on the controller (an action plugin), and those do not run here'
    return Refused(what, "use a module that runs on the target, or command")


def _routed(routing: dict[str, str], name: str) -> Refused | str:
    if "redirect" in routing:
        return routing["redirect"]
    if "action" in routing:
        return _needs_action(name)
    return Refused(f'"{name}" was removed from its collection: {routing["removed"]}')


@cache
def _routing(file: Path, name: str) -> dict[str, str]:
    """What a collection's routing says of a module: `redirect`, `removed` (why) or `action` (its plugin)."""
    if not re.search(rf"^\s+{re.escape(name)}:", _text(file), re.MULTILINE):
        return {}
    plugins = runtime(file).get("plugin_routing") or {}
    said = (plugins.get("modules") or {}).get(name) or {}
    if isinstance(said.get("redirect"), str):
        return {"redirect": said["redirect"]}
    if said.get("tombstone"):
        return {"removed": str(said["tombstone"].get("warning_text") or "its documentation may say why").strip()}
    action = ((plugins.get("action") or {}).get(name) or {}).get("redirect") or said.get("action_plugin")
    return {"action": action} if isinstance(action, str) else {}


@cache
def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.is_file() else ""


@cache
def runtime(file: Path) -> dict[str, Any]:
    """A collection's meta/runtime.yml; empty where it has none, or one that cannot be read."""
    from cleanslate.yamlfile import load_foreign

    try:
        found = load_foreign(_text(file))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def collection_roots(beside: Sequence[Path] = ()) -> tuple[Path, ...]:
    """Every folder called ansible_collections that there is, in Ansible's order."""
    said = os.environ.get("ANSIBLE_COLLECTIONS_PATH") or os.environ.get("ANSIBLE_COLLECTIONS_PATHS")
    usual = "~/.ansible/collections:/usr/share/ansible/collections"
    folders = [folder / "collections" for folder in reversed(beside)]
    folders += [Path(part).expanduser() for part in (said or usual).split(":") if part]
    folders += [Path(part) for part in sys.path if part.endswith("-packages")]
    found = (one if one.name == "ansible_collections" else one / "ansible_collections" for one in folders)
    return tuple(dict.fromkeys(one.absolute() for one in found if one.is_dir()))


def _libraries(places: Places) -> Iterator[Path]:
    for folder in places.beside:
        yield folder / "library"
    for part in os.environ.get("ANSIBLE_LIBRARY", "").split(":"):
        if part:
            yield Path(part).expanduser()
    yield Path("~/.ansible/plugins/modules").expanduser()
    yield Path("/usr/share/ansible/plugins/modules")


def _file_in(folder: Path, name: str) -> Path | None:
    """A module's file: Python first, then a program of any kind."""
    for end in (".py", "", ".sh", ".ps1"):
        file = folder / f"{name}{end}"
        if file.is_file() and not name.startswith("__"):
            return file
    return None
