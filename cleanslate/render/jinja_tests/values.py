"""Tests of having a value, and of what it is worth."""

from __future__ import annotations

import math
from typing import Any

import jinja2

from cleanslate.render.registry import takes_undefined
from cleanslate.render.undefined import Broken


@takes_undefined
def defined(value: Any) -> bool:
    """Whether there is a value."""
    if isinstance(value, Broken):
        raise value.as_error()
    return not isinstance(value, jinja2.Undefined)


@takes_undefined
def undefined(value: Any) -> bool:
    """Whether there is none."""
    return not defined(value)


def truthy(value: Any, convert_bool: bool = False) -> bool:
    """Whether Python takes the value for true; with `convert_bool`, "no" and "off" are false too."""
    if convert_bool and isinstance(value, str) and value.lower() in ("no", "off", "0", "false"):
        return False
    return bool(value)


def falsy(value: Any, convert_bool: bool = False) -> bool:
    """Whether Python takes the value for false."""
    return not truthy(value, convert_bool)


def is_nan(value: Any) -> bool:
    """Whether a number is "not a number"."""
    try:
        return math.isnan(value)
    except TypeError:
        return False


def vault_encrypted(value: Any) -> bool:
    """Whether a text is a vault envelope; values that were opened on reading are none."""
    return isinstance(value, str) and value.startswith("$ANSIBLE_VAULT;")


FUNCTIONS = {
    "defined": defined,
    "falsy": falsy,
    "isnan": is_nan,
    "nan": is_nan,
    "truthy": truthy,
    "undefined": undefined,
    "vault_encrypted": vault_encrypted,
}
