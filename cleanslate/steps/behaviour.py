"""What a step type yields, ends with and may ask for: plain data, without the argument models."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Protocol

from cleanslate.dataclass import dataclass
from cleanslate.model import Answer, Diff


@dataclass(frozen=True)
class Change:
    """One change of the world, made by one call on the target.

    `summary` is what people read (`write /etc/x`); `call` and `arguments` are the agent's call; `blob` is bytes
    or a local file to send along; `predicted` is the answer that check mode gives (None: it cannot be
    foretold); `diffs` is what `--diff` shows, known before the change; `alters=False` marks a call that must
    not run in check mode and yet does not make the step "changed" (its answer decides, see `Outcome.changed`).
    `save` is a controller's file that gets the answer's bytes, whole or not at all. `unforetold` are result fields that
    check mode gives, beside `skipped`, when the change cannot be foretold (a command's `rc: 0`, as Ansible does).
    `predicted` may be a function, asked in check mode only: it looks at the target, and gives the answer or None.
    `parts` (digest -> bytes) are what the call needs on the target and what is sent there once in a run.
    With `plain`, a target without Python is asked over a plain channel instead; an empty `call` always is.
    """

    summary: str
    call: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    predicted: Mapping[str, Any] | Callable[[], Mapping[str, Any] | None] | None = None
    diffs: Sequence[Diff] = ()
    blob: bytes | Path | None = None
    deadline: float | None = None  # seconds for this call; None: the step's own
    alters: bool = True
    save: Path | None = None
    unforetold: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, bytes] = field(default_factory=dict)
    plain: str | None = None  # a command line that does the same in the login shell, where there is no Python


@dataclass(frozen=True)
class Outcome:
    """What a step ends with. `data` are Ansible's result fields.

    `changed` None means: whether a change with `alters` was yielded. `facts` become `ansible_facts` and
    variables of the host. `skipped` means nothing had to be done (as Ansible's `skipped: true`). `flow` asks the
    runner for something that only it can do (see the classes below). `diffs` adds to those of the changes.
    """

    data: Mapping[str, Any] = field(default_factory=dict)
    changed: bool | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    skipped: bool = False
    failed: bool = False
    flow: Flow | None = None
    diffs: Sequence[Diff] = ()


Behaviour = Generator[Change, Answer, Outcome]


@dataclass(frozen=True)
class SetFacts:
    """set_fact, include_vars: variables of the host from here on. `layer` is `facts` or `include_vars`."""

    variables: Mapping[str, Any]
    layer: str = "facts"
    cacheable: bool = False


@dataclass(frozen=True)
class AddHost:
    """add_host, group_by: a host for later plays (and `hostvars`), with groups and variables."""

    name: str
    groups: Sequence[str] = ()
    parents: Sequence[str] = ()
    variables: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class IncludeTasks:
    """include_tasks: run the steps of a file here. `file` is as written, after rendering."""

    file: str
    apply: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class IncludeRole:
    """include_role: run a role's steps here."""

    name: str
    tasks_from: str = "main"
    vars_from: str = "main"
    defaults_from: str = "main"
    handlers_from: str = "main"
    allow_duplicates: bool = True
    public: bool = False
    validate: bool = True
    apply: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Meta:
    """meta: `flush_handlers`, `end_play`, `end_host`, `end_batch`, `end_role`, `clear_facts`, `clear_host_errors`,
    `noop`, `refresh_inventory`, `reset_connection`.
    """

    action: str


Flow = SetFacts | AddHost | IncludeTasks | IncludeRole | Meta


class StepContext(Protocol):
    """What a step type may ask of the runner. One context serves one step on one host (one loop item)."""

    host: str
    """The inventory name of the host that the step is for (not of the delegate)."""
    variables: Mapping[str, Any]
    """The host's variables, rendered when asked for."""
    environment: Mapping[str, str]
    """The step's merged `environment:`; commands get it on top of the target's own."""
    deadline: float
    """Seconds that the step may take in all (its `timeout:`, or the default)."""
    verbosity: int
    """How many `-v`."""
    foretold: Collection[str]
    """In check mode, the types of the steps before this one that were foretold to change the host; else empty."""
    diff: bool
    """Whether what changes is to be shown (`--diff`, or the step's own word)."""
    no_log: bool
    """Whether nothing of the step may be logged, on the target neither."""

    def read(
        self,
        call: str,
        /,
        *,
        within: float | None = None,
        blob: bytes | None = None,
        on_progress: Callable[[Mapping[str, Any]], None] | None = None,
        parts: Mapping[str, bytes] | None = None,
        **arguments: Any,
    ) -> Answer:
        """Make a read-only call on the target, in check mode too.

        `within` bounds it in seconds (the step's deadline otherwise); `parts` as in Change. Raises a TargetError.
        """

    def progress(self, text: str, **facts: Any) -> None:
        """Tell people what is happening now; numbers go into `facts` (JSON types)."""

    def warn(self, text: str) -> None:
        """Add a warning to the step's result, shown and recorded."""

    def keep(self, name: str, text: str) -> None:
        """Have the run's record keep a text too long to show (stacks, the end of a log) as a file of this name."""

    def render(self, value: Any, extra: Mapping[str, Any] | None = None) -> Any:
        """Render templates in a value that came from the repository; `extra` adds variables."""

    def render_template(self, path: Path, options: Mapping[str, Any], extra: Mapping[str, Any] | None = None) -> str:
        """Render a controller's template file with the host's variables; `extra` adds some.

        `options` are the fields of render's TemplateOptions that differ from the default (`trim_blocks`, ...).
        """

    def evaluate(self, condition: Any, extra: Mapping[str, Any] | None = None) -> bool:
        """Evaluate a condition as `when:` does."""

    def expression(self, text: str, extra: Mapping[str, Any] | None = None) -> Any:
        """Evaluate a bare expression, as debug's `var` does."""

    def load_variables(self, path: Path) -> Any:
        """Read a YAML file of the repository (decrypting it if it is a vault)."""

    def sleep(self, seconds: float) -> None:
        """Wait on the controller; a run that is being stopped does not."""

    def find_file(self, name: str, folder: str) -> Path:
        """Find a controller's file as Ansible does: the role's `folder` (files, templates, vars, tasks), the role,
        the including file's folder, the playbook's `folder`, the playbook's own. Raises StepFailed, naming all places.
        """

    def earlier_result(
        self, run: str, step: str | None = None, host: str | None = None
    ) -> tuple[str, Mapping[str, Any]] | None:
        """What a step gave in an earlier run, as (the run's id, its result fields), or None where there is no such.

        `run` is a reference as `inv show` takes it; `last` and `last-good` mean the newest run that has the result.
        The step of this one's name and type, and this host, are meant where none is named. Raises StepFailed where
        there is no such run.
        """

    def decrypt(self, envelope: str) -> str:
        """The plain text of a vault envelope (`$ANSIBLE_VAULT;...`); InputError where no key opens it."""

    def secret(self, text: str) -> None:
        """Redact this text from now on, wherever it would be shown or written."""

    def ask(self, prompt: str, *, echo: bool = True, seconds: float | None = None) -> str:
        """Ask the person at the terminal; the empty text when there is none or the seconds ran out."""
