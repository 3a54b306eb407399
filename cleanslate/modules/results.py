"""What a module printed -> the step's outcome, with Ansible's fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from cleanslate.model import Answer, Diff
from cleanslate.modules.find import Module
from cleanslate.steps.contract import Outcome, StepContext

_HIDDEN = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"


def outcome_of(module: Module, given: Mapping[str, Any], answer: Answer, context: StepContext) -> Outcome:
    """The outcome of a module that ended."""
    result, around = parsed(answer["stdout"])
    if result is None:
        return Outcome(_no_result(module, answer), changed=False, failed=True)
    if around:
        context.warn(f"{module.name} printed more than its result: {around[:200]}")
    _learn(given, result, context)
    data = {key: value for key, value in result.items() if not key.startswith("_ansible_")}
    _tell(data, context)
    for name in ("stdout", "stderr"):
        if isinstance(data.get(name), str):
            data.setdefault(f"{name}_lines", data[name].splitlines())
    facts = data.pop("ansible_facts", None)
    failed = bool(data["failed"]) if "failed" in data else data.get("rc", 0) not in (0, "0", "", None)
    return Outcome(
        {**data, "failed": failed},
        changed=bool(data.get("changed")),
        facts=facts if isinstance(facts, Mapping) else {},
        skipped=bool(data.get("skipped")) and not failed,
        failed=failed,
        diffs=list(diffs_of(result.get("diff"), module.name)),
    )


def parsed(text: str) -> tuple[dict[str, Any] | None, str]:
    """The JSON object in what a module printed, and what stands around it."""
    lines = text.splitlines()
    first = next((at for at, line in enumerate(lines) if line.lstrip().startswith("{")), None)
    last = next((at for at in range(len(lines) - 1, -1, -1) if lines[at].rstrip().endswith("}")), None)
    if first is None or last is None or last < first:
        return None, text
    try:
        found = json.loads("\n".join(lines[first : last + 1]))
    except ValueError:
        return None, text
    around = " ".join(line.strip() for line in (*lines[:first], *lines[last + 1 :]) if line.strip())
    return (found, around) if isinstance(found, dict) else (None, text)


def declined(answer: Answer) -> bool:
    """Whether a module says that it has no check mode, so that nothing is foretold."""
    result, _ = parsed(answer["stdout"])
    said = "" if result is None else str(result.get("msg", ""))
    return bool(result and result.get("skipped")) and "does not support check mode" in said


def diffs_of(said: Any, name: str) -> Iterator[Diff]:
    """A module's `diff`, one or a list of them, as diffs."""
    for one in said if isinstance(said, list) else [said]:
        if not isinstance(one, Mapping):
            continue
        header = str(one.get("after_header") or one.get("before_header") or name)
        if "prepared" in one:
            yield Diff(header, "", str(one["prepared"]))
        elif "before" in one or "after" in one:
            yield Diff(header, _text(one.get("before")), _text(one.get("after")))


def _tell(data: dict[str, Any], context: StepContext) -> None:
    """Pass on what the module warns of; warnings and errors as text, which they are not from 2.19 on."""
    for name, before in (("warnings", ""), ("deprecations", "deprecated: ")):
        if isinstance(data.get(name), list):
            data[name] = [_message(entry) for entry in data[name]]
            for text in data[name]:
                context.warn(before + text)
    error = data.get("exception")
    if isinstance(error, Mapping):
        event = error.get("event") or {}
        data["exception"] = event.get("formatted_traceback") or _message(error)
        data.setdefault("msg", _message(error))


def _message(entry: Any) -> str:
    """The text of a warning, a deprecation or an error: text, `{msg}`, or an event with what led to it."""
    if not isinstance(entry, Mapping):
        return str(entry)
    event = entry.get("event")
    if not isinstance(event, Mapping):
        return str(entry.get("msg", ""))
    chain = event.get("chain")
    cause = _message(chain) if isinstance(chain, Mapping) else ""
    return ": ".join(text for text in (str(event.get("msg", "")), cause) if text)


def _text(value: Any) -> str:
    if isinstance(value, str) or value is None:
        return value or ""
    return json.dumps(value, indent=4, sort_keys=True) + "\n"


def _no_result(module: Module, answer: Answer) -> dict[str, Any]:
    """The fields of a module that gave no result, as Ansible names them, and what it last said."""
    said = (answer["stderr"].strip() or answer["stdout"].strip()).splitlines()
    rc = answer["rc"]
    how = f"was ended by signal {-rc}" if rc < 0 else f"ended with {rc}"
    last = f": {said[-1][:300]}" if said else ", and printed nothing"
    why = "printed too much to be kept" if answer["cut"] else f"gave no result that can be read; it {how}{last}"
    fields = {"module_stdout": answer["stdout"], "module_stderr": answer["stderr"], "rc": rc}
    return {**fields, "msg": f"the module {module.name} {why}"}


def _learn(given: Mapping[str, Any], result: Mapping[str, Any], context: StepContext) -> None:
    """What the module itself hides of its arguments is a secret, wherever else it stands."""
    invocation = result.get("invocation")
    shown = invocation.get("module_args") if isinstance(invocation, Mapping) else None
    for name, value in shown.items() if isinstance(shown, Mapping) else ():
        text = given.get(name)
        if value == _HIDDEN and isinstance(text, str | int | float) and not isinstance(text, bool):
            context.secret(str(text))
