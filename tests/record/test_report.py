"""`inv report`: the reports of a recorded run, against the last good one."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from cleanslate.cli.reporting import report
from cleanslate.errors import InputError
from tests.record.recorded import BROKEN, PLAY, commit, repository, run, settings


def test_a_report_compares_with_the_last_good_run_of_the_playbook(tmp_path):
    """Not with check mode, a failed run, or a later one."""
    repo = repository(tmp_path)
    good = run(repo)
    run(repo, check=True)
    commit(repo, {"playbooks/paint.yml": BROKEN})
    bad = run(repo, extra_vars=["color=red"])
    commit(repo, {"playbooks/paint.yml": PLAY})
    run(repo)
    report(settings(repo), bad["id"], html=str(repo / "x.html"), junit=str(repo / "x.xml"))
    page = (repo / "x.html").read_text()
    assert f"Since the last good run<small>  {good['id']}" in page
    assert "<td>green</td><td>red</td>" in page
    assert "1" == ET.parse(repo / "x.xml").getroot().get("failures")


def test_a_report_goes_to_standard_output_when_asked(tmp_path, capsys):
    """For pipes."""
    repo = repository(tmp_path)
    run(repo)
    capsys.readouterr()
    report(settings(repo), "last", html=None, junit="-")
    assert capsys.readouterr().out.startswith("<?xml")


@pytest.mark.parametrize(("html", "said"), [(None, "nothing to write"), ("/nowhere/x.html", "no such file")])
def test_what_cannot_be_written_is_said(tmp_path, html, said):
    """Before or after looking."""
    repo = repository(tmp_path)
    run(repo)
    with pytest.raises(InputError, match=said):
        report(settings(repo), "last", html=html, junit=None)
