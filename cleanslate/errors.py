"""The error tree: every error says what is wrong, where (file:line:column), and what to do.

CleanslateError                 exit 1, our own fault unless a subclass says otherwise
├── InputError                  exit 64, the input is wrong; nothing was contacted
├── RenderError                 a template or condition failed while a host's variables were applied
├── TargetError                 something went wrong on the way to, or on, a target
│   ├── Unreachable             exit 4, no connection; the call was certainly not made
│   ├── OutcomeUnknown          the connection was lost while a call was under way
│   ├── DeadlinePassed          the call did not end in time and was ended
│   ├── NoPython                the target has no Python 3.8 or later for the agent
│   └── CallFailed              the agent answered that the call failed (kind, message, details)
├── StepFailed                  a step's own verdict: it failed (carries the step's result fields)
│   └── GpuWedged               exit 6, a GPU needs a reset or its machine a reboot
├── LeaseHeld                   exit 5, somebody else holds the host's lease
└── Interrupted                 exit 130
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, NamedTuple

from cleanslate.dataclass import dataclass


class Origin(NamedTuple):
    """A place in a source file; line and column count from 1, 0 means "not known"."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        """Read `file:line:column`, without the parts that are not known."""
        if not self.line:
            return self.file
        return f"{self.file}:{self.line}:{self.column}" if self.column else f"{self.file}:{self.line}"


class CleanslateError(Exception):
    """What happened (`what`), where in the sources (`origin`), and what to do about it (`fix`)."""

    exit_code = 1

    def __init__(self, what: str, *, origin: Origin | None = None, fix: str | None = None) -> None:
        self.what = what
        self.origin = origin
        self.fix = fix
        super().__init__(what)

    def __str__(self) -> str:
        """Read `file:line:column: what; fix`."""
        where = f"{self.origin}: " if self.origin else ""
        return f"{where}{self.what}" + (f"; {self.fix}" if self.fix else "")


@dataclass(frozen=True)
class Problem:
    """One mistake in the input. `severity` is `error`, `warning` or `note`; only errors refuse the input."""

    what: str
    origin: Origin | None = None
    fix: str | None = None
    severity: str = "error"
    code: str = ""

    def __str__(self) -> str:
        """Read `file:line:column: severity: what; fix`, the form that `inv lint` prints."""
        where = f"{self.origin}: " if self.origin else ""
        return f"{where}{self.severity}: {self.what}" + (f"; {self.fix}" if self.fix else "")


class InputError(CleanslateError):
    """The input is wrong; `problems` lists every mistake that was found, in file order."""

    exit_code = 64

    def __init__(
        self,
        what: str | None = None,
        *,
        origin: Origin | None = None,
        fix: str | None = None,
        problems: Iterable[Problem] = (),
    ) -> None:
        self.problems: list[Problem] = list(problems)
        if what is not None:
            self.problems.insert(0, Problem(what, origin, fix))
        first = self.problems[0] if self.problems else Problem("the input is wrong")
        super().__init__(first.what, origin=first.origin, fix=first.fix)

    def __str__(self) -> str:
        """Read one mistake a line."""
        return "\n".join(str(problem) for problem in self.problems) or self.what


@dataclass
class Problems:
    """Collects mistakes so that all of them are told at once."""

    found: list[Problem] = field(default_factory=list)

    def add(
        self,
        what: str,
        origin: Origin | None = None,
        *,
        fix: str | None = None,
        severity: str = "error",
        code: str = "",
    ) -> None:
        """Note one mistake and go on."""
        self.found.append(Problem(what, origin, fix, severity, code))

    def include(self, error: InputError) -> None:
        """Take over everything that a refused part found."""
        self.found.extend(error.problems)

    @property
    def errors(self) -> list[Problem]:
        """Only the mistakes that refuse the input."""
        return [problem for problem in self.found if problem.severity == "error"]

    def raise_if_any(self) -> None:
        """Raise InputError with every error found, in file order; warnings alone do not raise."""
        if self.errors:
            unique = dict.fromkeys(self.found)
            raise InputError(problems=sorted(unique, key=lambda p: p.origin or Origin("", 0, 0)))


class RenderError(CleanslateError):
    """A template, condition or lookup failed for a host; the step fails there, the origin is the expression's."""

    exit_code = 2


class TargetError(CleanslateError):
    """Something went wrong on the way to, or on, a target."""

    exit_code = 2


class Unreachable(TargetError):
    """No connection, and the call was certainly not made."""

    exit_code = 4


class OutcomeUnknown(TargetError):
    """The connection was lost while a call was under way: it may or may not have happened."""

    exit_code = 4


class DeadlinePassed(TargetError):
    """The call did not end in time; what it had started on the target was ended."""


class NoPython(TargetError):
    """The target has no Python 3.8 or later, so only raw, command, shell and script work there."""


class CallFailed(TargetError):
    """The agent refused or failed a call; `kind` is one word (`missing`, `denied`, `exists`, `wrong`, ...)."""

    def __init__(self, kind: str, message: str, details: Mapping[str, Any] | None = None) -> None:
        self.kind = kind
        self.details: dict[str, Any] = dict(details or {})
        super().__init__(message)


class StepFailed(CleanslateError):
    """A step's own verdict that it failed; `data` becomes the result's fields beside `msg`."""

    exit_code = 2

    def __init__(self, what: str, *, fix: str | None = None, data: Mapping[str, Any] | None = None) -> None:
        self.data: dict[str, Any] = dict(data or {})
        super().__init__(what, fix=fix)


class GpuWedged(StepFailed):
    """A GPU does not answer, or holds memory for a process that cannot die: reset it or reboot its machine."""

    exit_code = 6


class LeaseHeld(CleanslateError):
    """Somebody else holds the host's lease; nothing was touched."""

    exit_code = 5


class Interrupted(CleanslateError):
    """The user (or a signal) ended the run."""

    exit_code = 130


def suggest(word: str, known: Iterable[str]) -> str | None:
    """Give `did you mean "x"?` for a misspelt word, or None where nothing known is near."""
    import difflib

    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f'did you mean "{near[0]}"?' if near else None
