"""`package` and `dnf`: the module of the target's own package manager, found by asking the target."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cleanslate.errors import StepFailed
from cleanslate.modules.find import Module, Places, Refused, ansible_root, find_module
from cleanslate.modules.steptype import ModuleArguments, module_type
from cleanslate.steps.contract import Behaviour, StepContext, StepType

NAMES = {"package": "package", "dnf": "dnf", "yum": "dnf"}
"""What can be written, and the file of ansible-core that documents it."""
_SAID = {"package": ("use",), "dnf": ("use", "use_backend")}
_DNF = ("dnf", "dnf5", "dnf4", "yum", "yum4")
_SAME = {"dnf4": "dnf", "yum4": "dnf", "yum": "dnf"}


def package_type(word: str) -> StepType | None:
    """The step type of that name; None for every other name, and without ansible-core."""
    short = word.removeprefix("ansible.builtin.").removeprefix("ansible.legacy.")
    root = ansible_root()
    if short not in NAMES or root is None:
        return None
    name = NAMES[short]
    documented = module_type(Module(name, root / "modules" / f"{name}.py", f"ansible.builtin.{name}"))
    about = "Asks the target which package manager it has, and runs Ansible's module for that."
    aliases = (*documented.aliases, "yum", "ansible.builtin.yum") if name == "dnf" else documented.aliases
    return replace(documented, behave=lambda args, context: _behave(name, args, context), notes=about, aliases=aliases)


def _behave(name: str, args: ModuleArguments, context: StepContext) -> Behaviour:
    given = dict(args.model_extra or {})
    said = [str(given.pop(word, "auto")) for word in _SAID[name]]
    manager = next((one for one in said if one != "auto"), None)
    if manager is None and name == "package":
        manager = context.variables.get("ansible_package_use")
    manager = str(manager or _ask(context))
    if name == "dnf" and manager not in _DNF:
        raise StepFailed(f"the target's package manager is {manager}, not dnf", fix="package works with any of them")
    found = find_module(_SAME.get(manager, manager), Places()) if manager not in NAMES else _plain(manager)
    if isinstance(found, Refused) or found is None:
        why = found.what if found else "ansible-core has no module for it"
        raise StepFailed(f"the package manager {manager}: {why}", fix=found.fix if found else "name one with use:")
    return (yield from module_type(found).behave(ModuleArguments.model_validate(given), context))


def _plain(manager: str) -> Module | None:
    """ansible-core's own dnf module, without the choice between it and its successor."""
    root = ansible_root()
    return Module("dnf", root / "modules/dnf.py", "ansible.builtin.dnf") if root and manager != "package" else None


def _ask(context: StepContext) -> Any:
    answer = context.read("facts.gather", subset=["!all", "pkg_mgr"], filters=["ansible_pkg_mgr"])
    return answer["facts"].get("pkg_mgr", "unknown")
