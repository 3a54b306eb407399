"""set_stats: numbers and words about the whole run, kept in its record."""

from __future__ import annotations

from typing import Any

from cleanslate.steps.contract import Behaviour, Flag, Outcome, StepArguments, StepContext, StepType


class Arguments(StepArguments):
    """Arguments of set_stats."""

    data: dict[str, Any]
    """Names and values to keep."""
    per_host: Flag = False
    """Keep them for each host apart."""
    aggregate: Flag = True
    """Add to what is there rather than replace it."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Give them as the result; the record keeps every result."""
    yield from ()
    stats = {"data": args.data, "per_host": args.per_host, "aggregate": args.aggregate}
    return Outcome({"ansible_stats": stats}, changed=False)


STEP = StepType(
    name="set_stats",
    arguments=Arguments,
    behave=behave,
    summary="Keep numbers and words about the run in its record.",
    example="""\
- name: What was measured
  set_stats:
    data:
      tokens_per_second: 412
""",
    returns={"ansible_stats": "what was kept"},
    on_target=False,
)
