"""A run as JUnit XML: a test suite for each play, a test case for each step on each host."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import PurePosixPath
from typing import Any

from cleanslate.report.story import RUNNING, HostStory, RunStory, StepStory

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MOST = 20_000  # characters of an output that are told


def junit_report(story: RunStory) -> str:
    """The document. Failed is `failure`, unreachable `error`, skipped and unknown `skipped`; ignored failures pass."""
    facts = story.facts
    root = ET.Element("testsuites", {"name": _text(PurePosixPath(str(facts.get("playbook", "run"))).stem)})
    total = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for number, name in enumerate(story.plays):
        cases = [(step, one) for step in story.steps if step.play == number for one in step.hosts.values()]
        suite = ET.SubElement(root, "testsuite", _suite(story, name, cases))
        properties = ET.SubElement(suite, "properties")
        for key in ("id", "commit", "user", "controller", "outcome"):
            ET.SubElement(properties, "property", {"name": key, "value": _text(facts.get(key))})
        for step, one in cases:
            suite.append(_case(step, one))
        for key in total:
            total[key] += int(suite.attrib[key])
    root.attrib.update({key: str(value) for key, value in total.items()})
    root.attrib["time"] = f"{max(0.0, story.ended - story.started):.3f}"
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(story: RunStory, name: str, cases: list[tuple[StepStory, HostStory]]) -> dict[str, str]:
    statuses = [one.shown_status for _, one in cases]
    begun = min((one.started for _, one in cases), default=story.started)
    return {
        "name": _text(name),
        "tests": str(len(cases)),
        "failures": str(statuses.count("failed")),
        "errors": str(sum(status in ("unreachable", RUNNING) for status in statuses)),
        "skipped": str(sum(status in ("skipped", "unknown") for status in statuses)),
        "time": f"{sum(one.seconds for _, one in cases):.3f}",
        "timestamp": datetime.fromtimestamp(begun, timezone.utc).isoformat(timespec="seconds").replace("+00:00", ""),
        "hostname": _text(story.facts.get("controller")),
    }


def _case(step: StepStory, one: HostStory) -> ET.Element:
    name = f"{step.role} : {step.name}" if step.role else step.name
    where = {"classname": _text(one.host), "file": _text(step.origin.partition(":")[0])}
    case = ET.Element("testcase", {"name": _text(name), **where, "time": f"{one.seconds:.3f}"})
    message = _message(one)
    if one.shown_status == "failed":
        _sub(case, "failure", _details(step, one), message=message, type=step.type)
    elif one.shown_status == "unreachable":
        _sub(case, "error", _details(step, one), message=message, type="unreachable")
    elif one.shown_status == RUNNING:
        _sub(case, "error", "", message="the run ended before this step did", type="interrupted")
    elif one.shown_status in ("skipped", "unknown"):
        _sub(case, "skipped", "", message=message or one.shown_status)
    if one.shown_status in ("ignored", "rescued"):
        _sub(case, "system-out", f"failed, and was {one.shown_status}: {message}\n{_details(step, one)}")
    elif one.changes or one.result.get("stdout"):
        _sub(case, "system-out", "\n".join([*one.changes, _output(one.result, "stdout")]).strip())
    if one.result.get("stderr") and one.shown_status != "failed":
        _sub(case, "system-err", _output(one.result, "stderr"))
    return case


def _sub(parent: ET.Element, name: str, text: str, **attributes: str) -> None:
    made = ET.SubElement(parent, name, {key: _text(value) for key, value in attributes.items()})
    made.text = _text(text) or None


def _message(one: HostStory) -> str:
    for key in ("msg", "skip_reason", "false_condition"):
        if one.result.get(key):
            return str(one.result[key])
    return str(one.result.get("rc", "")) and f"exit code {one.result['rc']}"


def _details(step: StepStory, one: HostStory) -> str:
    """What a person needs to know of a failure."""
    command = one.result.get("cmd")
    shown = " ".join(map(str, command)) if isinstance(command, list) else command
    lines = [f"step: {step.name}  {step.origin}"]
    lines += [f"command: {shown}"] if shown else []
    lines += [f"{name}:\n{text}" for name in ("stdout", "stderr", "log_tail") if (text := _output(one.result, name))]
    lines += [f"do: {one.fix}"] if one.fix else []
    return "\n".join(lines)


def _output(result: Mapping[str, Any], name: str) -> str:
    value = result.get(name)
    text = "\n".join(map(str, value)) if isinstance(value, list) else str(value or "")
    return text if len(text) <= _MOST else f"(the last {_MOST} of {len(text)} characters)\n{text[-_MOST:]}"


def _text(value: Any) -> str:
    """Text that XML can hold; other characters are shown as escapes."""
    return _NOT_XML.sub(lambda match: f"\\u{ord(match[0]):04x}", "" if value is None else str(value))
