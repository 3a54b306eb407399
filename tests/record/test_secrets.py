"""No byte of a secret is in a record, nor in anything that is made from one."""

from __future__ import annotations

import base64
import html
import json
import shlex
from urllib.parse import quote

import pytest

from cleanslate.cli.diff import show_diff
from cleanslate.cli.reporting import report
from cleanslate.cli.runs import export_run, show_run
from tests.record.recorded import commit, repository, run, settings

SECRETS = [
    "plain-hush-1",
    "two words hush",
    'it\'s "quoted" hush',
    "dollar$HOME`hush`\\n",
    "line one hush\nline two hush\n",
    "hush=%41&x+y/z",
    "<hush>&amp;",
    "grüße-hush-☃",
    "hush\ttab",
    "{hush}",
    "-hush-option",
    "hu\u202esh",
]
PLAY = """\
- hosts: all
  gather_facts: false
  tasks:
    - {name: "says {{ the_token }}", debug: {msg: "a {{ the_token }} b"}}
    - {name: as it is, command: {argv: [echo, "{{ the_token }}", "{{ the_token | quote }}"]}}
    - {name: base64, command: {argv: [echo, "{{ the_token | b64encode }}"]}}
    - {name: json, debug: {msg: "{{ {'a': the_token} | to_json }} {{ the_token | urlencode }}"}}
    - {name: env, command: env, environment: {HF_TOKEN: "{{ the_token }}"}}
    - {name: file, copy: {content: "x {{ the_token }}\\n", dest: "{{ playbook_dir }}/out"}, diff: true}
    - {name: bad, fail: {msg: "no {{ the_token }}"}, ignore_errors: true}
    - {name: loop, debug: {msg: "{{ item }}"}, loop: ["{{ the_token }}"]}
    - {name: broken, command: "false {{ the_token | quote }}"}
"""


def forms(secret):
    """How it could be read."""
    yield from (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    yield from (html.escape(secret), quote(secret), quote(secret, safe=""), shlex.quote(secret), repr(secret)[1:-1])
    yield base64.b64encode(secret.encode()).decode()
    yield from (line for line in secret.splitlines() if len(line) >= 4)


@pytest.mark.parametrize("secret", [*SECRETS[:2], *(pytest.param(one, marks=pytest.mark.slow) for one in SECRETS[2:])])
def test_a_secret_is_in_nothing_that_is_kept_or_made(tmp_path, capsys, secret):
    """Whatever its shape: record, console, comparison, page, JUnit, export."""
    repo = repository(tmp_path)
    commit(repo, {"playbooks/x.yml": PLAY, "hosts.ini": "[all]\nalpha ansible_connection=local\n"})
    given = settings(repo)
    run(repo, name="x", extra_vars=[json.dumps({"the_token": secret})], verbose=3, diff=True)
    facts = run(repo, name="x", extra_vars=[json.dumps({"the_token": secret}), "other=1"])
    show_run(given, "last", step=None, host=None, as_json=True, verbosity=3)
    show_run(given, "last", step="*", host=None, as_json=False, verbosity=3)
    show_diff(given, "@-2", "last", as_json=True)
    report(given, "last", html=str(repo / "x.html"), junit=str(repo / "x.xml"))
    export_run(given, "last", str(repo / "x.tar.gz"))
    shown = capsys.readouterr()
    places = {str(path): path.read_text("utf-8", "replace") for path in (repo / ".runs").rglob("*") if path.is_file()}
    places |= {"page": (repo / "x.html").read_text(), "junit": (repo / "x.xml").read_text()}
    places |= {"output": shown.out, "errors": shown.err}
    found = [(place, form) for place, text in places.items() for form in forms(secret) if form in text]
    assert [] == found
    assert 2 == facts["exit_code"]
