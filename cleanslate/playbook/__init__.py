"""YAML -> plays and steps; everything that can be known before a host is touched is checked here."""

from cleanslate.playbook.arguments import split_key_values
from cleanslate.playbook.check import check_playbook, check_tags
from cleanslate.playbook.find import file_places, role_search_paths, search_folders, tasks_file_places
from cleanslate.playbook.inherit import inherited_by_include
from cleanslate.playbook.load import load_playbook, load_role, load_tasks_file
from cleanslate.playbook.schema import playbook_schema
from cleanslate.playbook.tags import selected

__all__ = [
    "load_playbook",
    "load_tasks_file",
    "load_role",
    "check_playbook",
    "check_tags",
    "inherited_by_include",
    "role_search_paths",
    "search_folders",
    "file_places",
    "tasks_file_places",
    "split_key_values",
    "selected",
    "playbook_schema",
]
