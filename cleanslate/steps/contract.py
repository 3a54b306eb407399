"""What a step type is: a frozen argument model and one generator that reads first, then yields changes.

    class Arguments(StepArguments):
        path: PathText
        '''The file to remove.'''

    def behave(args: Arguments, context: StepContext) -> Behaviour:
        before = context.read("files.stat", path=args.path)
        if before["exists"]:
            yield Change(f"remove {args.path}", "files.remove", {"path": args.path}, predicted={})
        return Outcome({"path": args.path, "state": "absent"})

    STEP = StepType(name="remove", arguments=Arguments, behave=behave, summary="...", example="...")

The runner applies a change by making its call and sends the answer back into the generator; in check mode it
sends back `predicted` and makes no call. So one body serves check and apply, and no step asks which it is. A
change with `predicted=None` cannot be foretold: check mode stops the generator there and reports `unknown`.

A step type touches a target in no other way than `context.read` (calls that the agent itself knows to be
read-only: anything else is refused there) and by yielding a `Change`. It knows nothing of fabric, threads,
the console, or the playbook's files beyond `context.find_file`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Protocol, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict

from cleanslate.model import Answer, Diff

# --------------------------------------------------------------------------- arguments


class StepArguments(BaseModel):
    """The arguments of a step type, after rendering. Unknown keys are refused; every field has a docstring."""

    # The model is built when it is first used, and its docstrings are read when somebody asks (`with_descriptions`):
    # most runs use few step types, and none of their documentation.
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)


def with_descriptions(arguments: type[StepArguments]) -> type[StepArguments]:
    """The same model, its fields described by the docstrings that stand below them in the source."""
    import ast
    import inspect
    import textwrap

    for model in reversed(arguments.__mro__):
        if not issubclass(model, StepArguments) or model is StepArguments:
            continue
        body = cast("ast.ClassDef", ast.parse(textwrap.dedent(inspect.getsource(model))).body[0]).body
        for line, below in itertools.pairwise(body):
            said = below.value if isinstance(below, ast.Expr) else None
            if isinstance(line, ast.AnnAssign) and isinstance(said, ast.Constant) and isinstance(said.value, str):
                name = cast("ast.Name", line.target).id
                if name in arguments.model_fields:
                    arguments.model_fields[name].description = inspect.cleandoc(said.value)
    arguments.model_rebuild(force=True)
    return arguments


def as_flag(value: Any) -> Any:
    """Take what Ansible takes for a boolean, in any case; give anything else back as it is."""
    if isinstance(value, str):
        word = value.strip().lower()
        if word in ("yes", "on", "1", "true", "t", "y", "1.0"):
            return True
        if word in ("no", "off", "0", "false", "f", "n", "0.0"):
            return False
    return value


def _text(value: Any) -> Any:
    """Take numbers and booleans as text, the way they read (True, 5), since YAML has no quotes to remember."""
    return str(value) if isinstance(value, bool | int | float) else value


def _mode(value: Any) -> Any:
    """Take an octal number or text (`0644`, `"0644"`, `u=rw,g=r`); give text. YAML's 0644 arrives as 420."""
    if isinstance(value, bool):
        return value
    return f"{value:04o}" if isinstance(value, int) else value


def _words(value: Any) -> Any:
    """Take one text, separated by commas, for a list of texts."""
    if isinstance(value, str):
        return [word.strip() for word in value.split(",")]
    return [value] if isinstance(value, int | float) else value


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(value: Any) -> float:
    """Give the seconds that `30`, `"30"`, `"20s"`, `"1h30m"`, `"250ms"` mean; ValueError otherwise."""
    import re

    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    text = str(value).strip().lower()
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)", text)
    if not parts or re.sub(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)|\s", "", text):
        raise ValueError(f'"{value}" is not a duration; write seconds, or 20s, 5m, 1h30m')
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


Flag = Annotated[bool, BeforeValidator(as_flag)]
"""yes/no in any of Ansible's spellings."""
Text = Annotated[str, BeforeValidator(_text)]
"""Text; numbers and booleans are taken as they read."""
PathText = Annotated[str, BeforeValidator(_text)]
"""A path on the target; `~` and environment variables are expanded there."""
Mode = Annotated[str, BeforeValidator(_mode)]
"""A file mode: octal, or symbolic as chmod takes it, or `preserve` where the step says so."""
Words = Annotated[list[Text], BeforeValidator(_words)]
"""A list of texts; one text with commas is split."""
Seconds = Annotated[float, BeforeValidator(seconds)]
"""A duration: a number of seconds, or text with units (20s, 5m, 1h30m)."""


# --------------------------------------------------------------------------- behaviour


@dataclass(frozen=True)
class Change:
    """One change of the world, made by one call on the target.

    `summary` is what people read (`write /etc/x`); `call` and `arguments` are the agent's call; `blob` is bytes
    or a local file to send along; `predicted` is the answer that check mode gives (None: it cannot be
    foretold); `diffs` is what `--diff` shows, known before the change; `alters=False` marks a call that must
    not run in check mode and yet does not make the step "changed" (its answer decides, see `Outcome.changed`).
    `save` is a controller's file that gets the answer's bytes, whole or not at all. `unforetold` are result fields that
    check mode gives, beside `skipped`, when the change cannot be foretold (a command's `rc: 0`, as Ansible does).
    With `plain`, a target without Python is asked over a plain channel instead; an empty `call` always is.
    """

    summary: str
    call: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    predicted: Mapping[str, Any] | None = None
    diffs: Sequence[Diff] = ()
    blob: bytes | Path | None = None
    deadline: float | None = None  # seconds for this call; None: the step's own
    alters: bool = True
    save: Path | None = None
    unforetold: Mapping[str, Any] = field(default_factory=dict)
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

    def read(
        self,
        call: str,
        /,
        *,
        within: float | None = None,
        blob: bytes | None = None,
        on_progress: Callable[[Mapping[str, Any]], None] | None = None,
        **arguments: Any,
    ) -> Answer:
        """Make a read-only call on the target, in check mode too.

        `within` bounds it in seconds (the step's deadline otherwise). Raises a TargetError.
        """

    def progress(self, text: str, **facts: Any) -> None:
        """Tell people what is happening now; numbers go into `facts` (JSON types)."""

    def warn(self, text: str) -> None:
        """Add a warning to the step's result, shown and recorded."""

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


@dataclass(frozen=True)
class StepType:
    """A step type as the registry knows it; `STEP` in its file.

    name: the canonical name (`copy`, `stop_server`). summary: one sentence. notes: further documentation, in Markdown.
    example: a YAML list of tasks that really runs, given a folder `workdir` on the target; the contract test runs it.
    returns: result field -> what it holds. free_form: the argument that free text goes to (`command: echo hi`).
    unrendered: arguments that are kept as written and evaluated by the step itself (assert's `that`).
    Rules on keys, checked before a host is touched: exclusive (at most one of), one_of (exactly one of),
    any_of (at least one of), together (all or none).
    on_target False: it runs on the controller only (debug, set_fact), and needs no connection.
    repeatable False: a second apply may change again by design (command, shell). foretells False: check mode
    reports unknown for its changes. ansible_name: the collection that it shares its name with, so that the
    full name works too (`ansible.builtin`); None for our own.
    observes True: it asserts or waits for the state of the world; in check mode, once earlier steps have foretold
    changes on the same host, it is not run and reported as unknown. once True: it runs once for all hosts that reach it
    together (pause, add_host), as in Ansible.
    only_reads True: it can change nothing on its target, so a run needs no lease for it.
    check, if given, looks at the literal arguments before a host is touched and yields mistakes as
    (argument name, what, fix).
    """

    name: str
    arguments: type[StepArguments]
    behave: Callable[[Any, StepContext], Behaviour]
    summary: str
    example: str
    returns: Mapping[str, str] = field(default_factory=dict)
    notes: str = ""
    free_form: str | None = None
    unrendered: Sequence[str] = ()
    exclusive: Sequence[Sequence[str]] = ()
    one_of: Sequence[Sequence[str]] = ()
    any_of: Sequence[Sequence[str]] = ()
    together: Sequence[Sequence[str]] = ()
    on_target: bool = True
    repeatable: bool = True
    foretells: bool = True
    observes: bool = False
    only_reads: bool = False
    once: bool = False
    ansible_name: str | None = "ansible.builtin"
    aliases: Sequence[str] = ()
    check: Callable[[Mapping[str, Any]], Sequence[tuple[str, str, str | None]]] | None = None
