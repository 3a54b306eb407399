"""What people see: every kind of line, on a terminal and elsewhere, and nothing that a host sends is obeyed."""

from __future__ import annotations

import io
import json

import pytest

from cleanslate.model import Event
from cleanslate.report import reporter
from cleanslate.report.narrator import Narrator
from cleanslate.report.writers import TerminalWriter, fitted, styled

STEP = {
    "step": 1,
    "name": "Every GPU is empty",
    "type": "assert_gpus",
    "origin": "playbooks/x.yml:7:5",
    "role": None,
    "section": "tasks",
    "handler": False,
    "hosts": ["a"],
}
DONE = {
    "step": 1,
    "host": "a",
    "delegate": None,
    "status": "ok",
    "ignored": False,
    "seconds": 0.01,
    "result": {},
    "diffs": [],
    "changes": [],
    "fix": None,
    "warnings": [],
}


def told(*events, **options):
    """The plain text that these events give."""
    stream = io.StringIO()
    tell = reporter("plain", stream, **options)
    for kind, data in events:
        tell(Event(kind, data, at=1000.0))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({}, "  ok          a"),
        ({"status": "changed", "changes": ["write /x"], "seconds": 2.5}, "  changed     a  2.50s  write /x"),
        ({"status": "changed", "changes": ["one", "two", "three"]}, "  changed     a  one (+2 more)"),
        ({"status": "skipped"}, "  skipped     a"),
        ({"status": "unknown", "changes": ["run x"]}, "  unknown     a  run x"),
        ({"delegate": "pve"}, "  ok          a -> pve"),
        ({"status": "failed", "ignored": True}, "  ignored     a"),
        ({"status": "failed", "ignored": True, "result": {"msg": "because\nof it"}}, "  ignored     a  because"),
        (
            {
                "status": "failed",
                "ignored": True,
                "result": {"msg": "non-zero return code", "rc": 3, "stderr": "x\ny\n"},
            },
            "  ignored     a  exit 3: y",
        ),
        ({"status": "failed", "ignored": True, "result": {"msg": {"a": 1}}}, '  ignored     a  {"a": 1}'),
        ({"seconds": 75}, "  ok          a  1m15s"),
    ],
)
def test_one_line_for_each_host(change, line):
    """Status, host, seconds where they matter, and what was done."""
    lines = told(("step.started", STEP), ("host.finished", {**DONE, **change})).splitlines()
    assert ["", "STEP Every GPU is empty  playbooks/x.yml:7:5", line] == lines[:3]


def test_a_failure_shows_where_what_and_what_to_do():
    """Step with place, reason, command, exit code, the last lines, advice."""
    result = {
        "msg": "GPU 3 holds 76000 MiB",
        "cmd": ["nvidia-smi", "-L"],
        "rc": 9,
        "stderr": "\n".join(f"line {number}" for number in range(30)),
    }
    text = told(
        ("step.started", STEP),
        ("host.finished", {**DONE, "status": "failed", "result": result, "fix": "ask the hypervisor"}),
    )
    for part in (
        "step     Every GPU is empty  playbooks/x.yml:7:5",
        "why      GPU 3 holds 76000 MiB",
        "command  nvidia-smi -L",
        "exit     9",
        "stderr, last 20 of 30 lines:",
        "| line 29",
        "do       ask the hypervisor",
    ):
        assert part in text
    assert "| line 9\n" not in text


def test_control_characters_from_hosts_are_shown_not_obeyed():
    """An escape sequence in a host's output cannot write to the terminal."""
    text = told(
        ("step.started", {**STEP, "type": "debug"}),
        ("host.finished", {**DONE, "result": {"msg": "\x1b[2J\rgone\x07"}}),
    )
    assert "    \\x1b[2J\n    gone\\x07\n" in text
    assert "\x1b" not in text


def test_a_diff_is_shown_when_it_is_asked_for():
    """In the unified form, under its step."""
    diff = {"header": "/etc/x", "before": "a\nb\n", "after": "a\nc\n"}
    events = (("step.started", STEP), ("host.finished", {**DONE, "status": "changed", "diffs": [diff]}))
    shown = told(*events, show_diff=True)
    assert "    -b\n    +c\n" in shown
    assert "+c" not in told(*events)


def test_the_recap_counts_and_names_the_run():
    """Zero counts are left out, but for ok and changed."""
    counts = {"ok": 3, "changed": 0, "unknown": 0, "skipped": 1, "failed": 0, "unreachable": 0}
    text = told(
        (
            "run.finished",
            {"run": "r1", "outcome": "ok", "exit_code": 0, "seconds": 3.2, "recap": {"a": counts}, "stopped_at": None},
        )
    )
    assert "RECAP ok  in 3.20s\n  a  ok=3  changed=0  skipped=1\n" in text
    assert "inv show r1" in text


def test_a_loop_shows_its_items_and_not_its_sum():
    """Each item has its line; the sum of a loop without failure says nothing more."""
    item = {k: DONE[k] for k in ("step", "host", "status", "seconds", "result", "diffs")}
    text = told(
        ("step.started", STEP),
        ("item.finished", {**item, "item": "x"}),
        ("item.finished", {**item, "item": "y", "status": "changed"}),
        ("host.finished", {**DONE, "status": "changed", "result": {"results": [{}, {}]}}),
    )
    assert ["  ok          a  (x)", "  changed     a  (y)"] == text.splitlines()[2:]


def test_progress_elsewhere_than_on_a_terminal_is_a_line_now_and_then():
    """A wait says something every ten seconds, not ten times a second."""
    stream = io.StringIO()
    tell = reporter("plain", stream)
    tell(Event("step.started", STEP, at=0.0))
    for tenth in range(400):
        facts = {"step": 1, "host": "a", "text": f"shard {tenth}", "facts": {}}
        tell(Event("host.progress", facts, at=tenth / 10))
    assert 3 <= stream.getvalue().count("shard") <= 5


def test_progress_on_a_terminal_is_rewritten_in_place(monkeypatch):
    """The live line is erased before the next one is written, and gone at the end."""
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("cleanslate.report.writers._LIVE_EVERY", 0.0)
    stream = io.StringIO()
    write = TerminalWriter(stream, Narrator(), color=False)
    write(Event("step.started", STEP))
    write(Event("host.progress", {"step": 1, "host": "a", "text": "x" * 100, "facts": {}}))
    write(Event("host.finished", DONE))
    text = stream.getvalue()
    live = next(line for line in text.splitlines() if "xxx" in line)
    assert len(live) < 40
    assert "\x1b[1A\x1b[J  ok          a\n" in text


def test_json_output_is_one_event_a_line():
    """For programs: everything that happened, as it happened."""
    stream = io.StringIO()
    tell = reporter("json", stream)
    tell(Event("step.started", STEP, at=5.0))
    assert {"at": 5.0, "kind": "step.started", **STEP} == json.loads(stream.getvalue())


def test_quiet_tells_failures_and_the_end():
    """Nothing of what went well."""
    stream = io.StringIO()
    tell = reporter("quiet", stream)
    tell(Event("step.started", STEP))
    tell(Event("host.finished", DONE))
    assert stream.getvalue() == ""
    tell(Event("host.finished", {**DONE, "status": "failed", "result": {"msg": "broken"}}))
    assert "why      broken" in stream.getvalue()


@pytest.mark.parametrize(
    ("environment", "colored"),
    [({"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, False), ({"CLICOLOR_FORCE": "1"}, True), ({}, False)],
)
def test_colors_follow_the_environment(monkeypatch, environment, colored):
    """NO_COLOR wins; a stream that is no terminal gets none unless forced."""
    for name in ("NO_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert colored == ("\x1b[" in told(("step.started", STEP)))


def test_styles_end_where_they_began():
    """No style leaks into the next line."""
    assert "\x1b[31;1mbad\x1b[0m good" == styled([("failed", "bad"), ("", " good")], color=True)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ([("ok", "  ok  "), ("", "a  "), ("summary", "x" * 50)], "  ok  a  " + "x" * 30 + "…"),
        (
            [("title", "STEP name  "), ("place", "roles/some_role/tasks/main.yml:12:5")],
            "STEP name  …ome_role/tasks/main.yml:12:5",
        ),
        ([("failed", "w" * 60)], "w" * 60),
        ([("", "a"), ("summary", "short")], "ashort"),
    ],
)
def test_a_line_is_made_to_fit_by_its_summary_alone(line, expected):
    """A place keeps its end, a summary its start, and a reason is never cut."""
    assert expected == styled(fitted(line, 40), color=False)
