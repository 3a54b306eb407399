"""The filters: Jinja's own, and Ansible's, one file for each family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cleanslate.render.registry import Registry

FAMILIES: dict[str, tuple[str, ...]] = {
    "basic": ("bool", "d", "default", "mandatory", "pprint", "ternary", "type_debug"),
    "text": ("b64decode", "b64encode", "comment", "quote", "split", "to_uuid", "urldecode", "urlsplit"),
    "regex": ("regex_escape", "regex_findall", "regex_replace", "regex_search"),
    "data": (
        "from_json",
        "from_yaml",
        "from_yaml_all",
        "to_json",
        "to_nice_json",
        "to_nice_yaml",
        "to_yaml",
    ),
    "mappings": ("combine", "dict2items", "extract", "items2dict", "rekey_on_member", "subelements"),
    "sequences": (
        "combinations",
        "difference",
        "flatten",
        "intersect",
        "permutations",
        "product",
        "symmetric_difference",
        "union",
        "unique",
        "zip",
        "zip_longest",
    ),
    "numbers": ("human_readable", "human_to_bytes", "log", "pow", "root"),
    "chance": ("random", "shuffle"),
    "paths": (
        "basename",
        "commonpath",
        "dirname",
        "expanduser",
        "expandvars",
        "fileglob",
        "normpath",
        "path_join",
        "realpath",
        "relpath",
        "splitext",
        "win_basename",
        "win_dirname",
        "win_splitdrive",
    ),
    "times": ("strftime", "to_datetime"),
    "envelopes": ("unvault", "vault"),
    "hashes": ("checksum", "hash", "md5", "password_hash", "sha1"),
}

_IPADDR = "address arithmetic belongs to the ansible.utils collection; compute the address where it is defined"
REFUSED: dict[str, str] = {
    **dict.fromkeys(
        (
            "ipaddr",
            "ipv4",
            "ipv6",
            "ipsubnet",
            "ipwrap",
            "ipmath",
            "ip4_hex",
            "cidr_merge",
            "hwaddr",
            "macaddr",
            "nthhost",
        ),
        _IPADDR,
    ),
    **dict.fromkeys(
        ("ansible.utils.ipaddr", "ansible.utils.ipv4", "ansible.utils.ipv6", "ansible.utils.ipsubnet"), _IPADDR
    ),
    "json_query": "JMESPath belongs to community.general; use selectattr and map",
    "community.general.json_query": "JMESPath belongs to community.general; use selectattr and map",
}


class Filters(Registry):
    """Every filter, by name."""

    def __init__(self, builtin: Mapping[str, Any]) -> None:
        super().__init__(builtin, __name__, FAMILIES, REFUSED)
