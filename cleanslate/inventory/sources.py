"""Loads an inventory from its sources: files of every form, folders of them, host lists, plugin files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from cleanslate.dataclass import dataclass
from cleanslate.errors import InputError, Origin
from cleanslate.inventory.assembly import Assembly
from cleanslate.inventory.hostlist import read_host_list
from cleanslate.inventory.script import is_script, read_script
from cleanslate.inventory.varfiles import placed
from cleanslate.model import Inventory, SourceMap
from cleanslate.yamlfile import Decrypt, load_yaml_text, read_text, shown_path

YAML_SUFFIXES = (".yml", ".yaml", ".json")
# What Ansible passes over in a folder of inventories.
IGNORED_SUFFIXES = (
    ".pyc", ".pyo", ".swp", ".bak", "~", ".rpm", ".md", ".txt", ".rst", ".orig", ".cfg", ".retry",
)  # fmt: skip
IGNORED_NAMES = ("group_vars", "host_vars", "vars_plugins")


def load_inventory(sources: Sequence[str], *, base: Path, vault: Decrypt | None = None) -> Inventory:
    """Read sources in order; a later one adds to, and wins over, an earlier one. Relative paths start at `base`.

    Raises InputError with every mistake of every source.
    """
    assembly = Assembly()
    loader = _Loader(assembly, base, vault)
    for source in sources:
        path = base / Path(source).expanduser()
        if "," in source and not path.exists():
            read_host_list(source, assembly)
        else:
            assembly.inventory.sources.append(path)
            loader.read(path)
    return assembly.finish()


@dataclass
class _Loader:
    assembly: Assembly
    base: Path
    vault: Decrypt | None

    def read(self, path: Path) -> None:
        """Read a file or a folder; its mistakes are noted, so that the other sources' are told too."""
        try:
            if path.is_dir():
                self._folder(path)
            elif path.is_file():
                self.assembly.inventory.files.append(path)
                with placed(shown_path(path)):
                    self._file(path)
            else:
                raise _missing(path)
        except InputError as error:
            self.assembly.problems.include(error)

    def _folder(self, folder: Path) -> None:
        """Read what lies in a folder, by name, and folders in it, except what Ansible passes over."""
        try:
            found = sorted(folder.iterdir())
        except OSError as error:
            raise InputError(f"cannot read the folder: {error.strerror or error}", origin=Origin(str(folder))) from None
        for path in found:
            ignored = path.name.startswith(".") or path.name in IGNORED_NAMES or path.name.endswith(IGNORED_SUFFIXES)
            if not ignored:
                self.read(path)

    def _file(self, path: Path) -> None:
        file = shown_path(path)
        if is_script(path):
            read_script(path, file, self.assembly, self.vault)
            return
        text = read_text(path, vault=self.vault)
        if path.suffix == ".toml":
            from cleanslate.inventory.tomlform import read_toml

            read_toml(text, file, path, self.assembly)
        elif path.suffix in YAML_SUFFIXES or (not path.suffix and looks_like_yaml(text)):
            self._yaml(text, file, path)
        else:
            from cleanslate.inventory.ini import read_ini

            read_ini(text, file, path, self.assembly)

    def _yaml(self, text: str, file: str, path: Path) -> None:
        data = load_yaml_text(text, file, vault=self.vault)
        if isinstance(data, SourceMap) and "plugin" in data:
            from cleanslate.inventory.plugins import PluginContext, read_plugin

            read_plugin(data, PluginContext(path, file, self.base, self.assembly, self.vault))
        else:
            from cleanslate.inventory.yamlform import read_yaml_groups

            read_yaml_groups(data, file, path, self.assembly)


def looks_like_yaml(text: str) -> bool:
    """Whether an inventory without a telling file name is YAML: its first line is `---`, `{` or a key."""
    for line in text.splitlines():
        content = line.strip()
        if content and content[0] not in "#;":
            return bool(re.match(r"---|%YAML|\{|[^\s\[=]+\s*:(\s|$)", content))
    return False


def _missing(path: Path) -> InputError:
    import difflib

    names = [beside.name for beside in path.parent.iterdir()] if path.parent.is_dir() else []
    near = difflib.get_close_matches(path.name, names, n=1)
    fix = (
        f'did you mean "{path.parent / near[0]}"?' if near else "an inventory is a file, a folder, or names with commas"
    )
    return InputError(f'the inventory "{shown_path(path)}" does not exist', origin=Origin("--inventory"), fix=fix)
