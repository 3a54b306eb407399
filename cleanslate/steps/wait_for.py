"""The step type wait_for: wait on the target until a port, a path or a text is as wanted."""

from __future__ import annotations

from typing import Any, Literal

from cleanslate.errors import StepFailed
from cleanslate.model import Answer
from cleanslate.steps.contract import (
    Behaviour,
    Outcome,
    PathText,
    Seconds,
    StepArguments,
    StepContext,
    StepType,
    Text,
    Words,
)

_ACTIVE = ["ESTABLISHED", "FIN_WAIT1", "FIN_WAIT2", "SYN_RECV", "SYN_SENT", "TIME_WAIT"]


class Arguments(StepArguments):
    """What to wait for, and how long."""

    host: Text = "127.0.0.1"
    """The host name or address to connect to, from the target."""
    port: int | None = None
    """The port."""
    path: PathText | None = None
    """A path on the target, instead of a port."""
    search_regex: Text | None = None
    """A regular expression that must match in what the port says, or in the file."""
    state: Literal["absent", "drained", "present", "started", "stopped"] = "started"
    """`started`, `stopped`: the port is open, closed. `drained`: no connection to it is active. `present`, `absent`:
    the path (or port) is there, is not."""
    timeout: Seconds = 300.0
    """How long to wait at most. Without port and path, how long to wait."""
    delay: Seconds = 0.0
    """How long to wait before the first look."""
    sleep: Seconds | None = None
    """How long to wait between looks; a fraction of a second when not given."""
    connect_timeout: Seconds = 5.0
    """How long one try to connect may take."""
    exclude_hosts: Words | None = None
    """Hosts whose connections do not count for `drained`."""
    active_connection_states: Words = _ACTIVE
    """The connection states that count as active for `drained`."""
    msg: Text | None = None
    """What to say when the time is up."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Wait in one call; the target looks by itself."""
    yield from ()
    _refuse(args)
    what = _what(args)
    usual = 0.05
    if args.state in ("stopped", "drained") or (args.state == "absent" and args.path is None):
        usual = 0.5
    found = context.read(
        "net.wait_for",
        within=min(context.deadline, args.delay + args.timeout + 30),
        state=args.state,
        timeout=args.timeout,
        delay=args.delay,
        host=args.host,
        port=args.port,
        path=args.path,
        search_regex=args.search_regex,
        connect_timeout=args.connect_timeout,
        sleep=usual if args.sleep is None else args.sleep,
        exclude_hosts=args.exclude_hosts,
        states=args.active_connection_states,
        text=f"waiting: {what}",
    )
    return _outcome(args, found, what)


def _refuse(args: Arguments) -> None:
    def refused(what: str) -> StepFailed:
        return StepFailed(what, data={"changed": False, "elapsed": 0})

    if args.port is not None and args.path is not None:
        raise refused("wait for a port or for a path, not for both")
    if args.path is not None and args.state in ("stopped", "drained"):
        raise refused(f"state: {args.state} is for ports; for a path use absent")
    if args.state == "drained" and args.port is None:
        raise refused("state: drained needs a port")
    if args.exclude_hosts is not None and args.state != "drained":
        raise refused("exclude_hosts is only for state: drained")
    unknown = set(args.active_connection_states) - set(_ACTIVE)
    if unknown:
        raise refused(f"there is no connection state {', '.join(sorted(unknown))}; known are {', '.join(_ACTIVE)}")


def _what(args: Arguments) -> str:
    if args.path is not None:
        place, words = args.path, {"started": "present"}
    elif args.port is not None:
        place, words = f"{args.host}:{args.port}", {"present": "started", "absent": "stopped"}
    else:
        return "time"
    search = f' with "{args.search_regex}"' if args.search_regex else ""
    return f"{place} {words.get(args.state, args.state)}{search}"


def _outcome(args: Arguments, found: Answer, what: str) -> Outcome:
    elapsed = int(found["elapsed"])
    if not found["met"]:
        said = args.msg or f"after {args.timeout:g} s still not: {what}"
        if found.get("connections"):
            said += f" ({found['connections']} connections)" if not args.msg else ""
        raise StepFailed(said, data={"changed": False, "elapsed": elapsed})
    data: dict[str, Any] = {
        "state": args.state,
        "port": args.port,
        "path": args.path,
        "search_regex": args.search_regex,
        "match_groups": found.get("match_groups", []),
        "match_groupdict": found.get("match_groupdict", {}),
        "elapsed": elapsed,
    }
    return Outcome(data, changed=False)


STEP = StepType(
    name="wait_for",
    arguments=Arguments,
    behave=behave,
    summary="Wait until a port opens or closes, its connections have ended, or a path appears, goes or holds a text.",
    example="""\
- name: A log
  copy:
    dest: "{{ workdir }}/server.log"
    content: "The server is fired up, port 30000\\n"
- name: It says that it is ready
  wait_for:
    path: "{{ workdir }}/server.log"
    search_regex: fired up, port (\\d+)
    timeout: 5s
""",
    returns={
        "elapsed": "whole seconds waited",
        "match_groups": "what the groups of search_regex matched",
        "match_groupdict": "what its named groups matched",
        "state": "as asked for",
        "port": "as asked for",
        "path": "as asked for",
    },
    notes=(
        "The target itself looks, many times a second, so no round trip is spent on waiting. A port that is open does "
        "not mean that a server works: `wait_healthy` waits until one answers."
    ),
    observes=True,
    only_reads=True,
)
