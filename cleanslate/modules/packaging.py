"""Modules, packaged by Ansible's own code: once in a run each, several at a time, in a process that ends after."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cleanslate.dataclass import dataclass
from cleanslate.errors import StepFailed
from cleanslate.modules.find import Module

_SECONDS = 300.0  # for packaging all that a playbook uses; a collection on a slow disk may take long
_PACKER = Path(__file__).with_name("packer.py")


@dataclass(frozen=True)
class Package:
    """A module as it goes to targets. `style` and `place` are how it takes its arguments (remote/modules.py)."""

    digest: str
    data: bytes
    style: str
    place: str
    secrets: frozenset[str]
    internals: Mapping[str, Any]


_packed: dict[Path, Package | str] = {}
_lock = threading.Lock()
_wanted: dict[Path, Module] = {}


def want(module: Module) -> None:
    """Note that a playbook uses a module, so that it is packaged together with the others."""
    _wanted[module.path] = module


def package(module: Module) -> Package:
    """The module's package; StepFailed where Ansible cannot make one."""
    with _lock:
        if module.path not in _packed:
            want(module)
            _packed.update(_pack([one for path, one in _wanted.items() if path not in _packed]))
    found = _packed[module.path]
    if isinstance(found, str):
        raise StepFailed(f"Ansible cannot package the module {module.name}: {found}")
    return found


def begin() -> None:
    """Start to package everything that is wanted, so that it is there when the first step wants it."""
    modules = list(_wanted.values())
    if modules:
        threading.Thread(target=lambda: _quietly(modules[0]), name="cleanslate packs", daemon=True).start()


def _quietly(module: Module) -> None:
    try:
        package(module)
    except StepFailed:
        return  # the step says so


def _pack(modules: Iterable[Module]) -> dict[Path, Package | str]:
    modules = list(modules)
    request = {
        "path": [part for part in sys.path if Path(part).is_absolute()],
        "collections": sorted({str(root.parent) for module in modules for root in module.roots}),
        "utils": sorted({str(folder) for module in modules for folder in module.utils}),
        "modules": [
            {"name": module.name, "full_name": module.full_name, "path": str(module.path)} for module in modules
        ],
    }
    answer = _ask(request)
    if isinstance(answer, str):
        return {module.path: answer for module in modules}
    made = ((module, answer["modules"][str(module.path)]) for module in modules)
    return {module.path: _made(module, entry, answer["internals"]) for module, entry in made}


def _made(module: Module, entry: Mapping[str, Any], internals: Mapping[str, Any]) -> Package | str:
    if "error" in entry:
        return str(entry["error"])
    data = base64.b64decode(entry["package"])
    digest = hashlib.sha256(data).hexdigest()
    named = {**internals, "_ansible_module_name": module.full_name}
    return Package(digest, data, entry["style"], entry["place"], frozenset(entry["secrets"]), named)


def _ask(request: Mapping[str, Any]) -> dict[str, Any] | str:
    """What the packer answers, or why it did not. Neither the user's ansible.cfg nor their ~/.ansible takes part."""
    with tempfile.TemporaryDirectory(prefix="cleanslate-pack-") as folder:
        empty = Path(folder, "ansible.cfg")
        empty.touch()
        places = {"ANSIBLE_HOME": folder, "ANSIBLE_LOCAL_TEMP": folder, "ANSIBLE_CONFIG": str(empty)}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
        try:
            done = subprocess.run(
                [sys.executable, "-I", str(_PACKER)],
                input=json.dumps(request).encode(),
                capture_output=True,
                timeout=_SECONDS,
                cwd=folder,
                env={**kept, **places, "LC_ALL": "C.UTF-8"},
            )
        except subprocess.TimeoutExpired:
            return f"it took longer than {_SECONDS:g} s"
    try:
        found: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return done.stderr.decode("utf-8", "replace").strip()[-500:] or f"it ended with {done.returncode}"
    return found
