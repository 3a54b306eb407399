"""Ansible's modules over a real connection: arguments, check mode, diff, secrets, become, results, deadlines, async."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cleanslate.connect import client

pytestmark = pytest.mark.slow

SECRET = 'sw0rdf!sh and "more" $x'


def only(ran, name):
    """The one host's event of a step."""
    names = {event.data["step"]: event.data["name"] for event in ran.events if event.kind == "step.started"}
    return next(one.data for one in ran.events if one.kind == "host.finished" and names[one.data["step"]] == name)


def test_a_module_runs_as_it_is(play, folder):
    """It changes what it should, its result is the step's, and its facts are variables from here on."""
    ran = play(
        """
- name: first
  note: {dest: "{{ workdir }}/n", text: hello, style: loud}
  register: it
  environment: {GREETING: hi}
- name: again
  note: path={{ workdir }}/n text=HELLO
- name: seen
  assert:
    that:
      - it is changed and it.stdout_lines == ['one', 'two'] and it.greeting == 'hi' and it.invocation is undefined
      - noted == 'HELLO' and ansible_facts.noted == 'HELLO'
""",
    )
    assert [("first", "changed"), ("again", "ok"), ("seen", "ok")] == [(one, said) for one, _, said in ran.statuses]
    assert "HELLO" == (folder / "n").read_text()
    assert ["take care"] == only(ran, "first")["warnings"]


def test_check_mode_and_diff_are_the_modules_own(play, folder):
    """Foretold by the module itself, with its diff; what knows no check mode is unknown, and neither does anything."""
    ran = play(
        """
- name: foretold
  note: {path: "{{ workdir }}/n", text: hello}
- name: unknown
  blunt: {path: "{{ workdir }}/b"}
- name: a program of any kind
  shelly: word=hello
""",
        check=True,
        diff=True,
    )
    assert [("foretold", "changed"), ("unknown", "unknown"), ("a program of any kind", "unknown")] == [
        (one, said) for one, _, said in ran.statuses
    ]
    diff = {"header": str(folder / "n"), "before": "", "after": "hello"}
    assert [diff] == only(ran, "foretold")["diffs"]
    assert [] == [name for name in ("n", "b") if (folder / name).exists()]


def test_secrets_are_seen_nowhere(play):
    """Arguments that the module marks no_log are in no event, also of a failure, and no process's command line."""
    ran = play(
        f"""
- name: told
  note: {{path: "{{{{ workdir }}}}/n", text: a, token: '{SECRET}'}}
  register: it
- name: kept
  assert: {{that: ["it.said == 'the token is ' ~ '*' * 8"]}}
- name: failed
  note: {{path: "{{{{ workdir }}}}/n", text: fail, token: '{SECRET}'}}
  ignore_errors: true
"""
    )
    shown = only(ran, "told")["result"]["shown"]
    assert all(SECRET not in line for line in shown) and any("python" in line for line in shown)
    assert "********" == only(ran, "told")["args"]["token"]
    assert "sw0rdf" not in json.dumps([event.data for event in ran.events])


def test_it_becomes_another_user(play):
    """Through the agent that sudo started."""
    ran = play("- name: it\n  note: {path: '{{ workdir }}/n', text: a}\n  become: true\n  become_user: somebody")
    assert only(ran, "it")["result"]["became"]


@pytest.mark.parametrize(
    ("how", "status", "part"),
    [
        ("how: noise", "ok", {"text": ""}),
        ("how: noise, size: 3000000", "ok", {"text": "y" * 3000000}),
        ("how: rc", "failed", {"rc": 3, "stdout": "no", "failed": True}),
        (
            "how: nothing",
            "failed",
            {"rc": 4, "module_stdout": "this is no JSON\n", "module_stderr": "and this is why\n"},
        ),
    ],
)
def test_results_of_every_kind(play, how, status, part):
    """Noise around it, large ones, an exit code without a verdict, and none at all."""
    ran = play(f"- name: it\n  babble: {{{how}}}")
    found = only(ran, "it")
    assert status == found["status"]
    assert part == {name: found["result"][name] for name in part}


def test_no_result_says_why(play):
    """What the module last said stands in the message; one that raises has its error in it."""
    ran = play("- name: a\n  babble: {how: nothing}\n  ignore_errors: true\n- name: b\n  babble: {how: trace}")
    said = "the module babble gave no result that can be read; it ended with 4: and this is why"
    assert said == only(ran, "a")["result"]["msg"]
    assert "it fell over" in only(ran, "b")["result"]["msg"]


def test_nothing_is_left_of_one_that_its_deadline_ended(play, folder):
    """Neither a process nor a folder; and the step has failed."""
    ran = play('- name: it\n  linger: {path: "{{ workdir }}/places", seconds: 60}\n  timeout: 3')
    found = only(ran, "it")
    places = json.loads((folder / "places").read_text())
    assert ("failed", True) == (found["status"], found["result"]["timedout"])
    assert [] == [one for one in (places["tmpdir"], places["package"], f"/proc/{places['pid']}") if Path(one).exists()]


def test_it_goes_on_by_itself(play):
    """`async` with and without waiting, asked for with async_status."""
    ran = play(
        """
- name: waited
  linger: {path: "{{ workdir }}/a", seconds: 0.1}
  async: 60
  poll: 1
- name: begun
  linger: {path: "{{ workdir }}/b", seconds: 0.1}
  async: 60
  poll: 0
  register: job
- name: over
  async_status: {jid: "{{ job.ansible_job_id }}"}
  register: found
  until: found is finished
  retries: 60
  delay: 0.2
"""
    )
    assert ["changed"] * 3 == [status for _, _, status in ran.statuses]
    assert all("pid" in only(ran, name)["result"] for name in ("waited", "over"))


def test_programs_of_other_kinds(play):
    """Those that are given a file with their arguments, as words or as JSON, which only they can read."""
    ran = play("- name: sh\n  shelly: {word: it's}\n- name: json\n  wants: {word: [1]}")
    assert {"echo": "it's", "mode": "600"} == {name: only(ran, "sh")["result"][name] for name in ("echo", "mode")}
    assert [1] == only(ran, "json")["result"]["given"]


def test_a_module_is_sent_once_to_each_target(play, monkeypatch):
    """The second call, in check mode or not, sends some hundred bytes."""
    sent: list[int] = []
    whole = client.frame

    def frame(header, data=b""):
        made = whole(header, data)
        sent.append(len(made))
        return made

    monkeypatch.setattr(client, "frame", frame)
    steps = "\n".join(f"- name: s{n}\n  note: {{path: '{{{{ workdir }}}}/{n}', text: a}}" for n in range(3))
    ran = play(f"{steps}\n- name: s3\n  note: {{path: '{{{{ workdir }}}}/9', text: a}}\n  check_mode: true")
    large = [size for size in sent if size > 50_000]
    assert ["changed"] * 4 == [status for _, _, status in ran.statuses]
    assert 1 == len(large)
    assert sum(sent) - large[0] < 20_000


def test_two_hosts_at_once(play):
    """Each has its own result."""
    ran = play("- name: it\n  note: {path: '{{ workdir }}/{{ inventory_hostname }}', text: a}", hosts="alpha beta")
    assert {"alpha", "beta"} == {host for _, host, status in ran.statuses if status == "changed"}


def test_collections(play):
    """By the full name, by a name that redirects, and by `collections:`, each with the defaults given for it."""
    ran = play(
        """
- name: full
  example.tools.call_out: {text: a}
- name: redirected
  example.tools.cry: {text: b}
- name: short
  call_out: {text: c}
  collections: [example.tools]
""",
        play="  module_defaults: {example.tools.call_out: {volume: 2}, group/example.tools.voices: {volume: 9}}\n",
    )
    assert ["AA", "BB", "CC"] == [only(ran, name)["result"]["text"] for name in ("full", "redirected", "short")]


@pytest.mark.slow
def test_modules_of_ansible_core(play, folder):
    """Some that people use, none of which needs more rights than any user has."""
    ran = play(
        """
- name: getent
  getent: {database: passwd, key: root}
- name: known
  assert: {that: "getent_passwd.root[1] == '0'"}
- name: repository
  ansible.builtin.command: {argv: [git, init, -q, -b, main, "{{ workdir }}/from"]}
- name: commit
  command:
    argv: [git, -c, user.name=a, -c, user.email=a@b, commit, -q, --allow-empty, -m, one]
    chdir: "{{ workdir }}/from"
- name: git
  ansible.builtin.git: {repo: "file://{{ workdir }}/from", dest: "{{ workdir }}/to"}
- name: git again
  git: {repo: "file://{{ workdir }}/from", dest: "{{ workdir }}/to"}
- name: known hosts
  known_hosts: {name: web, key: "web ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ2l8m0MzqVh7TZo5QqHkH3Zn8m1b3Jk8m0MzqVh7TZo",
                path: "{{ workdir }}/known_hosts"}
- name: user
  user: {name: nobody-here, comment: A person, password: "$6$salty"}
  check_mode: true
- name: group
  group: {name: nobodies-here}
  check_mode: true
"""
    )
    statuses = {name: status for name, _, status in ran.statuses}
    assert ("ok", "changed", "ok") == (statuses["getent"], statuses["git"], statuses["git again"])
    assert ("changed", "changed", "changed") == (statuses["known hosts"], statuses["user"], statuses["group"])
    assert "web ssh-ed25519" in (folder / "known_hosts").read_text()
    assert "salty" not in json.dumps([event.data for event in ran.events])


def test_defaults_for_a_group_of_modules(play):
    """As the collection's meta/runtime.yml has it; those for the module itself win."""
    ran = play(
        "- name: it\n  example.tools.call_out: {text: a}",
        play="  module_defaults:\n    group/example.tools.voices: {volume: 3}\n",
    )
    assert "AAA" == only(ran, "it")["result"]["text"]
