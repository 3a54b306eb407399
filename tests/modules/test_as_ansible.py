"""The same modules by ansible-playbook and by ours: what steps register is the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.modules.conftest import HERE
from tests.runner.plays import run_play

STEPS = """
- name: first
  note: {dest: "{{ workdir }}/n", text: hello, style: loud, token: a-secret-token}
  environment: {GREETING: hi}
- name: again
  note: path={{ workdir }}/n text=HELLO
- name: foretold
  note: {path: "{{ workdir }}/other", text: hello}
  check_mode: true
  diff: true
- name: refused
  note: {path: "{{ workdir }}/n", text: fail, token: a-secret-token}
- name: lacking
  babble: {size: many}
- name: rc
  babble: {how: rc}
- name: noise
  babble: {how: noise}
- name: shelly
  shelly: {word: hello}
- name: wants
  wants: {word: [1, {a: b}]}
- name: collection
  example.tools.cry: {text: a, volume: 2}
- name: getent
  getent: {database: passwd, key: root}
- name: missing_key
  getent: {database: passwd, key: nobody-of-that-name}
- name: group
  group: {name: nobodies-here, gid: 61234}
  check_mode: true
- name: known_hosts
  known_hosts: {name: web, key: "web ssh-rsa AAAA", path: "{{ workdir }}/known"}
- name: apt
  apt: {name: [bash, no-such-package-anywhere], state: present}
  check_mode: true
- name: cron
  cron: {name: look, minute: "*/5", job: /bin/true, user: root, cron_file: "{{ workdir }}/crons"}
  environment: {PATH: "{{ workdir }}/bin:/usr/bin:/bin"}
- name: user
  user: {name: nobody-here, comment: A person, groups: [users], append: true}
  check_mode: true
- name: git
  git: {repo: "file://{{ workdir }}/from", dest: "{{ workdir }}/to"}
- name: repeated
  note: {path: "{{ workdir }}/{{ item }}", text: "{{ item }}"}
  loop: [a, b]
"""
# Different in every run, or of how each of the two works.
VOLATILE = {"mode", "shown", "tmpdir", "uid", "exception", "warnings", "deprecations", "module_stderr", "module_stdout"}
FAILED = {"changed", "failed", "rc"}  # of a failure its words may differ


def play(workdir: Path) -> str:
    names = [line.removeprefix("- name: ") for line in STEPS.splitlines() if line.startswith("- name: ")]
    lines = []
    for line in STEPS.strip("\n").splitlines():
        if line.startswith("- name: "):
            name = line.removeprefix("- name: ")
            lines += [line, f"  register: r_{name}", "  ignore_errors: true"]
        else:
            lines.append(line)
    pairs = ", ".join(f"'{name}': r_{name}" for name in names)
    lines += [f'- copy: {{dest: "{workdir}/results.json", content: "{{{{ {{{pairs}}} | to_json }}}}"}}']
    steps = "\n".join("    " + line for line in lines)
    return f"- hosts: all\n  gather_facts: false\n  tasks:\n{steps}\n"


def plain(value, workdir):
    """A result without what differs by nature."""
    if isinstance(value, dict):
        kept = {name: inner for name, inner in value.items() if name not in VOLATILE and not name.startswith("_")}
        if not kept.get("failed"):
            kept.pop("failed", None)  # items of loops lack it in Ansible
        else:
            kept = {name: inner for name, inner in kept.items() if name in FAILED}
        return {name: plain(inner, workdir) for name, inner in kept.items()}
    if isinstance(value, list):
        return [plain(inner, workdir) for inner in value]
    return value.replace(str(workdir), "HERE") if isinstance(value, str) else value


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_results_are_those_of_ansible(folder):
    """Field by field; of failures, that they failed, and how."""
    theirs, ours = folder / "theirs", folder / "ours"
    for place in (theirs, ours):
        (place / "bin").mkdir(parents=True)
        (place / "bin/crontab").write_text("#!/bin/sh\nexit 1\n")  # must be there, and is not asked for a cron_file
        (place / "bin/crontab").chmod(0o755)
        subprocess.run(["git", "init", "-q", "-b", "main", place / "from"], check=True)
        author = {"name": "a", "email": "a@b", "date": "2026-01-01T00:00:00Z"}
        told = {f"GIT_{who}_{key.upper()}": value for who in ("AUTHOR", "COMMITTER") for key, value in author.items()}
        commit = ["git", "commit", "-q", "--allow-empty", "-m", "one"]
        subprocess.run(commit, cwd=place / "from", env={**os.environ, **told}, check=True)
    (theirs / "play.yml").write_text(play(theirs))
    environment = {
        **os.environ,
        "ANSIBLE_LIBRARY": str(HERE / "library"),
        "ANSIBLE_COLLECTIONS_PATH": str(HERE / "collections"),
        "ANSIBLE_HOME": str(folder / "home"),
        "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
        "ANSIBLE_LOCALHOST_WARNING": "0",
        "LC_ALL": "C.UTF-8",
    }
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), "play.yml", "-i", "alpha,", "-c", "local"]
    done = subprocess.run(
        [*argv, "-e", f"workdir={theirs}"], cwd=theirs, env=environment, capture_output=True, text=True
    )
    assert (theirs / "results.json").exists(), done.stdout[-3000:] + done.stderr[-2000:]
    inventory = f"alpha ansible_connection=local ansible_python_interpreter={sys.executable}\n"
    run_play(ours, play(ours), inventory=inventory)
    found = {place: json.loads((place / "results.json").read_text()) for place in (theirs, ours)}
    assert plain(found[theirs], theirs) == plain(found[ours], ours)
