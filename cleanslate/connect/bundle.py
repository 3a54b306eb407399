"""What is sent to a target so that it can answer a call: the call's modules and everything they import of ours.

Modules go as source, which every Python reads, or as marshalled code once the target has said that its Python is of
the controller's version: pynvml alone would take it a tenth of a second to compile.
"""

from __future__ import annotations

import functools
import importlib.machinery
import importlib.util
import marshal
import re
import threading
import zlib
from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from types import CodeType
from typing import NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

_FOLDERS = [Path(__file__).parent.parent / "remote"]  # where modules of calls are
_PREFIX = "cleanslate.remote"
_PACKAGES = {"cleanslate": "", _PREFIX: ""}
_OUTSIDE = frozenset({"pynvml"})  # sent along when imported; everything else must be the target's standard library

MAGIC = importlib.util.MAGIC_NUMBER.hex()
"""What a Python says in its hello when it can run this one's code."""


_AT_ONCE = threading.RLock()  # fifty hosts that begin together work these out once, and not each for itself


def once(function: Callable[[K], T]) -> Callable[[K], T]:
    """Like functools.cache, and whoever asks while the answer is being worked out waits for it."""
    known: dict[K, T] = {}

    @functools.wraps(function)
    def ask(name: K) -> T:
        if name not in known:
            with _AT_ONCE:
                if name not in known:
                    known[name] = function(name)
        return known[name]

    return ask


@once
def closure(module: str) -> tuple[str, ...]:
    """Every module that the calls of `module` (`files`) need, itself included, by full name."""
    found: dict[str, None] = {}
    waiting = [f"{_PREFIX}.{module}"]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = None
            waiting.extend(_imports(name))
    return tuple(found)


def also(folder: Path) -> None:
    """Look for modules of calls in this folder too: a repository's own."""
    if folder not in _FOLDERS:
        _FOLDERS.append(folder)


def is_ours(module: str) -> bool:
    """Whether we have a module of that name ourselves."""
    return (_FOLDERS[0] / f"{module}.py").is_file()


def has(module: str) -> bool:
    """Whether there is such a module of calls."""
    return _find(module) is not None


class Start(NamedTuple):
    """What an agent is started with: the text for the starter, whose size it is told, and what that text reads."""

    first: bytes
    rest: bytes


def start_text(modules: Iterable[str], *, forms: str) -> Start:
    """The agent with `modules`; the word after the starter on its command line, and `up`, are what it says then.

    `forms`: `source`, which every Python compiles for itself (20 ms of its processor); `code` for a Python that is
    surely ours; `both` for one that may be, and is near: its answer takes longer than the code, which is twice as long.
    """
    return _start_text((tuple(dict.fromkeys([*closure("agent"), *modules])), forms))


@once  # compressing it takes longer than everything else that the controller does to start an agent
def _start_text(asked: tuple[tuple[str, ...], str]) -> Start:
    names, forms = asked
    parts: list[bytes] = []
    for form, made in (("code", _code), ("source", _source)):
        if forms in (form, "both"):
            sources = {**_PACKAGES, **{name: made(name) for name in names}}
            parts.append(zlib.compress(marshal.dumps(sources, 2), 6))  # of a format that every Python 3 reads
    ours = f"sys.modules['_frozen_importlib_external'].MAGIC_NUMBER.hex() == {MAGIC!r}"
    chosen = f"0 if {ours} else 1" if forms == "both" else "0"
    text = (
        f"{_source(f'{_PREFIX}.loader')}\n"
        f"import marshal\n"
        f"PARTS = [i.read(size) for size in {[len(part) for part in parts]}]\n"
        f"SOURCES = marshal.loads(zlib.decompress(PARTS[{chosen}]))\n"
        f"sys.meta_path.insert(0, Loader(SOURCES))\n"
        f"from {_PREFIX}.agent import main\n"
        "main(i, SOURCES, (sys.argv[1] + ' up\\n').encode())\n"
    )
    return Start(zlib.compress(text.encode(), 6), b"".join(parts))


def parcel(modules: Iterable[str], *, as_code: bool) -> tuple[dict[str, tuple[int, bool]], bytes]:
    """The header {name: (size, is code)} and the compressed bytes of further modules."""
    return _parcel((tuple(modules), as_code))


@once
def _parcel(asked: tuple[tuple[str, ...], bool]) -> tuple[dict[str, tuple[int, bool]], bytes]:
    modules, as_code = asked
    parts = {name: _code(name) if as_code else _source(name).encode() for name in modules}
    return {name: (len(part), as_code) for name, part in parts.items()}, zlib.compress(b"".join(parts.values()), 6)


def sent_at_start(modules: Iterable[str]) -> set[str]:
    """The full names that `start_text` sends."""
    return {*_PACKAGES, *closure("agent"), *modules}


def _find(module: str) -> Path | None:
    return next((file for folder in _FOLDERS if (file := folder / f"{module}.py").is_file()), None)


@once
def _source(name: str) -> str:
    if name in _OUTSIDE:
        spec = importlib.util.find_spec(name)
        assert spec is not None and spec.origin is not None, f"{name} is not installed beside us"
        return Path(spec.origin).read_text(encoding="utf-8")
    file = _find(name.removeprefix(f"{_PREFIX}."))
    assert file is not None, f"there is no module {name}"
    return file.read_text(encoding="utf-8")


@once
def _code(name: str) -> bytes:
    if name in _PACKAGES:
        return marshal.dumps(compile("", name, "exec"))
    file = _find(name.removeprefix(f"{_PREFIX}."))
    shown = name.replace(".", "/") + ".py"
    if file is None:
        return marshal.dumps(compile(_source(name), shown, "exec", dont_inherit=True))
    kept = importlib.machinery.SourceFileLoader(name, str(file)).get_code(name)  # from __pycache__, where it is fresh
    assert kept is not None
    return marshal.dumps(_shown_as(kept, shown))


def _shown_as(code: CodeType, file: str) -> CodeType:
    """The same code with another file's name in its tracebacks: on a target there is no such path as here."""
    inner = tuple(_shown_as(one, file) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.replace(co_filename=file, co_consts=inner)


# A line that imports something of ours, or what we send: reading it takes a hundredth of what parsing takes.
_IMPORT = re.compile(
    rf"^[ \t]*(?:from {re.escape(_PREFIX)} import (?P<names>\([^)]*\)|[^\n]*)"
    rf"|from (?P<module>[\w.]+) import|import (?P<whole>[\w., ]+))",
    re.M,
)


def _imports(name: str) -> list[str]:
    """Which of our modules, and of those from outside that we send, a module imports, wherever in it."""
    if name in _OUTSIDE:
        return []
    found: list[str] = []
    for line in _IMPORT.finditer(_source(name)):
        if line["names"]:
            names = re.sub(r"#[^\n]*", "", line["names"]).strip("()")
            found += [f"{_PREFIX}.{one.split()[0]}" for one in names.split(",") if one.strip()]
        elif line["module"]:
            found.append(line["module"])
        else:
            found += [one.split()[0] for one in line["whole"].split(",") if one.strip()]
    return [
        each for each in found if each in _OUTSIDE or (each.startswith(f"{_PREFIX}.") and has(each.rpartition(".")[2]))
    ]
