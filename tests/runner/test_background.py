"""Steps with async: waited for, asked for later, ended at their limit, and refused where they cannot go on."""

from __future__ import annotations

import pytest

from cleanslate.errors import InputError
from tests.runner.plays import run_play
from tests.runner.test_flow import ONE, tasks


@pytest.fixture(autouse=True)
def jobs_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ANSIBLE_ASYNC_DIR", str(tmp_path / "jobs"))
    return tmp_path / "jobs"


def test_a_step_that_is_waited_for_gives_its_own_result_and_the_jobs(tmp_path):
    text = tasks("- {name: one, shell: 'echo out; exit 3', async: 20, poll: 1, ignore_errors: true}")
    result = run_play(tmp_path, text, inventory=ONE).results("one")["alpha"]
    expected = {"stdout": "out", "rc": 3, "failed": True, "finished": True, "started": True}
    assert expected == {name: result[name] for name in expected}


def test_a_step_in_the_background_is_asked_for_later(tmp_path, jobs_folder):
    text = tasks(
        """
- {name: start, shell: sleep 0.2; echo done, async: 20, poll: 0, register: job}
- name: end
  async_status: {jid: "{{ job.ansible_job_id }}"}
  register: found
  until: found is finished
  retries: 100
  delay: 0.05
- {name: clean, async_status: {jid: "{{ job.ansible_job_id }}", mode: cleanup}}
- {name: gone, async_status: {jid: "{{ job.ansible_job_id }}"}, ignore_errors: true}
"""
    )
    ran = run_play(tmp_path, text, inventory=ONE)
    start, end, gone = (ran.results(name)["alpha"] for name in ("start", "end", "gone"))
    assert (True, False, 0) == (start["started"], start["finished"], end["rc"])
    assert ("done", True, "could not find job") == (end["stdout"], end["finished"], gone["msg"])
    assert [] == list(jobs_folder.iterdir())


@pytest.mark.slow
def test_the_limit_ends_what_runs(tmp_path):
    text = tasks(f"- {{name: one, shell: 'sleep 3; touch {tmp_path}/late', async: 1, poll: 1}}")
    ran = run_play(tmp_path, text, inventory=ONE)
    assert 2 == ran.outcome.exit_code
    assert "Job reached maximum time limit of 1 seconds." == ran.results("one")["alpha"]["msg"]
    assert not (tmp_path / "late").exists()


def test_what_cannot_go_on_by_itself_is_refused_at_load(tmp_path):
    with pytest.raises(InputError, match="cannot go on by itself"):
        run_play(tmp_path, tasks("- {file: {path: /x, state: absent}, async: 5, poll: 0}"))
