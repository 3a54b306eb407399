"""A run that was cut off at any of its events, or failed, goes on where it stopped, and does nothing twice."""

from __future__ import annotations

import pytest

from cleanslate.errors import InputError
from cleanslate.runner.past import differences, joined, past_of
from cleanslate.runner.replay import Replay
from tests.runner.plays import run_play

PLAY = """\
- hosts: all
  gather_facts: false
  serial: 1
  vars: {log: "{{ workdir }}/{{ inventory_hostname }}"}
  handlers:
    - name: told
      lineinfile: {path: "{{ log }}", line: handler}
      notify: []
  tasks:
    - name: make
      copy: {content: "", dest: "{{ log }}", force: false}
    - name: first
      shell: echo first >> {{ log }}; echo -n answer
      register: said
      notify: told
    - set_fact: {kept: "{{ said.stdout }}!"}
    - name: looped
      shell: echo item {{ item }} >> {{ log }}
      loop: [1, 2]
    - include_tasks: more.yml
    - name: guarded
      block:
        - name: fails
          shell: echo fails >> {{ log }}; false
      rescue:
        - name: rescued
          shell: echo rescued >> {{ log }}
      always:
        - name: always
          shell: echo always >> {{ log }}
    - meta: flush_handlers
    - name: last
      shell: echo last {{ kept }} >> {{ log }}
- hosts: all
  gather_facts: false
  tasks:
    - name: second play
      shell: echo {{ kept }} >> {{ workdir }}/{{ inventory_hostname }}
"""
MORE = {"more.yml": "- name: included\n  shell: echo included >> {{ log }}\n"}
WHOLE = ["first", "item 1", "item 2", "included", "fails", "rescued", "always", "handler", "last answer!", "answer!"]


def lines(folder, host):
    return (folder / host).read_text().splitlines() if (folder / host).exists() else []


def cut_points(events):
    """How many events of a run there may be when it is cut off: after each end of a step."""
    return [
        index + 1
        for index, event in enumerate(events)
        if event.kind == "host.finished" and events[index + 1].kind in ("step.started", "host.finished", "run.finished")
    ]


@pytest.mark.slow
def test_from_every_end_of_a_step_on_nothing_is_done_twice(tmp_path):
    """Registered results, facts, handlers, loops, blocks, includes, batches and later plays go on as they were."""
    whole = run_play(tmp_path / "whole", PLAY, files=MORE)
    assert WHOLE == lines(tmp_path / "whole", "alpha")
    for count in cut_points(whole.events):
        folder = tmp_path / f"cut{count}"
        folder.mkdir()
        for host in ("alpha", "beta"):
            _as_then(folder, host, whole.events[:count])
        again = run_play(folder, PLAY, files=MORE, replay=Replay(past_of(whole.events[:count])))
        assert 0 == again.outcome.exit_code, (count, again.messages())
        # A failure that nothing was told after is met again: its block may rescue it, and that is all that is known.
        last = {
            event.data["host"]: event.data["status"] for event in whole.events[:count] if event.kind == "host.finished"
        }
        for host in ("alpha", "beta"):
            twice = ["fails"] if last.get(host) == "failed" else []
            assert [*WHOLE[:4], *twice, *WHOLE[4:]] == lines(folder, host), (count, host)


def _as_then(folder, host, events):
    """What the first run had left on the host when it was cut off."""
    names = {event.data["step"]: event.data["name"] for event in events if event.kind == "step.started"}
    wrote = {"first": ["first"], "looped": ["item 1", "item 2"], "included": ["included"], "fails": ["fails"]}
    wrote |= {"rescued": ["rescued"], "always": ["always"], "told": ["handler"], "last": ["last answer!"]}
    wrote |= {"second play": ["answer!"], "make": []}
    ended = [names[e.data["step"]] for e in events if e.kind == "host.finished" and e.data["host"] == host]
    if ended:
        text = [line for name in ended for line in wrote.get(name, [])]
        (folder / host).write_text("".join(f"{line}\n" for line in text))


def test_a_failed_step_and_all_after_it_run_again_also_its_always(tmp_path):
    text = """\
- hosts: alpha
  gather_facts: false
  tasks:
    - shell: echo one >> {{ workdir }}/log
    - block:
        - shell: test -e {{ workdir }}/mended
      always:
        - shell: echo always >> {{ workdir }}/log
    - shell: echo two >> {{ workdir }}/log
"""
    first = run_play(tmp_path, text)
    assert (2, ["one", "always"]) == (first.outcome.exit_code, lines(tmp_path, "log"))
    (tmp_path / "mended").touch()
    again = run_play(tmp_path, text, replay=Replay(past_of(first.events)))
    assert (0, ["one", "always", "always", "two"]) == (again.outcome.exit_code, lines(tmp_path, "log"))
    assert {"ok": 3, "changed": 3} == {key: n for key, n in again.outcome.recap["alpha"].items() if n}


def test_the_record_of_a_resumed_run_is_whole_so_that_it_can_be_resumed_itself(tmp_path):
    whole = run_play(tmp_path, PLAY, files=MORE)
    again = run_play(tmp_path, PLAY, files=MORE, replay=Replay(past_of(whole.events)))
    assert sorted(whole.statuses) == sorted(again.statuses)
    third = run_play(tmp_path, PLAY, files=MORE, replay=Replay(past_of(again.events)))
    assert (WHOLE, WHOLE) == (lines(tmp_path, "alpha"), lines(tmp_path, "beta"))
    assert {} == {host: one for host, one in third.outcome.recap.items() if one["changed"]}


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.8])
def test_a_run_that_was_lost_while_it_went_over_what_was_done_loses_nothing_of_that(tmp_path, share):
    """Lost a second time, before the steps that the first run had done were gone over: they still count."""
    until = [one for one in run_play(tmp_path, PLAY, files=MORE).events if one.data.get("play") != 1]
    until = until[: next(n for n, one in enumerate(until) if one.data.get("name") == "second play")]
    for host in ("alpha", "beta"):
        (tmp_path / host).write_text("".join(f"{line}\n" for line in WHOLE[:-1]))
    again = run_play(tmp_path, PLAY, files=MORE, replay=Replay(past_of(until)))
    over = next(n for n, one in enumerate(again.events) if one.data.get("name") == "second play")
    for host in ("alpha", "beta"):
        (tmp_path / host).write_text("".join(f"{line}\n" for line in WHOLE[:-1]))
    second = joined(past_of(again.events[: int(over * share)]), past_of(until))
    third = run_play(tmp_path, PLAY, files=MORE, replay=Replay(second))
    assert (0, WHOLE, WHOLE) == (third.outcome.exit_code, lines(tmp_path, "alpha"), lines(tmp_path, "beta"))


def test_a_second_run_that_was_refused_at_once_takes_nothing_away(tmp_path):
    """Its host was held by somebody else, say: what the first run had done is done."""
    whole = run_play(tmp_path, PLAY, files=MORE)
    first = past_of(whole.events)
    second = joined(past_of(whole.events[:1]), first)
    assert [len(one.done) for one in first.values()] == [len(one.done) for one in second.values()]


@pytest.mark.slow
def test_a_check_that_failed_on_the_way_is_made_again_and_the_rest_is_still_done(tmp_path):
    (tmp_path / "there").touch()
    first = past_of(run_play(tmp_path, WATCH).events)
    (tmp_path / "changed").unlink()
    failed = run_play(tmp_path, WATCH, replay=Replay(first))
    (tmp_path / "changed").touch()
    (tmp_path / "mended").touch()
    third = run_play(tmp_path, WATCH, replay=Replay(joined(past_of(failed.events), first)))
    assert (0, 0) == (third.outcome.exit_code, third.outcome.recap["alpha"]["changed"])


def test_where_nothing_was_done_nothing_can_differ(tmp_path):
    from cleanslate.playbook import load_playbook

    (tmp_path / "play.yml").write_text(PLAY)
    assert [] == differences({}, (), load_playbook(tmp_path / "play.yml"))


WATCH = """\
- hosts: alpha
  gather_facts: false
  tasks:
    - name: before
      wait_for: {path: "{{ workdir }}/there", timeout: 1}
    - name: change
      shell: touch {{ workdir }}/changed
    - name: after
      wait_for: {path: "{{ workdir }}/changed", timeout: 1}
    - name: stop
      assert: {that: "(workdir ~ '/mended') is exists"}
"""


@pytest.mark.slow
def test_only_what_observed_the_world_after_the_last_change_is_checked_again(tmp_path):
    """An assertion that a later change has overtaken would fail rightly, and mean nothing."""
    (tmp_path / "there").touch()
    first = run_play(tmp_path, WATCH)
    assert 2 == first.outcome.exit_code
    (tmp_path / "mended").touch()
    (tmp_path / "there").unlink()
    (tmp_path / "changed").unlink()
    again = run_play(tmp_path, WATCH, replay=Replay(past_of(first.events)))
    assert [("before", "alpha", "ok"), ("change", "alpha", "changed"), ("after", "alpha", "failed")] == again.statuses


def test_a_step_under_way_is_open_and_says_what_is_known(tmp_path):
    whole = run_play(tmp_path, PLAY, files=MORE)
    cut = next(n for n, e in enumerate(whole.events) if e.kind == "item.finished") + 1
    past = past_of(whole.events[:cut])["alpha"]
    assert ("looped", ["1"], True) == (past.open.name, past.items, past.alters)


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("echo first >>", "echo premier >>", "changed or removed"),
        ("    - name: first\n", "    - name: new\n      ping:\n    - name: first\n", "is new or changed"),
        ("echo last {{", "echo letzte {{", ""),
    ],
)
def test_only_what_has_not_run_may_differ(tmp_path, old, new, word):
    whole = run_play(tmp_path, PLAY, files=MORE)
    cut = next(n for n, e in enumerate(whole.events) if e.kind == "host.finished" and e.data["position"][-1] == 3) + 1
    past = past_of(whole.events[:cut])
    from cleanslate.playbook import load_playbook

    (tmp_path / "play.yml").write_text(PLAY.replace(old, new))
    told = differences(past, whole.events[0].data["steps"], load_playbook(tmp_path / "play.yml"))
    assert bool(word) == any(word in text for text in told if word), told
    assert bool(word) == bool(told)


def test_a_step_that_an_include_now_puts_before_what_was_done_is_refused(tmp_path):
    """What no look at the playbook shows is met when it comes, before anything is done there."""
    whole = run_play(tmp_path, PLAY, files=MORE)
    more = {"more.yml": MORE["more.yml"].replace("echo included", "echo changed")}
    with pytest.raises(InputError, match="was not run before"):
        run_play(tmp_path, PLAY, files=more, replay=Replay(past_of(whole.events)))
    assert (WHOLE, WHOLE) == (lines(tmp_path, "alpha"), lines(tmp_path, "beta"))
    forced = run_play(tmp_path, PLAY, files=more, replay=Replay(past_of(whole.events), force=True))
    assert 0 == forced.outcome.exit_code
    assert [*WHOLE, "changed"] == lines(tmp_path, "alpha")
