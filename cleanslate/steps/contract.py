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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any, cast

from cleanslate.dataclass import dataclass
from cleanslate.steps._arguments import WrongArguments, accept, known_fields
from cleanslate.steps._taking import takes_any
from cleanslate.steps.behaviour import (
    AddHost,
    Behaviour,
    Change,
    Flow,
    IncludeRole,
    IncludeTasks,
    Meta,
    Outcome,
    SetFacts,
    StepContext,
)
from cleanslate.steps.spellings import as_flag, as_mode, as_text, as_words, seconds

__all__ = [
    "AddHost", "AfterValidator", "AliasChoices", "BeforeValidator", "Behaviour", "Change", "ConfigDict", "Field",
    "Flag", "Flow", "IncludeRole", "IncludeTasks", "Meta", "Mode", "Option", "Outcome", "PathText", "Seconds",
    "SetFacts", "StepArguments", "StepContext", "StepType", "Text", "Words", "WrongArguments", "accept", "as_flag",
    "field_validator", "known_fields", "model_validator", "seconds", "takes_any",
    "with_descriptions",
]  # fmt: skip

# --------------------------------------------------------------------------- arguments

if TYPE_CHECKING:
    from pydantic import (
        AfterValidator,
        AliasChoices,
        BaseModel,
        BeforeValidator,
        ConfigDict,
        Field,
        field_validator,
        model_validator,
    )

    class StepArguments(BaseModel):
        """The arguments of a step type, after rendering. Unknown keys are refused; every field has a docstring."""

        model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)

else:
    # The same names without pydantic, which is imported once there is something to do for it.
    from cleanslate.steps._arguments import StepArguments
    from cleanslate.steps._later import (
        AfterValidator,
        AliasChoices,
        BeforeValidator,
        Field,
        field_validator,
        model_validator,
    )

    ConfigDict = dict


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


Flag = Annotated[bool, BeforeValidator(as_flag)]
"""yes/no in any of Ansible's spellings."""
Text = Annotated[str, BeforeValidator(as_text)]
"""Text; numbers and booleans are taken as they read."""
PathText = Annotated[str, BeforeValidator(as_text)]
"""A path on the target; `~` and environment variables are expanded there."""
Mode = Annotated[str, BeforeValidator(as_mode)]
"""A file mode: octal, or symbolic as chmod takes it, or `preserve` where the step says so."""
Words = Annotated[list[Text], BeforeValidator(as_words)]
"""A list of texts; one text with commas is split."""
Seconds = Annotated[float, BeforeValidator(seconds)]
"""A duration: a number of seconds, or text with units (20s, 5m, 1h30m)."""


# --------------------------------------------------------------------------- the step type


@dataclass(frozen=True)
class Option:
    """One argument as a documentation tells of it: its other spellings, whether it must be given, what it may be."""

    aliases: Sequence[str] = ()
    required: bool = False
    choices: Sequence[Any] = ()
    kind: str = "str"
    default: Any = None
    about: str = ""


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
    options are the arguments of a type whose model is open, as its documentation gives them; None where that is not
    known, and then every argument is taken; undocumented says of another word whether it may be one all the same.
    aliases are its other full names, groups what module_defaults may call it and others by (`group/NAME`).
    background True: its change can go on by itself (`async` with `poll: 0`).
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
    options: Mapping[str, Option] | None = None
    undocumented: Callable[[str], bool] = lambda _word: False
    groups: Callable[[], Sequence[str]] = tuple
    background: bool = False
