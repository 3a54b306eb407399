"""Reads what a server's command line says, by the option names of its engine."""

import json

from cleanslate.remote import matching
from cleanslate.remote.engines import defaults
from cleanslate.remote.profiles import PROFILES


def flag(argv, names):
    """The value of the last of these options on a command line (`--port 1`, `--port=1`), or None."""
    found = None
    for place, word in enumerate(argv):
        name, sign, value = word.partition("=")
        if name in names:
            found = value if sign else argv[place + 1] if place + 1 < len(argv) else None
    return found


def settings(engine, argv):
    """What a command line says by the engine's own options: {port, model, tp, ...}, None where it says nothing."""
    profile = PROFILES.get(engine) or PROFILES["http"]
    said = {name: flag(argv, names) for name, names in profile["flags"].items()}
    if engine == "vllm" and not said["model"] and "serve" in argv:
        behind = argv[argv.index("serve") + 1 :][:1]
        said["model"] = behind[0] if behind and not behind[0].startswith("-") else None
    if said.get("speculative") and not said.get("draft"):
        said["draft"] = _draft_of(said["speculative"])
    return said


def _draft_of(text):
    try:
        return json.loads(text).get("model")
    except (ValueError, AttributeError):
        return None


def number(text):
    """A setting as a whole number, None where it is none (`128K` is 131072)."""
    try:
        word = str(text).strip().lower()
        return int(float(word[:-1]) * 1024) if word.endswith("k") else int(word)
    except ValueError:
        return None


def engine_of(argv):
    """The engine whose front process this command line would be, or None."""
    met = matching.match("", list(argv), matching.patterns(defaults()))
    return met[2] if met else None


def ranks(said):
    """How many workers there must be on this machine by tp, pp and nodes, or None where the command line is silent."""
    sizes = [number(said[name]) for name in ("tp", "pp") if said.get(name)]
    if not sizes or None in sizes:
        return None
    whole = sizes[0] * (sizes[1] if len(sizes) > 1 else 1)
    return max(1, whole // (number(said.get("nodes") or 1) or 1))
