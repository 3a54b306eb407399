"""The page of a run: everything that happened is on it, and nothing that a host says becomes markup."""

from __future__ import annotations

import html.parser
import re

import pytest

from cleanslate.model import Event
from cleanslate.report.html import LastGood, html_report
from cleanslate.report.html.markup import seconds, tag, text
from cleanslate.report.story import tell_story

FACTS = {
    "id": "20260101-000000-restart-1",
    "playbook": "/r/playbooks/restart.yml",
    "started_at": 1000.0,
    "user": "me",
    "controller": "laptop",
    "outcome": "failed",
    "exit_code": 2,
    "seconds": 12.0,
    "argv": ["play", "restart"],
    "commit": "0123456789abcdef",
    "branch": "main",
    "uncommitted": {"files": ["playbooks/restart.yml"]},
    "recap": {"a": {"ok": 1, "changed": 1, "failed": 0}, "b": {"ok": 0, "changed": 0, "failed": 1}},
    "targets": {
        "a": {"os": "Debian 12", "driver": "580.1", "gpus": [{"name": "H200"}] * 8, "engines": {"sglang": "0.5"}}
    },
    "metrics": {"a": {"tok/s": 90.0}},
    "versions": {"cleanslate": "0.1.0"},
}
HOSTILE = "<script>alert(1)</script>\"'&\x1b[31m\u202e"


def step(number, name, kind="command", hosts=("a", "b"), at=1000.0):
    """The start of a step."""
    what = {"step": number, "name": name, "type": kind, "origin": "playbooks/restart.yml:3:5", "role": None}
    return Event("step.started", {**what, "section": "tasks", "handler": False, "hosts": list(hosts)}, at)


def done(number, host, at, took, status="ok", **more):
    """The end of a step on a host."""
    given = {"delegate": None, "ignored": False, "result": {}, "diffs": [], "changes": [], "fix": None, "warnings": []}
    data = {"step": number, "host": host, "status": status, "seconds": took, "args": None, **given, **more}
    return Event("host.finished", data, at)


def events():
    """A run of three steps on two hosts, of which one fails."""
    yield Event("run.started", {"run": FACTS["id"]}, 1000.0)
    yield Event("play.started", {"play": 0, "name": "Restart", "hosts": ["a", "b"]}, 1000.0)
    yield step(1, "Stop the server", "stop_server")
    yield Event("host.progress", {"step": 1, "host": "a", "text": "9 left", "facts": {"left": 9}}, 1001.0)
    yield done(1, "a", 1002.0, 2.0, "changed", changes=["end 9 processes"], delegate="pve")
    result = {
        "msg": HOSTILE,
        "cmd": ["kill", HOSTILE],
        "rc": 1,
        "stderr": "\n".join(f"line {n} {HOSTILE}" for n in range(99)),
    }
    yield done(1, "b", 1003.0, 3.0, "failed", result=result, fix=f"reboot {HOSTILE}", warnings=[HOSTILE])
    yield step(2, f"Patch {HOSTILE}", "patch_config", ("a",), 1003.0)
    diff = {"header": "/etc/x", "before": "a\n<b>old</b>\n", "after": "a\n<b>new</b>\n"}
    yield done(2, "a", 1004.0, 1.0, "changed", diffs=[diff], args={"path": HOSTILE})
    yield step(3, "Healthy", "wait_healthy", ("a",), 1004.0)
    for second, mib in ((1005.0, 0), (1008.0, 40_000), (1011.0, 77_824)):
        yield Event(
            "host.gpus",
            {"host": "a", "gpus": [{"index": 0, "uuid": "G", "used_mib": mib, "total_mib": 143_771}]},
            second,
        )
    phases = [{"name": "load", "seconds": 5.0}, {"name": "capture", "seconds": 2.0}]
    yield done(3, "a", 1011.0, 7.0, result={"phases": phases})
    yield Event("run.warning", {"text": "nobody answers", "origin": "x.yml:1"}, 1011.0)
    yield Event("run.finished", {"run": FACTS["id"]}, 1012.0)


class Reader(html.parser.HTMLParser):
    """Checks that elements are closed as they were opened; keeps text, tags and attributes."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.text = [], [], []

    def handle_starttag(self, name, attrs):
        self.tags.append((name, dict(attrs)))
        if name != "meta":
            self.open.append(name)

    def handle_endtag(self, name):
        assert name == self.open.pop()

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)


def read(page):
    """The page, parsed."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert [] == reader.open
    return reader


@pytest.fixture(scope="module")
def page():
    """The page of that run."""
    good = LastGood(
        "20251231-000000-restart-0",
        900.0,
        10.0,
        [("option", "--check", "false", "true")],
        [("tok/s", "a", 100.0, 90.0)],
    )
    return html_report(tell_story(FACTS, events()), good)


def test_the_page_is_well_formed_and_loads_nothing(page):
    """No script, no address but places in itself, and a policy that forbids the rest."""
    reader = read(page)
    assert set() == {name for name, _ in reader.tags} & {"script", "img", "link", "iframe", "object", "form", "base"}
    addresses = [value for _, attrs in reader.tags for key, value in attrs.items() if key in ("href", "src", "action")]
    ids = {attrs["id"] for _, attrs in reader.tags if "id" in attrs}
    assert {address.removeprefix("#") for address in addresses} <= ids and all(one.startswith("#") for one in addresses)
    assert [] == re.findall(r"url\(|@import|https?:", page)
    policy = next(attrs["content"] for name, attrs in reader.tags if attrs.get("http-equiv"))
    assert "default-src 'none'; style-src 'unsafe-inline'" == policy


def test_nothing_from_a_host_becomes_markup_and_nothing_hides(page):
    """Markup, controls and changes of direction are shown as what they are."""
    assert "<script>" not in page
    assert not {"\x1b", "\u202e"} & set(page)
    assert "<script>alert(1)</script>\"'&\\x1b[31m\\u202e" in "".join(read(page).text)
    assert all(not key.startswith("on") for _, attrs in read(page).tags for key in attrs)


@pytest.mark.parametrize(
    "words",
    [
        "failed: restart, ",
        "by me on laptop",
        "0123456789ab",
        "with uncommitted changes in playbooks/restart.yml",
        "Debian 12, driver 580.1, 8 x H200, sglang 0.5",
        "What went wrong",
        "To do: reboot",
        "stderr, last 30 of 99 lines",
        "nobody answers x.yml:1",
        "a → pve",
        "end 9 processes",
        "at most 76.0 GiB of 140 GiB",
        "load 5.0 s",
        "+<b>new</b>",
        "1.0 s  9 left",
        "tok/s a 90 100 -10.0 %",
        "against the last good run, 20251231-000000-restart-0",
        "option --check false true",
    ],
)
def test_what_happened_is_on_the_page(page, words):
    """Outcome, reasons, times, memory, phases, diffs, measures, differences."""
    assert words.replace(" ", "") in re.sub(r"\s", "", "".join(read(page).text))


def test_bars_stand_where_the_steps_were(page):
    """In parts of the whole run, with words for those who point at them."""
    bars = [attrs for name, attrs in read(page).tags if attrs.get("class", "").startswith("bar ")]
    assert ("bar failed", "left:0.00%;width:25.00%") == (bars[0]["class"], bars[0]["style"])
    assert "Healthy: ok, 7.0 s, from 4.0 s" in [bar["title"] for bar in bars]
    assert {"left:33.33%;width:58.33%"} == {bar["style"] for bar in bars if bar["title"].startswith("Healthy")}


def test_failed_steps_are_open(page):
    """The others are for those who want to know."""
    folded = [attrs for name, attrs in read(page).tags if name == "details" and attrs.get("class") == "step"]
    assert [True, False, False] == ["open" in attrs for attrs in folded]


def test_a_run_that_was_killed_has_a_page(page):
    """What was running is shown as such."""
    facts = {**FACTS, "outcome": None, "seconds": None, "recap": None}
    told = [event for event in events() if event.kind != "run.finished" and event.data.get("step") != 3]
    killed = html_report(tell_story(facts, [*told, step(3, "Healthy", hosts=("a",), at=1010.0)]))
    words = "".join(read(killed).text)
    assert "not ended" in words and "last sign of it after" in words
    assert "bar running" in killed


def test_a_run_without_events_has_a_page():
    """Killed before its first."""
    assert "not ended" in "".join(read(html_report(tell_story({"id": "x", "playbook": "p.yml"}, []))).text)


def test_many_hosts_do_not_make_it_endless():
    """Those that failed come first; the others are named."""
    hosts = [f"host{number}" for number in range(200)]
    told = [Event("play.started", {"play": 0, "name": "p", "hosts": hosts}, 0.0), step(1, "s", hosts=hosts, at=0.0)]
    told += [done(1, host, 1.0, 1.0, result={"msg": "m" * 3000}) for host in hosts[:-1]]
    told += [done(1, hosts[-1], 1.0, 1.0, "failed", result={"msg": "broken"})]
    made = html_report(tell_story(FACTS, told))
    words = "".join(read(made).text)
    assert len(made) < 300_000
    assert "and 170 more hosts without a failure here" in words and "host150" in words
    assert words.index("host199") < words.index("host0")


def test_a_very_long_result_is_cut():
    """The record has it whole."""
    told = [
        step(1, "s", hosts=("a",)),
        done(1, "a", 1001.0, 1.0, result={"content": "x" * 900_000, "stdout": "y" * 90_000}),
    ]
    assert len(html_report(tell_story(FACTS, told))) < 100_000


def test_gpus_seen_from_two_hosts_are_one_machine():
    """A container and its hypervisor see the same ones."""
    gpus = [{"index": 0, "uuid": "G", "used_mib": 1, "total_mib": 10}]
    told = [Event("host.gpus", {"host": host, "gpus": gpus}, 1.0) for host in ("a", "pve")]
    (machine,) = tell_story(FACTS, told).machines
    assert (["a", "pve"], {0: [(1.0, 1.0), (1.0, 1.0)]}) == (machine.hosts, machine.series)


@pytest.mark.parametrize("used", [None, "unknown", True])
def test_a_reading_without_a_number_is_none(used):
    """It is not taken for zero."""
    told = [Event("host.gpus", {"host": "a", "gpus": [{"index": 0, "used_mib": used}]}, 1.0)]
    assert [{}] == [machine.series for machine in tell_story(FACTS, told).machines]


@pytest.mark.parametrize(
    ("value", "shown"), [(0.04, "0.0 s"), (9.9, "9.9 s"), (59.4, "59 s"), (61, "1 min 01 s"), (3725, "1 h 02 min")]
)
def test_durations_are_written_for_people(value, shown):
    """With a unit."""
    assert shown == seconds(value)


def test_markup_is_made_of_escaped_text():
    """Children and attributes alike; what is markup already stays."""
    assert '<p title="&lt;&quot;">&lt;b&gt;<i>x</i></p>' == tag("p", "<b>", tag("i", "x"), title='<"')
    assert "" == text(None)


def test_a_failure_that_a_block_rescued_is_no_reason():
    """It is shown as what it is."""
    told = [Event("play.started", {"play": 0, "name": "p", "hosts": ["a"]}, 1000.0)]
    told += [step(1, "try", hosts=("a",)), done(1, "a", 1001.0, 1.0, "failed", position=[1, 0, 0, 0])]
    told += [step(2, "mend", hosts=("a",)), done(2, "a", 1002.0, 1.0, position=[1, 0, 1, 0])]
    told += [Event("host.rescued", {"host": "a", "position": [1, 0]}, 1002.0)]
    told += [step(3, "fail", hosts=("a",)), done(3, "a", 1003.0, 1.0, "failed", position=[1, 1])]
    story = tell_story(FACTS, told)
    assert ["rescued", "ok", "failed"] == [one.shown_status for _, one in story.of_host("a")]
    assert [False, False, True] == [one.failed for one in story.steps]


def test_the_sum_of_all_gpus_is_drawn_where_single_ones_are_not_read_any_more():
    """A wait tells only the sum."""
    gpu = {"index": 0, "uuid": "G", "used_mib": 0, "total_mib": 10}
    told = [Event("host.gpus", {"host": "a", "gpus": [gpu]}, 1000.0), step(1, "wait", hosts=("a",))]
    told += [Event("host.progress", {"step": 1, "host": "a", "text": "", "facts": {"gpu_mib": 9}}, 1001.0)]
    assert "all GPUs: at most 9 MiB of 10 MiB" in html_report(tell_story(FACTS, told))
    told += [Event("host.gpus", {"host": "a", "gpus": [gpu]}, 1002.0)]
    assert "all GPUs" not in html_report(tell_story(FACTS, told))
