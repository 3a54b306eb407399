"""wait_drained: wait until a server has no request under way, so that stopping it cuts nobody off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cleanslate.errors import CallFailed, StepFailed
from cleanslate.steps._engines import LOAD, Engine, misnamed
from cleanslate.steps.contract import Behaviour, Field, Outcome, Seconds, StepArguments, StepContext, StepType, Text


class Arguments(StepArguments):
    """What `wait_drained:` takes."""

    name: Text | None = None
    """The server, as launch_server was given it."""
    engine: Engine | None = None
    """Its engine; as launched otherwise."""
    port: int | None = Field(default=None, ge=1, le=65535)
    """Its port; as launched otherwise."""
    host: Text | None = None
    """The address to ask, on the target; by its command line, or 127.0.0.1, otherwise."""
    within: Seconds = Field(default=60.0, gt=0)
    """How long its requests may take. Still some then: the step fails, and says how many."""
    settle: Seconds = Field(default=0.3, ge=0)
    """How long it must be empty on end."""
    api_key: Text | None = None
    """The key to ask with; by its command line otherwise."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """One call that waits on the target."""
    yield from ()  # it changes nothing
    if args.api_key:
        context.secret(args.api_key)
    server = args.model_dump(include={"name", "engine", "port", "host", "api_key"})
    try:
        seen = context.read(
            "draining.wait",
            within=args.within + 30.0,
            on_progress=lambda facts: context.progress(**{"text": "", **facts}),
            server=server,
            settle=args.settle,
            limit=args.within,
        )
    except CallFailed as error:
        details = dict(error.details)
        fix = details.pop("fix", None)
        raise StepFailed(error.what, fix=fix, data={"kind": error.kind, **details}) from None
    data = {key: seen[key] for key in ("in_flight", "most", "seconds", "source", "serving")}
    if not seen["serving"]:
        return Outcome({**data, "msg": f"{seen['who']} is not there, so there is nothing to drain"})
    had = f", it had {seen['most']}" if seen["most"] else ""
    return Outcome({**data, "msg": f"{seen['who']} has no request under way{had} ({seen['seconds']:.1f} s)"})


def _check(literal: Mapping[str, Any]) -> Sequence[tuple[str, str, str | None]]:
    engine = literal.get("engine")
    found = misnamed(literal)
    if not found and isinstance(engine, str) and "{{" not in engine and engine not in LOAD:
        what = f"{engine} tells nobody how many requests it has"
        found.append(("engine", what, f"those that do: {', '.join(LOAD)}"))
    return found


STEP = StepType(
    name="wait_drained",
    arguments=Arguments,
    behave=behave,
    summary="Waits until a server has no request under way, by its own numbers.",
    example="""\
- name: Nobody is cut off
  wait_drained: {name: contract-drained, engine: sglang, port: "{{ server_port }}", within: 30s}
""",
    notes="""\
For graceful restarts: take the server out of the balancer, wait_drained, then stop_server. It keeps no new request
away, so with a balancer that still sends some it runs into `within`.

**Where the number comes from**: sglang is asked at `/v1/loads`, `/get_load`, then `/metrics`
(`sglang:num_running_reqs` and `sglang:num_queue_reqs`, with --enable-metrics); vllm at `/metrics`
(`vllm:num_requests_running`, `vllm:num_requests_waiting`); llama.cpp and tgi at `/metrics`. Running and waiting ones
are added over all ranks. The first source that answers is kept. All waiting is one call on the target.

**Unknown is never zero.** A server that hangs, answers 503, or leaves a number out is not empty: the step goes on
asking, and at the end fails as `unknown`. One that answers and has no such path fails at once, with the flag that
switches it on. Only a server that is certainly not there (no process of its launch, nobody on its port) has nothing
to drain; then `serving` is false, and the step is ok.

To stop it all the same after the wait: `ignore_errors: true` here, and stop_server with its `grace` behind.
""",
    returns={
        "in_flight": "requests under way at the end: 0; null where no server is there",
        "most": "the most that were seen",
        "seconds": "how long it took",
        "source": "the path that told the number",
        "serving": "whether there is a server at all",
        "kind": "of a failure: timeout, unknown, unsupported, wrong",
    },
    observes=True,
    only_reads=True,
    ansible_name=None,
    any_of=[["name", "port", "engine"]],
    check=_check,
)
