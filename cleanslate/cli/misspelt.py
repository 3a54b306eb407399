"""What a command line that Invoke's parser does not understand has wrong, in our own words, and what may be meant."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from cleanslate.errors import suggest


def explain(error: Any, tasks: Iterable[str]) -> tuple[str, str]:
    """(what is wrong, what to do) for a ParseError; `tasks` are the names of all there are.

    Invoke's messages are all it gives (invoke/parser/parser.py, 2.2); one that is not known here is told as it is.
    """
    text, context = str(error), error.context
    task = getattr(context, "name", None)
    where = f"inv {task} --help" if task else "inv --list"
    if found := re.fullmatch(r"No idea what '(.*)' is!", text, re.DOTALL):
        return _unknown(found[1], task, context, tasks, where)
    if found := re.fullmatch(r"Flag <Argument: ([\w-]+).*> needed value and was not given one!", text):
        return f"the option --{found[1].replace('_', '-')} needs a value", f"see: {where}"
    if found := re.fullmatch(r"'.*' did not receive required positional arguments: (.*)", text):
        missing = found[1].replace("'", "").replace(", ", " and ").upper()
        return f"{task} needs {missing}", f"see: {where}"
    return text, f"see: {where}"


def _unknown(word: str, task: str | None, context: Any, tasks: Iterable[str], where: str) -> tuple[str, str]:
    if word.startswith("-"):
        options = [name for name in (*context.flags, *context.inverse_flags) if name.startswith("--")]
        return f"{task or 'inv'} has no option {word}", suggest(word, options) or f"see: {where}"
    if task is None:
        return f'there is no task "{word}"', suggest(word, tasks) or f"see: {where}"
    return f'{task} does not take "{word}"', f"see: {where}"
