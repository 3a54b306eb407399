"""JUnit XML: what CI systems read of a run."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from cleanslate.model import Event
from cleanslate.report.junit import junit_report
from cleanslate.report.story import tell_story
from tests.report.test_html import FACTS, done, events, step


def read(told, facts=FACTS):
    """The document, parsed."""
    return ET.fromstring(junit_report(tell_story(facts, told)))


def test_counts_are_those_of_the_cases():
    """A suite for each play, a case for each step on each host."""
    root = read(events())
    suite = root.find("testsuite")
    assert ("restart", "4", "1", "0", "0") == tuple(
        root.get(key) for key in ("name", "tests", "failures", "errors", "skipped")
    )
    assert ("Restart", "4", "1970-01-01T00:16:40", "laptop") == tuple(
        suite.get(key) for key in ("name", "tests", "timestamp", "hostname")
    )
    assert [("a", "2.000"), ("b", "3.000"), ("a", "1.000"), ("a", "7.000")] == [
        (case.get("classname"), case.get("time")) for case in suite.iter("testcase")
    ]


def test_a_failure_says_why_and_what_to_do():
    """Message, command, output, advice; what XML cannot hold is shown as an escape."""
    failure = next(read(events()).iter("failure"))
    assert "<script>alert(1)</script>\"'&\\u001b[31m\u202e" == failure.get("message")
    for part in ("step: Stop the server  playbooks/restart.yml:3:5", "command: kill <script>", "line 98", "do: reboot"):
        assert part in failure.text


@pytest.mark.parametrize(
    ("status", "ignored", "found"),
    [
        ("ok", False, []),
        ("changed", False, []),
        ("failed", False, ["failure"]),
        ("failed", True, ["system-out"]),
        ("unreachable", False, ["error"]),
        ("skipped", False, ["skipped"]),
        ("unknown", False, ["skipped"]),
    ],
)
def test_each_outcome_has_its_element(status, ignored, found):
    """An ignored failure passes, and says so."""
    play = Event("play.started", {"play": 0, "name": "p", "hosts": ["a"]}, 1000.0)
    root = read([play, step(1, "s", hosts=("a",)), done(1, "a", 1001.0, 1.0, status, ignored=ignored)])
    assert found == [element.tag for element in root.find("testsuite/testcase")]


def test_a_step_that_did_not_end_is_an_error():
    """The run was killed."""
    play = Event("play.started", {"play": 0, "name": "p", "hosts": ["a"]}, 1000.0)
    (error,) = read([play, step(1, "s", hosts=("a",))]).iter("error")
    assert "the run ended before this step did" == error.get("message")


def test_a_run_without_steps_is_a_document():
    """Killed before its first."""
    assert "0" == read([], {"id": "x", "playbook": "p.yml"}).get("tests")
