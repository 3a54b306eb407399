"""The `notify` setting: who is told what, when a run fails and when all is well again."""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from cleanslate.cli.loading import PlayOptions
from cleanslate.cli.notifying import news, notify_setting
from cleanslate.cli.play import play
from cleanslate.errors import InputError
from cleanslate.model import Event
from cleanslate.record import RunRecord, read_run
from cleanslate.report.notify import Notify, message, send
from cleanslate.report.story import tell_story
from tests.record.recorded import BROKEN, PLAY, commit, repository, settings, standing_in

BODY = {"text": "x"}


@pytest.fixture
def webhook():
    """A server that keeps what it is sent; its answer can be chosen."""
    taken = []

    class Handler(BaseHTTPRequestHandler):
        answer = 200

        def do_POST(self):
            length = int(self.headers["Content-Length"])
            taken.append((self.path, self.headers["Content-Type"], json.loads(self.rfile.read(length))))
            self.send_response(self.answer)
            self.end_headers()

        def log_message(self, *_):
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    server.taken, server.handler = taken, Handler
    server.address = f"http://127.0.0.1:{server.server_port}/services/T000/s3cret"
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_failure_and_the_recovery_after_it_are_told(tmp_path, webhook, monkeypatch):
    """Once each, with what failed where; a run that goes on to be well is no news."""
    monkeypatch.setenv("HOOK", webhook.address)
    repo = repository(tmp_path)
    given = settings(repo, notify=Notify(webhook="$HOOK"))
    texts = [PLAY, BROKEN, PLAY, PLAY]
    for text in texts:
        commit(repo, {"playbooks/paint.yml": text, "n": str(len(webhook.taken)) + text})
        with standing_in(repo):
            play(PlayOptions("paint", output="quiet"), given)
            play(PlayOptions("paint", output="quiet", check=True), given)
    assert ["paint failed on alpha", "paint is well again on alpha"] == [body["text"] for _, _, body in webhook.taken]
    path, kind, body = webhook.taken[0]
    assert ("/services/T000/s3cret", "application/json") == (path, kind)
    assert "alpha: Say it: no paint" == body["attachments"][0]["text"]
    assert {"run", "by", "took", "see"} == {field["title"] for field in body["attachments"][0]["fields"]}


def test_a_command_is_given_the_body_and_the_run(tmp_path):
    """On standard input, and in its environment; text is for a shell."""
    place = tmp_path / "told"
    code = "import sys, os; open(sys.argv[1], 'w').write(sys.stdin.read() + os.environ['CLEANSLATE_RUN'])"
    words = [sys.executable, "-c", code, str(place)]
    assert [] == send(Notify(command=words), "failure", BODY, {"CLEANSLATE_RUN": "r1"})
    assert '{"text": "x"}r1' == place.read_text()
    assert [] == send(Notify(command=f"echo $CLEANSLATE_KIND > {place}"), "failure", BODY, {})
    assert "failure\n" == place.read_text()


@pytest.mark.parametrize(
    ("notify", "said"),
    [
        (
            Notify(command="echo no such channel >&2; exit 3"),
            "the notify command ended with exit code 3: no such channel",
        ),
        (Notify(command=["/nowhere/x"]), "the notify command did not run"),
        (Notify(webhook="http://127.0.0.1:1/s3cret"), "the notify webhook at 127.0.0.1 cannot be reached"),
        (Notify(webhook="file:///etc/passwd"), "the notify webhook is no address"),
        (Notify(webhook="$NOBODY_SET_THIS"), "the notify webhook is no address"),
    ],
)
def test_what_goes_wrong_is_said_without_the_address(notify, said):
    """Which often is a secret."""
    (trouble,) = send(notify, "failure", BODY, {})
    assert trouble.startswith(said)
    assert "s3cret" not in trouble


def test_a_refusal_is_said(webhook):
    """With its number."""
    webhook.handler.answer = 404
    (trouble,) = send(Notify(webhook=webhook.address), "failure", BODY, {})
    assert "the notify webhook at 127.0.0.1 answered 404 Not Found" == trouble


def test_trouble_with_telling_does_not_change_how_the_run_ended(tmp_path, capsys):
    """It is a warning."""
    repo = repository(tmp_path, {"playbooks/bad.yml": BROKEN})
    with standing_in(repo):
        code = play(PlayOptions("bad", output="quiet"), settings(repo, notify=Notify(command="exit 1")))
    assert (2, "warning: the notify command ended with exit code 1\n") == (code, capsys.readouterr().err)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("https://hooks.example.org/x", Notify(webhook="https://hooks.example.org/x")),
        ("$SLACK_WEBHOOK", Notify(webhook="$SLACK_WEBHOOK")),
        ("./tell", Notify(command="./tell")),
        ({"command": ["./tell", 1]}, Notify(command=["./tell", "1"])),
        ({"webhook": "$X", "on": "failure"}, Notify(webhook="$X", on=["failure"])),
    ],
)
def test_the_setting_is_short_or_long(given, expected):
    """An address, a command, or both with what to tell of."""
    found = notify_setting(given)
    assert (expected.command, expected.webhook, list(expected.on)) == (found.command, found.webhook, list(found.on))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"webhok": "x"}, 'did you mean "webhook"'),
        ({"on": ["failed"]}, 'notify on "failed"'),
        (["x"], "a command, an address"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(given, said):
    """Before anything runs."""
    with pytest.raises(InputError) as refused:
        notify_setting(given)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("before", "now", "found"),
    [
        ([], "failed", "failure"),
        (["failed"], "unreachable", "failure"),
        (["failed"], "ok", "recovery"),
        (["failed", "interrupted", "lease held", None], "ok", "recovery"),
        (["failed", "ok"], "ok", None),
        ([], "ok", None),
        (["failed"], "interrupted", None),
        (["failed"], "lease held", None),
    ],
)
def test_what_is_news(tmp_path, before, now, found):
    """A recovery is the first good run after a failure, whatever did not count in between."""
    for number, outcome in enumerate([*before, now]):
        record = RunRecord(tmp_path, f"r{number}", {"playbook": "x.yml", "started_at": number})
        record(Event("play.started", {"play": 0, "name": "p", "hosts": ["a"]}))
        if outcome:
            ended = {"exit_code": 0, "seconds": 1.0, "recap": {}, "stopped_at": None}
            record(Event("run.finished", {"outcome": outcome, **ended}))
        record.close()
    folder = tmp_path / f"r{len(before)}"
    assert found == news(tmp_path, folder, read_run(folder))


def test_another_playbook_or_other_hosts_do_not_recover(tmp_path):
    """They were not broken."""
    for number, (playbook, host, outcome) in enumerate([("x", "a", "failed"), ("y", "a", "ok"), ("x", "b", "ok")]):
        record = RunRecord(tmp_path, f"r{number}", {"playbook": f"{playbook}.yml", "started_at": number})
        record(Event("play.started", {"play": 0, "name": "p", "hosts": [host]}))
        ended = {"exit_code": 0, "seconds": 1.0, "recap": {}, "stopped_at": None}
        record(Event("run.finished", {"outcome": outcome, **ended}))
        record.close()
    assert [None, None] == [news(tmp_path, tmp_path / name, read_run(tmp_path / name)) for name in ("r1", "r2")]


def test_what_a_host_says_cannot_mention_anybody():
    """Or make a link."""
    events = [
        Event("step.started", {"step": 1, "name": "s", "type": "t", "origin": "x", "hosts": ["a"]}),
        Event(
            "host.finished", {"step": 1, "host": "a", "status": "failed", "result": {"msg": "<!channel> & <x>\nmore"}}
        ),
    ]
    body = message(tell_story({"playbook": "x.yml", "outcome": "failed", "hosts": ["a"]}, events), "failure")
    assert "a: s: &lt;!channel&gt; &amp; &lt;x&gt;" == body["attachments"][0]["text"]
