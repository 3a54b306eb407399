"""Whether a process is an engine's: by its title, its program or the module it runs, never by other arguments."""

import re

from cleanslate.remote.engines import ENGINES

_PYTHON = re.compile(r"(python|pypy)[0-9.]*[a-z]*$")
KINDS = ("titles", "modules", "commands", "scripts")


def patterns(engines, extra=None):
    """The united patterns of the named engines, as [(kind, text, engine)]; `extra` is {kind: [texts]} of the user."""
    found = [(kind, text, name) for name in engines for kind in KINDS for text in ENGINES[name][kind]]
    found += [(kind, text, "named") for kind in KINDS for text in (extra or {}).get(kind) or ()]
    return found


def front_texts(engines):
    """The patterns' texts that mark the front process of these engines."""
    return {text for name in engines for text in ENGINES[name]["fronts"]}


def match(comm, argv, wanted):
    """The first pattern of `wanted` that a process answers to, as (kind, text, engine), else None."""
    program = _program(argv)
    for kind, text, engine in wanted:
        if _answers(kind, text, comm, argv, program):
            return (kind, text, engine)
    return None


def _answers(kind, text, comm, argv, program):
    if kind == "titles":
        # A title is the whole of argv[0]; comm is the same, cut to 15 characters by the kernel.
        return bool(argv and argv[0].startswith(text)) or comm.startswith(text[:15])
    if kind == "modules":
        return program["module"].startswith(text)
    if kind == "scripts":
        return program["script"].endswith("/" + text) or program["script"] == text
    name, _, subcommand = text.partition(" ")
    if name not in program["names"]:
        return False
    return not subcommand or program["subcommand"] == subcommand


def _program(argv):
    """What is run: {names: of argv[0] and of the script Python runs, module, script, subcommand}."""
    if not argv:
        return {"names": (), "module": "", "script": "", "subcommand": ""}
    name = _base(argv[0])
    if not _PYTHON.match(name):
        return {"names": (name,), "module": "", "script": "", "subcommand": _first_word(argv[1:])}
    module, script, rest = _python(argv[1:])
    names = (_base(script),) if script else ()
    return {"names": names, "module": module, "script": script, "subcommand": _first_word(rest)}


def _python(arguments):
    """Read a Python command line up to what it runs: (module, script, the arguments that follow)."""
    position = 0
    while position < len(arguments):
        word = arguments[position]
        position += 1
        if not word.startswith("-") or word == "-":
            return "", word, arguments[position:]
        if word.startswith("--"):
            position += word == "--check-hash-based-pycs"
            continue
        letter, value = _deciding_letter(word[1:])
        if letter and not value:
            value = arguments[position] if position < len(arguments) else ""
            position += 1
        if letter == "m":
            return value, "", arguments[position:]
        if letter == "c":
            return "", "", []
    return "", "", []


def _deciding_letter(letters):
    """Of `-uBm`, the letter that takes a value and what is glued to it: ("m", "")."""
    for place, letter in enumerate(letters):
        if letter in "mcWX":
            return letter, letters[place + 1 :]
    return "", ""


def _first_word(arguments):
    return arguments[0] if arguments else ""


def _base(path):
    return path.rsplit("/", 1)[-1]
