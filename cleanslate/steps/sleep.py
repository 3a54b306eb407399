"""sleep: let some time pass on each host. Waiting for a fact is better wherever there is one."""

from __future__ import annotations

from cleanslate.steps.contract import Behaviour, Change, Field, Outcome, Seconds, StepArguments, StepContext, StepType


class Arguments(StepArguments):
    """What `sleep:` takes."""

    seconds: Seconds | None = Field(default=None, ge=0)
    """How long: a number of seconds, or 20s, 5m, 1h30m."""
    for_: Seconds | None = Field(default=None, ge=0, alias="for")
    """The same, for those who read it aloud (`sleep: {for: 20s}`)."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Wait on the target; check mode does not."""
    wanted = args.seconds if args.seconds is not None else args.for_ or 0.0
    answer = yield Change(
        summary=f"let {wanted:g} s pass",
        call="pausing.sleep",
        arguments={"seconds": wanted},
        predicted={"seconds": 0.0},
        deadline=wanted + 30.0,
        alters=False,
        plain=f"sleep {wanted:g}",
    )
    return Outcome({"seconds": answer.get("seconds", wanted)})


STEP = StepType(
    name="sleep",
    arguments=Arguments,
    behave=behave,
    summary="Lets some time pass on each host; prefer a step that waits for the fact itself.",
    example="""\
- name: The balancer needs a moment, and tells nobody when it is done
  sleep: {for: 100ms}
""",
    notes="""\
A fixed sleep is too long or too short. Memory came back 0.12 s after a kill in one measurement and 3.0 s after it in
another, so `sleep: 2` both wastes time and gives false alarms. Where there is a fact to wait for, wait for that:
assert_gpus with `within`, wait_healthy, wait_for, stop_server (which returns when everything is gone).

`sleep: 20s` works too. It changes nothing, shows how much is left, and passes at once in check mode. Each host sleeps
by itself; pause waits once, on the controller.
""",
    returns={"seconds": "how long it was (0 in check mode)"},
    free_form="seconds",
    one_of=[["seconds", "for"]],
    ansible_name=None,
)
