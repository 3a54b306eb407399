"""Order, blocks, handlers, loops, includes and batches, as ansible-core has them."""

from __future__ import annotations

import pytest

from tests.runner.plays import run_play

HEAD = "- hosts: all\n  gather_facts: false\n"
ONE = "[all]\nalpha ansible_connection=local\n"


def tasks(text: str, *, more: str = "") -> str:
    """A play with these tasks."""
    body = "\n".join("    " + line for line in text.strip("\n").splitlines())
    return f"{HEAD}{more}  tasks:\n{body}\n"


def test_linear_runs_each_step_on_every_host_before_the_next(tmp_path):
    """All hosts finish a step before any starts the next."""
    ran = run_play(tmp_path, tasks("- {name: a, debug: {}}\n- {name: b, debug: {}}"))
    assert [("a", "alpha", "ok"), ("a", "beta", "ok"), ("b", "alpha", "ok"), ("b", "beta", "ok")] == ran.statuses
    assert 0 == ran.outcome.exit_code


def test_a_failed_host_is_out_and_the_others_go_on(tmp_path):
    """A failure ends one host's play, the exit code is 2, and later plays leave the host out."""
    text = tasks("- {name: a, fail: {}, when: inventory_hostname == 'alpha'}\n- {name: b, debug: {}}")
    ran = run_play(tmp_path, text + "\n- hosts: all\n  gather_facts: false\n  tasks: [{name: c, debug: {}}]\n")
    assert [
        ("a", "alpha", "failed"),
        ("a", "beta", "skipped"),
        ("b", "beta", "ok"),
        ("c", "beta", "ok"),
    ] == ran.statuses
    assert 2 == ran.outcome.exit_code


def test_when_every_host_failed_later_plays_do_not_run(tmp_path):
    """As in Ansible, a play that loses all of its hosts ends the run."""
    text = (
        tasks("- {name: a, fail: {}}")
        + "\n- hosts: localhost\n  gather_facts: false\n  tasks: [{name: c, debug: {}}]\n"
    )
    assert [("a", "alpha", "failed")] == run_play(tmp_path, text, inventory=ONE).statuses


def test_rescue_and_always(tmp_path):
    """A rescued failure is none; always runs after either; the failed step can be asked about."""
    ran = run_play(
        tmp_path,
        tasks(
            """
- block:
    - {name: a, fail: {msg: broken}}
    - {name: not reached, debug: {}}
  rescue:
    - {name: why, debug: {msg: "{{ ansible_failed_task.name }}: {{ ansible_failed_result.msg }}"}}
  always:
    - {name: end, debug: {}}
- {name: after, debug: {}}
"""
        ),
        inventory=ONE,
    )
    assert ["a", "why", "end", "after"] == [name for name, _, _ in ran.statuses]
    assert "a: broken" == ran.results("why")["alpha"]["msg"]
    assert 0 == ran.outcome.exit_code
    assert (0, 1) == (ran.outcome.recap["alpha"]["failed"], ran.outcome.recap["alpha"]["rescued"])


def test_always_runs_after_an_unrescued_failure(tmp_path):
    """Always runs, and the failure goes on."""
    text = tasks("- block: [{name: a, fail: {}}]\n  always: [{name: b, debug: {}}]\n- {name: c, debug: {}}")
    ran = run_play(tmp_path, text, inventory=ONE)
    assert [("a", "alpha", "failed"), ("b", "alpha", "ok")] == ran.statuses
    assert 2 == ran.outcome.exit_code


def test_handlers_run_once_in_the_order_of_definition(tmp_path):
    """Notified twice and in the other order, each handler runs once, as defined; listen counts."""
    more = """\
  handlers:
    - {name: first, debug: {}, listen: both}
    - {name: second, debug: {}}
    - {name: never, debug: {}}
"""
    text = tasks(
        """
- {name: a, command: "true", notify: [second, both]}
- {name: b, command: "true", notify: second}
- {name: c, command: "true", changed_when: false, notify: never}
""",
        more=more,
    )
    assert ["a", "b", "c", "first", "second"] == [
        name for name, _, _ in run_play(tmp_path, text, inventory=ONE).statuses
    ]


def test_flush_handlers_runs_them_now(tmp_path):
    """meta: flush_handlers runs what was notified before it."""
    text = tasks(
        '- {name: a, command: "true", notify: h}\n- {name: now, meta: flush_handlers}\n- {name: b, debug: {}}',
        more="  handlers: [{name: h, debug: {}}]\n",
    )
    ran = run_play(tmp_path, text, inventory=ONE)
    assert ["a", "now", "h", "b"] == [name for name, _, _ in ran.statuses]


@pytest.mark.parametrize(
    ("force", "expected"),
    [("", ["a", "b"]), ("  force_handlers: true\n", ["a", "b", "h"])],
)
def test_force_handlers(tmp_path, force, expected):
    """Handlers of a failed host run only when they are forced."""
    text = tasks(
        '- {name: a, command: "true", notify: h}\n- {name: b, fail: {}}',
        more=force + "  handlers: [{name: h, debug: {}}]\n",
    )
    assert expected == [name for name, _, _ in run_play(tmp_path, text, inventory=ONE).statuses]


def test_a_loop_registers_every_item(tmp_path):
    """A looped step has `results`, with the item in each."""
    text = tasks(
        """
- {name: a, debug: {msg: "{{ item }}{{ i }}"}, loop: [x, y], loop_control: {index_var: i}, register: out}
- {name: b, debug: {msg: "{{ out.results | map(attribute='msg') | join(',') }}"}}
- {name: c, debug: {msg: "{{ out.results | map(attribute='item') | list }}"}}
"""
    )
    ran = run_play(tmp_path, text, inventory=ONE)
    assert "x0,y1" == ran.results("b")["alpha"]["msg"]
    assert ["x", "y"] == ran.results("c")["alpha"]["msg"]


def test_until_counts_attempts_for_each_item(tmp_path):
    """retries: 2 is three tries; attempts counts from 1; an item that never holds fails the step."""
    text = tasks(
        """
- name: a
  shell: echo x >> {{ workdir }}/n; wc -l < {{ workdir }}/n
  register: out
  until: out.stdout | int >= 3
  retries: 2
  delay: 0
- {name: b, debug: {msg: "{{ out.attempts }} {{ out.stdout }}"}}
- name: c
  command: "false"
  register: never
  until: never.rc == 0
  retries: 1
  delay: 0
  ignore_errors: true
- {name: d, debug: {msg: "{{ never.attempts }} {{ never is failed }}"}}
"""
    )
    ran = run_play(tmp_path, text, inventory=ONE)
    assert "3 3" == ran.results("b")["alpha"]["msg"]
    assert "1 True" == ran.results("d")["alpha"]["msg"]


def test_changed_when_and_failed_when_see_the_registered_result(tmp_path):
    """They decide the status; failed_when: false lets any exit code pass."""
    text = tasks(
        """
- {name: a, command: echo same, register: r, changed_when: "'new' in r.stdout"}
- {name: b, command: "false", register: r, failed_when: false}
- {name: c, command: echo bad, register: r, failed_when: ["'bad' in r.stdout"], ignore_errors: true}
"""
    )
    ran = run_play(tmp_path, text, inventory=ONE)
    assert [("a", "alpha", "ok"), ("b", "alpha", "changed"), ("c", "alpha", "failed")] == ran.statuses
    assert 0 == ran.outcome.exit_code


def test_run_once_gives_its_result_to_every_host(tmp_path):
    """It runs on the first host; all hosts see what it registered."""
    text = tasks(
        '- {name: a, command: echo one, run_once: true, register: r}\n- {name: b, debug: {msg: "{{ r.stdout }}"}}'
    )
    ran = run_play(tmp_path, text)
    assert [("a", "alpha", "changed"), ("b", "alpha", "ok"), ("b", "beta", "ok")] == ran.statuses
    assert {"alpha": "one", "beta": "one"} == {host: r["msg"] for host, r in ran.results("b").items()}


def test_include_tasks_in_a_loop_gives_the_item_to_the_included_steps(tmp_path):
    """Each pass sees its own item, and vars of the include."""
    text = tasks("- {include_tasks: more.yml, loop: [1, 2], vars: {who: me}}")
    files = {"more.yml": '- {name: "in {{ item }}", debug: {msg: "{{ who }}{{ item }}"}}\n'}
    ran = run_play(tmp_path, text, inventory=ONE, files=files)
    said = [e.data["result"]["msg"] for e in ran.events if e.kind == "host.finished" and "msg" in e.data["result"]]
    assert ["me1", "me2"] == said[-2:]


def test_serial_runs_batches_and_stops_after_a_batch_that_failed(tmp_path):
    """The second batch does not start when the whole first one failed."""
    text = tasks("- {name: a, fail: {}, when: inventory_hostname == 'alpha'}", more="  serial: 1\n")
    ran = run_play(tmp_path, text)
    assert [("a", "alpha", "failed")] == ran.statuses


def test_any_errors_fatal_stops_every_host(tmp_path):
    """The step ends on all hosts, and no later step runs anywhere."""
    text = tasks(
        "- {name: a, fail: {}, when: inventory_hostname == 'alpha'}\n- {name: b, debug: {}}",
        more="  any_errors_fatal: true\n",
    )
    assert [("a", "alpha", "failed"), ("a", "beta", "skipped")] == run_play(tmp_path, text).statuses


def test_max_fail_percentage(tmp_path):
    """Up to the percentage the others go on; above it the play ends."""
    text = "- {name: a, fail: {}, when: inventory_hostname == 'alpha'}\n- {name: b, debug: {}}"
    goes_on = run_play(tmp_path, tasks(text, more="  max_fail_percentage: 50\n"))
    ends = run_play(tmp_path, tasks(text, more="  max_fail_percentage: 49\n"))
    assert ("b", "beta", "ok") in goes_on.statuses
    assert "b" not in [name for name, _, _ in ends.statuses]


def test_delegation_acts_there_and_counts_here(tmp_path):
    """The delegate does it, with the variables of the step's own host."""
    text = tasks(
        '- {name: a, command: "echo {{ inventory_hostname }}", delegate_to: beta, when: inventory_hostname == "alpha"}'
    )
    ran = run_play(tmp_path, text)
    done = next(e.data for e in ran.events if e.kind == "host.finished" and e.data["host"] == "alpha")
    assert ("alpha", "beta", "alpha") == (done["host"], done["delegate"], done["result"]["stdout"])


def test_end_host_and_end_play(tmp_path):
    """end_host ends one host's play, end_play everybody's; neither is a failure."""
    host = tasks('- {name: a, meta: end_host, when: inventory_hostname == "alpha"}\n- {name: b, debug: {}}')
    play = tasks('- {name: a, meta: end_play, when: inventory_hostname == "alpha"}\n- {name: b, debug: {}}')
    assert ("b", "beta", "ok") in run_play(tmp_path, host).statuses
    assert "b" not in [name for name, _, _ in run_play(tmp_path, play).statuses]
    assert 0 == run_play(tmp_path, play).outcome.exit_code


def test_add_host_is_seen_by_the_next_play(tmp_path):
    """A play on the new group runs on the added host, with its variables."""
    text = tasks("- {name: a, add_host: {name: gamma, groups: fresh, ansible_connection: local, x: 7}}")
    text += "\n- hosts: fresh\n  gather_facts: false\n  tasks: [{name: b, debug: {msg: '{{ x }}'}}]\n"
    ran = run_play(tmp_path, text, inventory=ONE)
    assert {"gamma": 7} == {host: result["msg"] for host, result in ran.results("b").items()}


def test_what_a_host_answered_is_never_a_template(tmp_path):
    """Braces in output stay as they are, through register and set_fact."""
    text = tasks(
        """
- {name: a, command: "echo '{{ '{{' }} 6 * 7 {{ '}}' }}'", register: r}
- {name: b, set_fact: {kept: "{{ r.stdout }}"}}
- {name: c, debug: {msg: "{{ kept }}"}}
"""
    )
    assert "{{ 6 * 7 }}" == run_play(tmp_path, text, inventory=ONE).results("c")["alpha"]["msg"]


def test_check_mode_says_unknown_and_what_depends_on_it_too(tmp_path):
    """A command cannot be foretold; a step that needs its output is unknown, not failed."""
    text = tasks(
        """
- {name: a, command: echo 5, register: r}
- {name: b, debug: {msg: "{{ r.nothing_yet }}"}}
- {name: c, file: {path: "{{ workdir }}/d", state: directory}}
"""
    )
    ran = run_play(tmp_path, text, inventory=ONE, check=True)
    assert [("a", "alpha", "unknown"), ("b", "alpha", "unknown"), ("c", "alpha", "changed")] == ran.statuses
    assert not (tmp_path / "d").exists()
    assert 0 == ran.outcome.exit_code


def test_an_undefined_variable_fails_the_host_with_its_place(tmp_path):
    """The failure names the variable and where it stands."""
    ran = run_play(tmp_path, tasks('- {name: a, debug: {msg: "{{ nosuch }}"}}'), inventory=ONE)
    result = ran.results("a")["alpha"]
    assert "nosuch" in result["msg"]
    assert f"{tmp_path}/play.yml:4" in result["origin"]
    assert 2 == ran.outcome.exit_code


def test_no_log_hides_the_result_from_events_but_not_from_the_play(tmp_path):
    """Events carry no output; later steps may use it."""
    text = tasks(
        '- {name: a, command: echo hush, no_log: true, register: r}\n- {name: b, assert: {that: r.stdout == "hush"}}'
    )
    ran = run_play(tmp_path, text, inventory=ONE)
    assert [("a", "alpha", "changed"), ("b", "alpha", "ok")] == ran.statuses
    assert "hush" not in repr([event.data for event in ran.events])


def test_free_lets_hosts_go_at_their_own_pace(tmp_path):
    """Each host runs all steps in order, whatever the others do."""
    ran = run_play(
        tmp_path, tasks("- {name: a, command: 'true'}\n- {name: b, command: 'true'}", more="  strategy: free\n")
    )
    for host in ("alpha", "beta"):
        assert ["a", "b"] == [name for name, where, _ in ran.statuses if where == host]


def test_hosts_that_edit_one_file_at_once_all_get_their_line_in(tmp_path):
    """A write refused because another host was quicker is looked at and made again."""
    (tmp_path / "shared").write_text("".join(f"h{n} up\n" for n in range(8)))
    inventory = "[all]\nh[0:7]\n[all:vars]\nansible_connection=local\n"
    text = tasks(
        '- {name: a, lineinfile: {path: "{{ workdir }}/shared", regexp: "^{{ inventory_hostname }} ", '
        'line: "{{ inventory_hostname }} down"}, delegate_to: h0}'
    )
    ran = run_play(tmp_path, text, inventory=inventory)
    assert 0 == ran.outcome.exit_code
    assert "".join(f"h{n} down\n" for n in range(8)) == (tmp_path / "shared").read_text()
