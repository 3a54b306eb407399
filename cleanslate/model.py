"""Plain data that every room shares: sources with their place, inventory, playbook, results, events.

Nothing here reaches outside or decides anything. The one rule that lives here is trust: **text is a
template only if it is a `SourceText`**, that is, it was read from the repository (playbooks, roles,
templates, inventory, variable files, `-e`). What a host answered is plain `str` and is never rendered.
Every operation on a `SourceText` (slicing, joining, formatting) gives plain `str`, so trust is lost
unless somebody grants it again on purpose.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import Enum
from pathlib import Path
from typing import Any

from cleanslate.dataclass import dataclass
from cleanslate.errors import Origin, Problem

# --------------------------------------------------------------------------- sources


class SourceText(str):
    """Text from the repository: it may be a template, and it knows its place (of its first character)."""

    origin: Origin | None

    def __new__(cls, text: str, origin: Origin | None = None) -> SourceText:
        """Mark `text` as trusted and placed at `origin`."""
        made = super().__new__(cls, text)
        made.origin = origin
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        """Keep the place through copy and pickle."""
        return (str(self), self.origin)


class SourceMap(dict[Any, Any]):
    """A mapping from a source file; it knows its own place, and those of its keys and values."""

    def __init__(self, items: Any = (), origin: Origin | None = None) -> None:
        super().__init__(items)
        self.origin = origin
        self.key_origins: dict[Any, Origin] = {}
        self.value_origins: dict[Any, Origin] = {}

    def key_origin(self, key: Any) -> Origin | None:
        """Where the key stands; the mapping's own place if that is not known."""
        return self.key_origins.get(key, self.origin)

    def value_origin(self, key: Any) -> Origin | None:
        """Where the key's value starts; the key's place if that is not known."""
        return self.value_origins.get(key) or self.key_origin(key)


class SourceList(list[Any]):
    """A sequence from a source file; it knows its own place and those of its items."""

    def __init__(self, items: Any = (), origin: Origin | None = None) -> None:
        super().__init__(items)
        self.origin = origin
        self.item_origins: list[Origin | None] = [None] * len(self)

    def item_origin(self, index: int) -> Origin | None:
        """Where an item starts; the sequence's own place if that is not known."""
        return (self.item_origins[index] if index < len(self.item_origins) else None) or self.origin


def origin_of(value: Any) -> Origin | None:
    """The place of a value that came from a source file, else None."""
    return getattr(value, "origin", None)


# --------------------------------------------------------------------------- inventory


@dataclass
class Host:
    """A host of the inventory: its direct groups, and the variables that inventory sources gave it.

    `shadowed` holds definitions that a later source replaced, oldest first (people ask where a value went).
    `source` is the file that named the host first; None for a host list (`-i a,b,`) or one added in a run.
    """

    name: str
    groups: list[str] = field(default_factory=list)
    vars: SourceMap = field(default_factory=SourceMap)
    shadowed: list[SourceMap] = field(default_factory=list)
    source: Path | None = None


@dataclass
class Group:
    """A group of the inventory. `depth` is the longest path from `all` (0); `priority` is ansible_group_priority."""

    name: str
    hosts: list[str] = field(default_factory=list)
    children: list[str] = field(default_factory=list)
    parents: list[str] = field(default_factory=list)
    vars: SourceMap = field(default_factory=SourceMap)
    shadowed: list[SourceMap] = field(default_factory=list)
    priority: int = 1
    depth: int = 0


@dataclass
class Inventory:
    """All hosts and groups, in the order in which the sources named them. `all` and `ungrouped` always exist.

    `sources` are the files and folders as given; `files` is everything that was read for them, group_vars and
    host_vars too. `warnings` are mistakes that do not refuse the inventory.
    """

    hosts: dict[str, Host] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    sources: list[Path] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    cache: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)  # the inventory room's own


# --------------------------------------------------------------------------- playbook


@dataclass(frozen=True)
class Keywords:
    """What may stand beside a step type, already inherited: a block's and a play's are merged in.

    None means "not set". Conditions and templated values are kept as written (SourceText, bool, number);
    the runner evaluates them for each host. `when`, `changed_when`, `failed_when` and `until` are tuples
    whose parts must all hold; inherited `when` parts come first. `vars` are layers, outermost first;
    so are `environment` and `module_defaults`.
    """

    when: tuple[Any, ...] = ()
    loop: Any = None
    loop_with: str | None = None  # "items" for with_items, None for loop:
    loop_control: SourceMap | None = None
    register: str | None = None
    until: tuple[Any, ...] = ()
    retries: Any = None
    delay: Any = None
    changed_when: tuple[Any, ...] | None = None
    failed_when: tuple[Any, ...] | None = None
    ignore_errors: Any = None
    ignore_unreachable: Any = None
    delegate_to: Any = None
    delegate_facts: Any = None
    run_once: Any = None
    become: Any = None
    become_user: Any = None
    become_method: Any = None
    become_flags: Any = None
    remote_user: Any = None
    connection: Any = None
    port: Any = None
    environment: tuple[Any, ...] = ()
    module_defaults: tuple[Any, ...] = ()
    tags: tuple[str, ...] = ()
    vars: tuple[SourceMap, ...] = ()
    notify: tuple[Any, ...] = ()
    listen: tuple[str, ...] = ()
    no_log: Any = None
    timeout: Any = None
    check_mode: Any = None
    diff: Any = None
    throttle: Any = None
    any_errors_fatal: Any = None
    async_seconds: Any = None
    poll: Any = None


@dataclass(eq=False)
class Role:
    """One use of a role in a play: its files' content and the parameters it was given."""

    name: str
    path: Path
    defaults: SourceMap = field(default_factory=SourceMap)
    vars: SourceMap = field(default_factory=SourceMap)
    params: SourceMap = field(default_factory=SourceMap)
    parents: tuple[Role, ...] = ()
    tasks: tuple[Node, ...] = ()
    handlers: tuple[Node, ...] = ()
    dependencies: tuple[Role, ...] = ()
    allow_duplicates: bool = False
    public: bool = True  # its vars and defaults are seen by the play's later steps
    argument_specs: SourceMap | None = None
    keywords: Keywords = field(default_factory=Keywords)
    origin: Origin | None = None
    tasks_from: str = "main"  # also the entry point of the argument_specs that counts
    collections: tuple[str, ...] = ()  # where its short names of modules are looked for first


@dataclass(eq=False)
class Step:
    """One entry under `tasks:`. `type` is the canonical name; `args` is unrendered and in long form.

    `args` maps argument name to its value as written. Free-form text (`command: echo hi`) is stored under
    the step type's free-form argument; `key=value` text is already split. A template that stands for all
    arguments (`args: "{{ x }}"`) is stored under the key `"**"` and merged after rendering.
    """

    type: str
    args: SourceMap
    keywords: Keywords
    origin: Origin
    name: SourceText | None = None
    role: Role | None = None
    inherit: Keywords = field(default_factory=Keywords)
    """What stands around the step (block, role, play) without its own keywords: what an include's steps take over."""
    # What an import stood for, found at load: the imported nodes replace it, so runners never see imports.

    @property
    def title(self) -> str:
        """What people read before templates are rendered: the name, or the step type."""
        return str(self.name) if self.name else self.type


@dataclass(eq=False)
class Block:
    """Steps that stand or fall together. Keywords are already inherited by the steps inside."""

    block: tuple[Node, ...]
    rescue: tuple[Node, ...]
    always: tuple[Node, ...]
    keywords: Keywords
    origin: Origin
    name: SourceText | None = None
    role: Role | None = None


Node = Step | Block


@dataclass(eq=False)
class Play:
    """One play, with roles read and imports resolved. `hosts` is the pattern as written (may be a template)."""

    name: SourceText | None
    hosts: Any
    origin: Origin
    playbook: Path
    vars: SourceMap = field(default_factory=SourceMap)
    vars_files: tuple[Any, ...] = ()
    vars_prompt: tuple[SourceMap, ...] = ()
    gather_facts: Any = None  # None: gather when something in the play may need facts (Ansible: always)
    gather_subset: Any = None
    roles: tuple[Role, ...] = ()
    imported_roles: tuple[Role, ...] = ()  # by import_role, in the order written; their steps stand among the others
    pre_tasks: tuple[Node, ...] = ()
    tasks: tuple[Node, ...] = ()
    post_tasks: tuple[Node, ...] = ()
    handlers: tuple[Node, ...] = ()
    serial: Any = None
    strategy: str = "linear"
    order: str | None = None
    max_fail_percentage: Any = None
    any_errors_fatal: Any = None
    force_handlers: Any = None
    lease: Any = None
    collections: tuple[str, ...] = ()  # where short names of modules are looked for first, outside roles
    keywords: Keywords = field(default_factory=Keywords)


@dataclass(eq=False)
class Playbook:
    """A playbook file with everything it imports, and each file that took part (for digests in the record)."""

    path: Path
    plays: tuple[Play, ...]
    files: tuple[Path, ...] = ()


def walk(nodes: tuple[Node, ...]) -> Iterator[Step]:
    """Every step below `nodes`, in the order they are written."""
    for node in nodes:
        if isinstance(node, Step):
            yield node
        else:
            yield from walk(node.block)
            yield from walk(node.rescue)
            yield from walk(node.always)


# --------------------------------------------------------------------------- results and events


class Status(str, Enum):
    """What became of a step on a host. `UNKNOWN`: check mode could not foretell it, or a call's outcome was lost."""

    OK = "ok"
    CHANGED = "changed"
    UNKNOWN = "unknown"
    SKIPPED = "skipped"
    FAILED = "failed"
    UNREACHABLE = "unreachable"


@dataclass
class Diff:
    """A change as text before and after; `header` names the thing (a path, a server). None: it did not exist."""

    header: str
    before: str | None
    after: str | None


@dataclass
class Result:
    """What a step gave on one host. `data` has Ansible's fields and is what `register` keeps."""

    status: Status
    data: dict[str, Any] = field(default_factory=dict)
    diffs: list[Diff] = field(default_factory=list)
    seconds: float = 0.0
    exit_code: int = 2  # the process's exit code should this failure end the run
    fix: str | None = None  # what to do, for people

    @property
    def failed(self) -> bool:
        """True for failed and unreachable."""
        return self.status in (Status.FAILED, Status.UNREACHABLE)


@dataclass(frozen=True)
class Answer:
    """What a call on a target gave: named values (JSON types), and bytes where the call returns bytes."""

    values: Mapping[str, Any]
    blob: bytes = b""

    def __getitem__(self, key: str) -> Any:
        """Give a named value."""
        return self.values[key]

    def get(self, key: str, default: Any = None) -> Any:
        """Give a named value, or the default."""
        return self.values.get(key, default)


@dataclass(frozen=True)
class Event:
    """Something that happened in a run: a dotted fact with its keys (docs/events.md lists them all).

    `at` is seconds since the epoch. `data` holds only JSON types, and secrets are already redacted.
    `line` is the event as a line of JSON in UTF-8 with its newline, where that is known already; see `event_line`.
    """

    kind: str
    data: Mapping[str, Any]
    at: float = field(default_factory=time.time)
    line: bytes = field(default=b"", compare=False, repr=False)


def event_line(event: Event) -> bytes:
    """The event as a line of JSON in UTF-8, with its newline; what is no Unicode is written as an escape."""
    if event.line:
        return event.line
    text = _json({"at": round(event.at, 4), "kind": event.kind, **event.data})
    return text.encode("utf-8", "backslashreplace") + b"\n"


_json = json.JSONEncoder(ensure_ascii=False, check_circular=False, default=str, separators=(",", ":")).encode
