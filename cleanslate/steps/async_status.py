"""async_status: what has become of a step that was started with `async` and `poll: 0`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from cleanslate.errors import CallFailed, StepFailed
from cleanslate.model import Answer
from cleanslate.steps import _commands
from cleanslate.steps.contract import Behaviour, Change, Outcome, StepArguments, StepContext, StepType, Text

_SETTLING = 5.0  # seconds in which whoever started the job may still write down its result in full
_OWN = frozenset({"answer", "failure", "settled", "at", "age"})


class Arguments(StepArguments):
    """Which job, and what to do."""

    jid: Text
    """The job: `ansible_job_id` of the result that started it."""
    mode: Literal["status", "cleanup"] = "status"
    """status tells what has become of it; cleanup removes what is written down about it."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Read the job's file, or remove it."""
    environment = dict(context.environment)
    named = {"jid": args.jid, "environment": environment}
    start: dict[str, Any] = {
        "ansible_job_id": args.jid,
        "stdout": "",
        "stderr": "",
        "stdout_lines": [],
        "stderr_lines": [],
    }
    if args.mode == "cleanup":
        answer = yield Change(
            f"forget job {args.jid}", "jobs.forget", named, predicted={"erased": args.jid, "was": True}, alters=False
        )
        return Outcome({**start, "started": False, "finished": False, "erased": answer["erased"]}, changed=False)
    try:
        found = context.read("jobs.status", jid=args.jid, environment=environment)
    except CallFailed as error:
        if error.kind != "missing":
            raise
        data = {**start, "started": True, "finished": True, "results_file": error.details["results_file"]}
        raise StepFailed("could not find job", data=data) from error
    place = {"results_file": found["results_file"]}
    if not found.get("finished") or _settles(found):
        return Outcome({**start, **place, "started": True, "finished": False}, changed=False)
    return _ended({**start, **place}, found, context)


def _settles(found: Answer) -> bool:
    return not found.get("settled") and "answer" in found.values and float(found.get("age", 0)) < _SETTLING


def _ended(start: Mapping[str, Any], found: Answer, context: StepContext) -> Outcome:
    data = {**start, **{name: value for name, value in found.values.items() if name not in _OWN}}
    answer = found.get("answer")
    if answer is not None and "rc" in answer:
        ended = _commands.ended(None, Answer(answer), context, strip=True)
        return Outcome({**data, **ended.data}, changed=True, failed=ended.failed)
    data |= answer or {}
    return Outcome(data, changed=bool(data.get("changed", answer is not None)), failed=bool(data.get("failed")))


STEP = StepType(
    name="async_status",
    arguments=Arguments,
    behave=behave,
    summary="Tell what has become of a step that goes on by itself (async with poll: 0).",
    example="""\
- name: Something that takes a while
  command: sleep 0.1
  async: 60
  poll: 0
  register: job
- name: Its end
  async_status:
    jid: "{{ job.ansible_job_id }}"
  register: ended
  until: ended is finished
  retries: 100
  delay: 0.1
  when: job.ansible_job_id is defined
""",
    returns={
        "ansible_job_id": "the job",
        "started": "whether it has started",
        "finished": "whether it has ended; then everything that the step itself gives is there too",
        "results_file": "where it is written down on the target",
        "erased": "the file that cleanup removed",
    },
    repeatable=False,
)
