"""Ansible's modules as step types: found where Ansible finds them, and run through Ansible's own code.

Needs ansible-core on the controller (`cleanslate-runner[ansible]`). Only packer.py imports it, in a process of its own.
"""

from cleanslate.modules.find import Module, Places, Refused, ansible_root, bring, find_module, plausible
from cleanslate.modules.packages import package_type
from cleanslate.modules.packaging import begin
from cleanslate.modules.steptype import module_type

__all__ = [
    "Module",
    "Places",
    "Refused",
    "ansible_root",
    "begin",
    "bring",
    "find_module",
    "module_type",
    "package_type",
    "plausible",
]
