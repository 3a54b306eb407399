"""How people write booleans, durations, modes and lists: what arguments and keywords alike are taken for."""

from __future__ import annotations

import re
from typing import Any


def as_flag(value: Any) -> Any:
    """Take what Ansible takes for a boolean, in any case; give anything else back as it is."""
    if isinstance(value, str):
        word = value.strip().lower()
        if word in ("yes", "on", "1", "true", "t", "y", "1.0"):
            return True
        if word in ("no", "off", "0", "false", "f", "n", "0.0"):
            return False
    return value


def as_text(value: Any) -> Any:
    """Take numbers and booleans as text, the way they read (True, 5), since YAML has no quotes to remember."""
    return str(value) if isinstance(value, bool | int | float) else value


def as_mode(value: Any) -> Any:
    """Take an octal number or text (`0644`, `"0644"`, `u=rw,g=r`); give text. YAML's 0644 arrives as 420."""
    if isinstance(value, bool):
        return value
    return f"{value:04o}" if isinstance(value, int) else value


def as_words(value: Any) -> Any:
    """Take one text, separated by commas, for a list of texts."""
    if isinstance(value, str):
        return [word.strip() for word in value.split(",")]
    return [value] if isinstance(value, int | float) else value


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(value: Any) -> float:
    """Give the seconds that `30`, `"30"`, `"20s"`, `"1h30m"`, `"250ms"` mean; ValueError otherwise."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    text = str(value).strip().lower()
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)", text)
    if not parts or re.sub(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)|\s", "", text):
        raise ValueError(f'"{value}" is not a duration; write seconds, or 20s, 5m, 1h30m')
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
