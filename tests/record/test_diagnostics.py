"""What a step collects when a server does not come up is in the record, the report and the export."""

from __future__ import annotations

import tarfile

import pytest

from cleanslate.cli.reporting import report
from cleanslate.cli.runs import export_run, show_run
from cleanslate.record import read_events
from tests.record.recorded import commit, repository, run, settings

pytestmark = pytest.mark.slow
HOSTS = "[all]\nalpha ansible_connection=local\n"
PLAY = """\
- hosts: all
  gather_facts: false
  environment: {XDG_STATE_HOME: "{{ playbook_dir }}/state"}
  tasks:
    - name: Up
      launch_server:
        name: one
        argv: [/bin/sh, -c, "echo says {{ the_token }}; exec sleep 30"]
        log: "{{ playbook_dir }}/one.log"
        settle: 0.1
    - name: Never
      wait_healthy: {name: one, ready_line: ^never, probe: false, within: 0.5s}
      ignore_errors: true
    - stop_server: {name: one, engine: none, grace: 0}
    - name: Dies
      launch_server:
        name: two
        argv: [/bin/sh, -c, "echo last words; exit 3"]
        log: "{{ playbook_dir }}/two.log"
        settle: 5
"""


def test_diagnostics_are_kept(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "repo").mkdir()
    repo = repository(tmp_path / "repo")
    commit(repo, {"playbooks/x.yml": PLAY, "hosts.ini": HOSTS})
    facts = run(repo, name="x", extra_vars=["the_token=hush-hush-9"])
    assert 2 == facts["exit_code"]
    folder = facts["folder"]
    kept = [event.data for event in read_events(folder) if event.kind == "host.kept"]
    names = [one["file"].split("-", 2)[-1] for one in kept]
    assert ["log-tail.txt", "processes.json", "report.json", "server-log-end.txt"] == names
    assert all((folder / one["file"]).stat().st_size == one["bytes"] and "text" not in one for one in kept)
    texts = {name: (folder / one["file"]).read_text() for name, one in zip(names, kept, strict=True)}
    assert ("says ********\n", "last words\n") == (texts["log-tail.txt"], texts["server-log-end.txt"])
    assert "hush-hush-9" not in "".join(texts.values())

    show_run(settings(repo), "last", step=None, host=None, as_json=False, verbosity=0)
    assert f"kept     {kept[-1]['file']}" in capsys.readouterr().out
    report(settings(repo), "last", html=str(tmp_path / "page.html"), junit=None)
    assert kept[0]["file"] in (tmp_path / "page.html").read_text()
    export_run(settings(repo), "last", str(tmp_path / "run.tar.gz"))
    with tarfile.open(tmp_path / "run.tar.gz") as archive:
        assert {f"{facts['id']}/{one['file']}" for one in kept} <= set(archive.getnames())
