"""How our tasks differ from plain Invoke ones: Ansible's short options, errors with our exit codes."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from invoke import Task

import cleanslate
from cleanslate.cli.invoke_parser import OptionalPositional, extend_parser
from cleanslate.cli.startup import keep_bytecode
from cleanslate.errors import CleanslateError, InputError

extend_parser()


class OurTask(Task):  # type: ignore[misc]  # invoke has no types
    """A task whose short options are the ones we name, not the first free letters."""

    def __init__(self, body: Callable[..., Any], *, short: Mapping[str, str] | None = None, **words: Any) -> None:
        self.short = dict(short or {})
        # Tasks share groups of options; each documents those that it takes.
        taken = inspect.signature(body).parameters
        words["help"] = {name: text for name, text in words.get("help", {}).items() if name in taken}
        super().__init__(_guarded(body), auto_shortflags=False, **words)

    def get_arguments(self, ignore_unknown_help: bool | None = None) -> list[Any]:
        """Make positional arguments with a default optional."""
        found = super().get_arguments(ignore_unknown_help)
        return [_optional(argument) if argument.positional else argument for argument in found]

    def spellings(self) -> list[str]:
        """How its options are written; asking Invoke for the arguments themselves would use up their documentation."""
        names = [name for name in inspect.signature(self.body).parameters if name != "context"]
        return [*(f"--{name.replace('_', '-')}" for name in names), *(f"-{letter}" for letter in self.short.values())]

    def arg_opts(self, name: str, default: Any, taken_names: set[str]) -> dict[str, Any]:
        """Add the short option of an argument."""
        options: dict[str, Any] = super().arg_opts(name, default, taken_names)
        if name in self.short:
            options["names"] = [*options["names"], self.short[name]]
        return options


def _optional(argument: Any) -> Any:
    if argument.default is None or argument.kind is list:
        return argument
    return OptionalPositional(
        names=argument.names,
        kind=argument.kind,
        help=argument.help,
        positional=True,
        attr_name=argument.attr_name,
        fallback=argument.default,
    )


def task(**words: Any) -> Callable[[Callable[..., Any]], OurTask]:
    """Make a function one of our tasks; the words are Invoke's, and `short`."""

    def wrap(body: Callable[..., Any]) -> OurTask:
        return OurTask(body, **words)

    return wrap


def _guarded(body: Callable[..., Any]) -> Callable[..., Any]:
    """Turn what a task returns into the exit code, and our errors into their message and code."""
    import functools

    @functools.wraps(body)
    def run(*given: Any, **named: Any) -> None:
        keep_bytecode()
        try:
            code = body(*given, **named)
        except InputError as error:
            tell_problems(error)
            code = error.exit_code
        except CleanslateError as error:
            print(f"error: {error}", file=sys.stderr)
            code = error.exit_code
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            code = 130
        except BrokenPipeError:
            sys.stderr.close()
            code = 0
        except Exception:  # noqa: BLE001 - whatever it is, people must be told that it is not theirs
            import platform

            traceback.print_exc()
            print(
                "error: this is a fault of cleanslate, not of your input; please report it with the lines above\n"
                f"and these: cleanslate {cleanslate.__version__}, Python {platform.python_version()}, "
                f"{platform.platform()}",
                file=sys.stderr,
            )
            code = 1
        if code:
            raise SystemExit(code)

    return run


def tell_problems(error: InputError) -> None:
    """Print every mistake, and that nothing was touched."""
    for problem in error.problems:
        print(problem, file=sys.stderr)
    count = sum(1 for problem in error.problems if problem.severity == "error")
    print(f"{count} mistake{'' if count == 1 else 's'}; no host was contacted", file=sys.stderr)
