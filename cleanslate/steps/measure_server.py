"""measure_server: how fast a server really is, under streamed load from its own machine, and whether it got worse."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from cleanslate.errors import CallFailed, StepFailed
from cleanslate.model import Answer
from cleanslate.steps._engines import Engine, misnamed
from cleanslate.steps._measures import PROMPTS, compare, digest, read_prompts, sentence, told
from cleanslate.steps.contract import (
    Behaviour,
    Change,
    Outcome,
    Seconds,
    StepArguments,
    StepContext,
    StepType,
    Text,
)


def _percent(value: Any) -> Any:
    """Take `10%` for 10."""
    return value.strip().removesuffix("%").strip() if isinstance(value, str) else value


class Arguments(StepArguments):
    """What `measure_server:` takes."""

    name: Text | None = None
    """The server, as launch_server was given it."""
    engine: Engine | None = None
    """Its engine; as launched otherwise."""
    port: int | None = Field(default=None, ge=1, le=65535)
    """Its port; as launched otherwise."""
    host: Text | None = None
    """The address to ask, on the target; by its command line, or 127.0.0.1, otherwise."""
    api_key: Text | None = None
    """The key to ask with; by its command line otherwise."""
    api: Literal["chat", "completions"] = "chat"
    """Which of the two OpenAI paths: chat completions, or plain ones."""
    model: Text | None = None
    """The model's name in requests; the first of /v1/models otherwise."""
    prompts: list[Any] | None = Field(default=None, min_length=1)
    """What to ask: texts, or lists of messages. Eight of different kinds otherwise."""
    prompts_file: Text | None = None
    """A file of the controller (in `files/`): a prompt a line, `.json` a list, `.jsonl` an object a line."""
    concurrency: list[Annotated[int, Field(ge=1, le=512)]] = Field(default=[1], min_length=1)
    """How many requests at once: one level after the other (`[1, 8, 32]`)."""
    requests: int | None = Field(default=None, ge=1)
    """How many requests a round has; each prompt once and each slot twice, whichever is more, otherwise."""
    repetitions: int = Field(default=3, ge=1, le=100)
    """How many rounds each level has; the result has their median and spread."""
    warm_up: int = Field(default=2, ge=0)
    """Requests before the first round that do not count."""
    max_tokens: int = Field(default=128, ge=1)
    """How many tokens each request asks for."""
    temperature: float = Field(default=0.0, ge=0)
    """The sampling temperature. At 0 the same is generated each time, as far as the engine allows it."""
    body: dict[Text, Any] = Field(default_factory=dict)
    """More fields for each request (`{ignore_eos: true}` makes all answers equally long)."""
    within: Seconds = Field(default=900.0, gt=0)
    """How long everything may take. What is not over then is ended, and the step fails."""
    request_within: Seconds = Field(default=120.0, gt=0)
    """How long one request may take."""
    errors: int = Field(default=0, ge=0)
    """How many failed requests are borne."""
    compare_to: Text | None = None
    """An earlier run (id, its beginning, PLAYBOOK@-1, `last`, `last-good`): what this step measured then."""
    compare_step: Text | None = None
    """The step's name in that run, where it was another."""
    threshold: Annotated[float, BeforeValidator(_percent)] = Field(default=10.0, ge=0)
    """By how many percent it may be worse."""
    on_worse: Literal["warn", "fail"] = "warn"
    """What to do when it is worse by more."""

    @field_validator("prompts")
    @classmethod
    def _are_prompts(cls, prompts: list[Any] | None) -> list[Any] | None:
        for place, each in enumerate(prompts or (), 1):
            if not (isinstance(each, str) and each.strip()) and not (isinstance(each, list) and each):
                raise ValueError(f"prompt {place} is neither text nor a list of messages")
        return prompts


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Find what to compare with, put the load on, and compare."""
    if args.api_key:
        context.secret(args.api_key)
    prompts = _prompts(args, context)
    earlier = _earlier(args, context)
    try:
        answer = yield _load(args, prompts)
    except CallFailed as error:
        details = dict(error.details)
        fix = details.pop("fix", None)
        raise StepFailed(error.what, fix=fix, data={"kind": error.kind, **details}) from None
    for note in answer["notes"]:
        context.warn(note)
    data = _data(args, prompts, answer)
    failed = sum(level["failed"] for level in answer["levels"])
    if failed > args.errors:
        said = "; ".join(f"{count} x {text}" for text, count in _errors(answer).items())
        raise StepFailed(f"{failed} of {data['requests']} requests failed: {said}", data={"kind": "errors", **data})
    if earlier is not None:
        data.update(_compared(args, context, data["metrics"], *earlier))
    return Outcome({**data, "msg": "; ".join(told(data["metrics"]))}, changed=False)


def _prompts(args: Arguments, context: StepContext) -> list[Any]:
    if args.prompts_file is not None:
        found = read_prompts(context.find_file(args.prompts_file, "files"))
    else:
        found = list(args.prompts or PROMPTS)
    if args.api == "completions" and not all(isinstance(each, str) for each in found):
        raise StepFailed("messages can only be asked as chat", fix="leave out `api: completions`, or give texts")
    return found


def _earlier(args: Arguments, context: StepContext) -> tuple[str, Mapping[str, Any]] | None:
    """(run, its metrics) to compare with, found before the load; None where there is none yet."""
    if args.compare_to is None:
        return None
    found = context.earlier_result(args.compare_to, args.compare_step)
    if found is None:
        which = f'step "{args.compare_step}"' if args.compare_step else "step of this name"
        context.warn(f"there is nothing to compare with: no {which} on {context.host} in {args.compare_to}")
        return None
    run, result = found
    metrics = result.get("metrics")
    if not isinstance(metrics, Mapping):
        raise StepFailed(f"that step of run {run} measured nothing", fix="name another with compare_step")
    return run, metrics


def _load(args: Arguments, prompts: Sequence[Any]) -> Change:
    load = args.model_dump(
        include={"api", "model", "body", "max_tokens", "temperature", "requests", "repetitions", "warm_up"}
    )
    load.update(concurrency=list(dict.fromkeys(args.concurrency)), request_seconds=args.request_within)
    return Change(
        summary=f"load {args.name or args.port or args.engine} with {', '.join(map(str, args.concurrency))} at once",
        call="measuring.run",
        arguments={
            "server": args.model_dump(include={"name", "engine", "port", "host", "api_key"}),
            "load": load,
            "limit": args.within,
        },
        blob=json.dumps(list(prompts)).encode(),
        deadline=args.within + 30.0,
        alters=False,
    )


def _data(args: Arguments, prompts: Sequence[Any], answer: Answer) -> dict[str, Any]:
    """The result. `metrics` is what a later run compares with."""
    same = [list(prompts), args.api, args.max_tokens, args.temperature, args.body, args.requests]
    return {
        "metrics": {
            "load": digest(same),
            "counted": answer["counted"],
            "levels": {str(level["concurrency"]): level["metrics"] for level in answer["levels"]},
        },
        "model": answer["model"],
        "requests": sum(level["requests"] for level in answer["levels"]),
        "errors": _errors(answer),
        "prompts": len(prompts),
        "prompt_tokens": answer["prompt_tokens"],
        "seconds": answer["seconds"],
    }


def _errors(answer: Answer) -> dict[str, int]:
    found: dict[str, int] = {}
    for level in answer["levels"]:
        for text, count in level["errors"].items():
            found[text] = found.get(text, 0) + count
    return found


def _compared(
    args: Arguments, context: StepContext, now: Mapping[str, Any], run: str, before: Mapping[str, Any]
) -> dict[str, Any]:
    """The comparison's result fields; raises StepFailed where it is worse and that is to fail."""
    if before.get("load") != now["load"]:
        context.warn(f"run {run} had another load (prompts, tokens or requests): the numbers do not really compare")
    found = compare(now, before, args.threshold)
    if not found:
        context.warn(f"run {run} has no level in common with this one")
    data = {"compared_to": run, "comparison": found}
    worse = [sentence(each) for each in found if each["worse"]]
    if worse:
        said = f"slower than in run {run} by more than {args.threshold:g} %: {'; '.join(worse)}"
        if args.on_worse == "fail":
            raise StepFailed(said, data={"kind": "worse", "metrics": now, **data})
        context.warn(said)
    return data


def _check(literal: Mapping[str, Any]) -> Sequence[tuple[str, str, str | None]]:
    found = misnamed(literal)
    if "compare_to" not in literal:
        idle = [name for name in ("compare_step", "threshold", "on_worse") if name in literal]
        found += [(name, f"{name} says nothing without compare_to", "compare_to: last-good") for name in idle]
    return found


STEP = StepType(
    name="measure_server",
    arguments=Arguments,
    behave=behave,
    summary="Measures a server under streamed load from its own machine, and compares with an earlier run.",
    example="""\
- name: As fast as before
  measure_server:
    name: eagle3
    engine: sglang
    port: "{{ server_port }}"
    concurrency: [1, 4]
    max_tokens: 16
    repetitions: 2
    compare_to: last-good
    threshold: 10%
    on_worse: fail
""",
    notes="""\
**What is done**: `warm_up` requests that do not count, then for each level of `concurrency` so many rounds as
`repetitions` says. In a round so many requests are under way at once, streamed, the prompts in their order, until
`requests` are answered. The load comes from the target itself, so no network is in the numbers. Everything ends at
`within`, and each request at `request_within`. One call over the connection; in check mode nothing is asked, and the
step is unknown.

**What is measured**, each as the median of the rounds with the lowest and highest (`low`, `high`), in seconds:
`tokens_per_second` and `requests_per_second` of all requests together; `first_token` until the first text came;
`between`, the mean time for one more token of a request after that; `gap`, the time between two pieces of a stream,
which shows stalls (with speculation several tokens come in one piece); `request`, the whole request. p50 and p95 are
over the requests of a round. `accept_length` is what the engine tells: sglang's average since its start, vllm's of
the round. A length of 1.0 means that no token of the draft is accepted. Tokens are counted by the server (`usage`);
where it does not, pieces of the stream are counted, and that is said.

**Comparing**: the controller looks into its records for the step of the same name (or `compare_step`) on the same
host. `last-good` and `last` mean the newest run that measured this at all; before there is one, the step only says so.
Medians of tok/s, time to first token and time between tokens are compared, level by level; worse by more than
`threshold` percent warns, or fails with `on_worse: fail`. `overlap` says that the rounds' spreads meet, so that it
may be chance: then more `repetitions` tell more. Another load (prompts, tokens, requests) is said.

Failed requests fail the step, beyond `errors`. What a request costs depends on the prompts: give `prompts_file` with
real ones for numbers that mean something, and `body: {ignore_eos: true}` for answers of the same length.
""",
    returns={
        "metrics": "load (a digest of what was asked), counted, levels: concurrency -> name -> median, low, high",
        "requests": "how many requests counted",
        "errors": "what went wrong -> how often",
        "model": "the model's name that was asked for",
        "prompt_tokens": "the median length of the prompts, as the server counts",
        "seconds": "how long it took, with the warm-up",
        "compared_to": "the run that it was compared with",
        "comparison": "concurrency, metric, before, now, change (percent, positive is better), worse, overlap",
        "kind": "of a failure: errors, worse, failed, timeout, wrong",
    },
    ansible_name=None,
    foretells=False,
    any_of=[["name", "port", "engine"]],
    exclusive=[["prompts", "prompts_file"]],
    check=_check,
)
