"""How events leave a run: as plain copies, without secrets, each with its line of JSON."""

import json
import sys
from datetime import date

import pytest

from cleanslate import native
from cleanslate.model import Event, SourceText, event_line
from cleanslate.redaction import MASK, Secrets
from cleanslate.render.lazy import LazyMap
from cleanslate.runner.bus import Bus


@pytest.fixture(params=["with the core", "without it"])
def told(request, monkeypatch):
    """A bus with one secret, and the events that it tells."""
    native.load()
    if request.param == "without it":
        monkeypatch.delitem(sys.modules, "pydantic_core._pydantic_core")
    secrets, events = Secrets(), []
    secrets.add("Tr0ub4dor&3")
    return Bus(secrets, [events.append]), events


NUMBERS = {"step": 1, "host": "a", "facts": {"n": 0.5, "none": None}}
TEMPLATE = LazyMap({"a": SourceText("{{ b }}")}, lambda _: "rendered")
CASES = {
    "nothing": ({}, {}),
    "plain": (NUMBERS, NUMBERS),
    "tuples": ({"position": (0, 1), "hosts": ["a"]}, {"position": [0, 1], "hosts": ["a"]}),
    "names that are no texts": (
        {"x": {1: "a", None: "b"}, "y": {True: 1}},
        {"x": {"1": "a", "None": "b"}, "y": {"True": 1}},
    ),
    "text of the sources": ({"name": SourceText("x")}, {"name": "x"}),
    "dates": ({"day": date(2026, 1, 31)}, {"day": "2026-01-31"}),
    "bytes": ({"blob": b"ab"}, {"blob": "ab"}),
    "templates in a map": ({"args": TEMPLATE}, {"args": {"a": "rendered"}}),
    "a secret": ({"result": {"stdout": "it is Tr0ub4dor&3."}}, {"result": {"stdout": f"it is {MASK}."}}),
    "a secret that is a name": ({"result": {"Tr0ub4dor&3": 1}}, {"result": {MASK: 1}}),
    "what is left of a secret": ({"text": "it is Tr0ub4"}, {"text": f"it is {MASK}"}),
    "letters of all kinds": ({"text": "ünï\u202e\x1b\n"}, {"text": "ünï\u202e\x1b\n"}),
}


@pytest.mark.parametrize("case", CASES)
def test_an_event_is_plain_and_so_is_its_line(told, case):
    bus, events = told
    given, expected = CASES[case]
    bus.emit("some.thing", **given)
    (event,) = events
    assert ("some.thing", expected) == (event.kind, dict(event.data))
    line = event_line(event)
    assert {"at": round(event.at, 4), "kind": "some.thing", **expected} == json.loads(line)
    assert (1, True) == (line.count(b"\n"), line.endswith(b"\n"))


def test_half_a_character_is_no_reason_to_lose_an_event(told):
    bus, events = told
    bus.emit("some.thing", text="a \ud800 b")
    assert "a \ud800 b" == events[0].data["text"]
    assert "a \ud800 b" == json.loads(event_line(events[0]))["text"]


def test_what_changes_later_does_not_change_the_event(told):
    bus, events = told
    result = {"rc": 0, "lines": ["a"]}
    bus.emit("some.thing", result=result)
    result["rc"] = 1
    result["lines"].append("b")
    assert {"rc": 0, "lines": ["a"]} == events[0].data["result"]


def test_an_event_that_came_without_its_line_gets_one():
    event = Event("some.thing", {"text": "ü"}, 5.00001)
    assert '{"at":5.0,"kind":"some.thing","text":"ü"}\n'.encode() == event_line(event)


def test_a_run_that_goes_on_is_told_quickly(monkeypatch):
    """Its first events are told the long way, and none differs."""
    monkeypatch.delitem(sys.modules, "pydantic_core._pydantic_core", raising=False)
    events = []
    bus = Bus(Secrets(), [events.append])
    for number in range(200):
        bus.emit("some.thing", number=number, text="ü")
    assert native.json_of({}) == b"{}"
    assert [{"number": number, "text": "ü"} for number in range(200)] == [event.data for event in events]
    assert list(range(200)) == [json.loads(event_line(event))["number"] for event in events]
