"""What a playbook says becomes plays and steps that carry everything that holds for them."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from cleanslate.errors import InputError, Origin, Problems
from cleanslate.model import Block, SourceText
from cleanslate.playbook import inherited_by_include, load_playbook
from tests.playbook.project import load, names, steps, tasks

# ---------------------------------------------------------------------- forms of a step


@pytest.mark.parametrize(
    ("text", "kind", "args"),
    [
        ("- command: echo hi creates=/x", "command", {"cmd": "echo hi", "creates": "/x"}),
        ("- ansible.builtin.command: echo hi", "command", {"cmd": "echo hi"}),
        ("- ansible.legacy.shell: a | b\n  args: {chdir: /tmp}", "shell", {"cmd": "a | b", "chdir": "/tmp"}),
        ("- command:\n    argv: [echo, hi]", "command", {"argv": ["echo", "hi"]}),
        ("- command: {_raw_params: echo hi}", "command", {"cmd": "echo hi"}),
        ("- action: command echo hi creates=/x", "command", {"cmd": "echo hi", "creates": "/x"}),
        ("- action: {module: copy, src: a, dest: b}", "copy", {"src": "a", "dest": "b"}),
        ("- debug: msg='a b' verbosity=1", "debug", {"msg": "a b", "verbosity": "1"}),
        ("- debug:", "debug", {}),
        ('- debug: "{{ all_of_them }}"', "debug", {"**": "{{ all_of_them }}"}),
        ('- copy: {dest: b}\n  args: "{{ rest }}"', "copy", {"dest": "b", "**": "{{ rest }}"}),
        ("- include_tasks: more.yml", "include_tasks", {"file": "more.yml"}),
        ("- include_tasks: \"{{ 'a' if x == 'b' else 'c' }}.yml\"", "include_tasks",
         {"file": "{{ 'a' if x == 'b' else 'c' }}.yml"}),
        ("- meta: flush_handlers", "meta", {"action": "flush_handlers"}),
        ("- set_fact: a=1 b={{ c }}", "set_fact", {"a": "1", "b": "{{ c }}"}),
        ("- include_role: name=web tasks_from=x", "include_role", {"name": "web", "tasks_from": "x"}),
        ("- shell: |\n    one  two\n      three", "shell", {"cmd": "one  two\n  three"}),
    ],
)  # fmt: skip
def test_every_form_of_a_step_becomes_one(tmp_path, text, kind, args):
    [step] = tasks(tmp_path, text)
    assert (kind, args) == (step.type, step.args)


def test_the_types_own_arguments_win_over_args(tmp_path):
    [step] = tasks(tmp_path, "- command: echo chdir=/a\n  args: {chdir: /b, creates: /c}")
    assert {"cmd": "echo", "chdir": "/a", "creates": "/c"} == step.args


def test_a_local_action_is_delegated_to_the_controller(tmp_path):
    [step] = tasks(tmp_path, "- local_action: command echo hi")
    assert ("command", "localhost", {"cmd": "echo hi"}) == (step.type, step.keywords.delegate_to, step.args)


def test_arguments_know_where_they_stand(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    [step] = tasks(Path(), "- name: Copy\n  copy:\n    src: a\n    dest: b")
    assert Origin("site.yml", 3, 7) == step.origin
    assert (Origin("site.yml", 6, 9), Origin("site.yml", 6, 15)) == (
        step.args.key_origin("dest"),
        step.args.value_origin("dest"),
    )


def test_text_of_the_playbook_may_be_a_template_in_every_form(tmp_path):
    found = tasks(tmp_path, "- debug: msg={{ a }}\n- command: echo {{ a }}\n- debug: {msg: '{{ a }}'}")
    assert [SourceText] * 3 == [type(next(iter(step.args.values()))) for step in found]


@pytest.mark.parametrize(
    ("keyword", "kind", "value"),
    [
        ("loop: [1, 2]", None, [1, 2]),
        ('loop: "{{ x }}"', None, "{{ x }}"),
        ("with_items: [1, [2]]", "items", [1, [2]]),
        ("with_items: name", "items", "name"),
        ("with_dict: {a: 1}", "dict", {"a": 1}),
        ('with_fileglob: "*.conf"', "fileglob", "*.conf"),
    ],
)
def test_loops_of_both_kinds(tmp_path, keyword, kind, value):
    [step] = tasks(tmp_path, f"- debug:\n  {keyword}")
    assert (kind, value) == (step.keywords.loop_with, step.keywords.loop)


@pytest.mark.parametrize(
    ("keyword", "field", "value"),
    [
        ("when: a", "when", ("a",)),
        ("when: [a, true]", "when", ("a", True)),
        ("changed_when: false", "changed_when", (False,)),
        ("failed_when: [a, b]", "failed_when", ("a", "b")),
        ("until: x.rc == 0", "until", ("x.rc == 0",)),
        ("retries: '3'", "retries", 3),
        ("retries: '{{ n }}'", "retries", "{{ n }}"),
        ("delay: 0.5", "delay", 0.5),
        ("async: 30", "async_seconds", 30),
        ("poll: 0", "poll", 0),
        ("become: 'yes'", "become", True),
        ("tags: 'a, b'", "tags", ("a", "b")),
        ("tags: [1, b]", "tags", ("1", "b")),
        ("notify: x", "notify", ("x",)),
        ("environment: {A: b}", "environment", ({"A": "b"},)),
        ("environment: [{A: b}, '{{ env }}']", "environment", ({"A": "b"}, "{{ env }}")),
        ("vars: {a: 1}", "vars", ({"a": 1},)),
        ("register: out", "register", "out"),
        ("loop_control: {label: x, pause: 1}\n  loop: [1]", "loop_control", {"label": "x", "pause": 1}),
        ("no_log: true", "no_log", True),
        ("port: '22'", "port", 22),
        ("when:", "when", ()),
    ],
)
def test_keywords_are_kept_in_one_form(tmp_path, keyword, field, value):
    [step] = tasks(tmp_path, f"- debug:\n  {keyword}")
    assert value == getattr(step.keywords, field)


def test_the_debugger_is_refused_politely_and_never_is_fine(tmp_path):
    assert 1 == len(tasks(tmp_path, "- debug:\n  debugger: never"))
    with pytest.raises(InputError, match="there is no step debugger here"):
        tasks(tmp_path, "- debug:\n  debugger: on_failed")


# ---------------------------------------------------------------------- what is inherited

NESTED = """
- hosts: web
  become: true
  remote_user: play
  environment: {A: play}
  tags: play
  vars: {a: play}
  tasks:
    - name: Outer
      when: outer
      tags: [outer]
      vars: {a: outer}
      environment: {A: outer}
      become_user: outer
      delegate_to: elsewhere
      notify: told
      block:
        - name: Inner
          when: [inner]
          tags: inner
          become: false
          vars: {a: inner}
          environment: {B: inner}
          loop: [1]
          debug:
      rescue:
        - name: Rescued
          debug:
      always:
        - name: Always
          debug:
  handlers:
    - name: told
      debug:
"""


def test_a_step_carries_what_stands_around_it(tmp_path):
    [block] = load(tmp_path, {"site.yml": NESTED}).plays[0].tasks
    inner = block.block[0].keywords
    assert ("outer", "inner") == inner.when
    assert ("play", "outer", "inner") == inner.tags
    assert ({"a": "outer"}, {"a": "inner"}) == inner.vars
    assert ({"A": "play"}, {"A": "outer"}, {"B": "inner"}) == inner.environment
    assert (False, "outer", "play") == (inner.become, inner.become_user, inner.remote_user)
    assert ("elsewhere", ("told",)) == (inner.delegate_to, inner.notify)


def test_what_is_a_steps_own_is_not_inherited(tmp_path):
    [block] = load(tmp_path, {"site.yml": NESTED}).plays[0].tasks
    rescued = block.rescue[0].keywords
    assert (None, ("outer",), True) == (rescued.loop, rescued.when, rescued.become)
    assert ["Inner", "Rescued", "Always"] == names((block,))


def test_steps_without_keywords_share_those_around_them(tmp_path):
    first, second = tasks(tmp_path, "- debug:\n- debug:")
    assert first.keywords is second.keywords


def test_an_include_hands_down_what_stands_around_it_and_not_its_own_keywords(tmp_path):
    [step] = tasks(
        tmp_path,
        """
- when: outer
  tags: outer
  block:
    - include_tasks: {file: more.yml, apply: {tags: applied, when: applied}}
      when: own
      tags: own
      vars: {a: 1}
""",
    )
    handed = inherited_by_include(step, step.args["apply"])
    assert (("outer", "applied"), ("outer", "applied"), ()) == (handed.when, handed.tags, handed.vars)
    assert (("outer", "own"), ("outer", "own")) == (step.keywords.when, step.keywords.tags)


def test_apply_takes_keywords_only(tmp_path):
    [step] = tasks(tmp_path, "- include_tasks: more.yml")
    with pytest.raises(InputError, match=r'include_tasks: apply has no keyword "tag"; did you mean "tags"\?'):
        inherited_by_include(step, {"tag": "x"})


# ---------------------------------------------------------------------- imports


def test_an_import_is_replaced_by_its_steps_which_inherit_from_it(tmp_path):
    found = tasks(
        tmp_path,
        "- import_tasks: more.yml\n  when: a\n  tags: [t]\n  become: true\n  vars: {x: 1}\n- debug:",
        more="- name: One\n  debug:\n  when: b\n- name: Two\n  debug:\n",
    )
    assert ["One", "Two", "debug"] == [step.title for step in found]
    assert (("a", "b"), ("t",), True, ({"x": 1},)) == (
        found[0].keywords.when,
        found[0].keywords.tags,
        found[0].keywords.become,
        found[0].keywords.vars,
    )
    assert str(tmp_path / "more.yml") == found[0].origin.file


def test_an_import_finds_files_beside_the_file_that_names_them(tmp_path):
    found = tasks(
        tmp_path,
        "- import_tasks: sub/one.yml",
        sub__one="- import_tasks: two.yml\n",
        sub__two="- name: Two\n  debug:\n",
        two="- name: Wrong\n  debug:\n",
    )
    assert ["Two"] == [step.title for step in found]


def test_an_import_may_be_named_by_what_is_known_without_a_host(tmp_path):
    files = {
        "site.yml": '- hosts: web\n  vars: {which: "{{ kind }}"}\n  tasks:\n    - import_tasks: "{{ which }}.yml"\n',
        "small.yml": "- name: Small\n  debug:\n",
    }
    play = load(tmp_path, files, extra_vars={"kind": SourceText("small")}).plays[0]
    assert ["Small"] == names(play.tasks)


def test_an_import_that_only_a_host_could_name_is_refused(tmp_path):
    with pytest.raises(InputError, match="step import_tasks: the name of an imported file must be known before"):
        tasks(tmp_path, '- import_tasks: "{{ ansible_distribution }}.yml"')


IMPORTING = {
    "site.yml": "- import_playbook: sub/other.yml\n  vars: {a: imported}\n  when: asked\n  tags: it\n- hosts: db\n",
    "sub/other.yml": "- hosts: web\n  vars: {a: own, b: own}\n  tags: own\n  roles: [local]\n"
    "  tasks:\n    - name: One\n      debug:\n      when: really\n",
    "sub/roles/local/tasks/main.yml": "- name: Local\n  debug:\n",
}


def test_an_imported_playbook_stands_in_place_with_what_its_import_hands_down(tmp_path):
    first, second = load(tmp_path, IMPORTING).plays
    assert ("web", "db") == (first.hosts, second.hosts)
    assert ({"a": "imported", "b": "own"}, ("it", "own")) == (first.vars, first.keywords.tags)
    assert ("asked", "really") == steps(first.tasks)[0].keywords.when
    assert (tmp_path / "sub/other.yml", ["Local"]) == (first.playbook, names(first.roles[0].tasks))


def test_every_file_that_took_part_is_listed(tmp_path):
    files = {str(path.relative_to(tmp_path)) for path in load(tmp_path, IMPORTING).files}
    assert {"site.yml", "sub/other.yml", "sub/roles/local/tasks/main.yml"} == files


# ---------------------------------------------------------------------- plays

ALIASED = """
- hosts: web
  vars: &vars {a: 1}
  tasks: &tasks
    - name: Deploy
      debug:
      notify: Bounce
    - block: &inner
        - name: In a block
          debug:
  handlers: &handlers
    - name: Bounce
      debug:
- hosts: db
  vars: *vars
  tags: second
  tasks: *tasks
  handlers: *handlers
- hosts: db
  tasks: *inner
"""


def test_whole_lists_of_steps_may_be_aliases(tmp_path):
    first, second, third = load(tmp_path, {"site.yml": ALIASED}).plays
    assert (["Deploy", "In a block"], ["In a block"]) == (names(second.tasks), names(third.tasks))
    assert ((), ("second",)) == (steps(first.tasks)[0].keywords.tags, steps(second.tasks)[0].keywords.tags)
    assert ({"a": 1}, ["Bounce"]) == (second.vars, names(second.handlers))


def test_a_plays_words_are_kept(tmp_path):
    source = """
- name: All
  hosts: [web, "!db"]
  gather_facts: no
  gather_subset: [min]
  serial: [1, "50%"]
  strategy: ansible.builtin.free
  order: sorted
  max_fail_percentage: 25
  any_errors_fatal: yes
  force_handlers: true
  user: me
  vars_files: [a.yml, [b.yml, c.yml]]
  vars_prompt: [{name: who, prompt: Who?, private: no}]
  lease: off
"""
    play = load(tmp_path, {"site.yml": source}).plays[0]
    assert ("All", ["web", "!db"], False, ["min"]) == (play.name, play.hosts, play.gather_facts, play.gather_subset)
    assert ([1, "50%"], "free", "sorted", 25) == (play.serial, play.strategy, play.order, play.max_fail_percentage)
    assert (True, True, "me", False) == (
        play.any_errors_fatal,
        play.force_handlers,
        play.keywords.remote_user,
        play.lease,
    )
    assert (("a.yml", ["b.yml", "c.yml"]), "who") == (play.vars_files, play.vars_prompt[0]["name"])


def test_a_playbook_that_is_nowhere_is_refused_with_a_near_name(tmp_path):
    (tmp_path / "site.yml").write_text("")
    with pytest.raises(InputError, match=r'there is no playbook ".*sitte.yml"; did you mean "site.yml"\?'):
        load_playbook(tmp_path / "sitte.yml")


def test_with_problems_given_everything_readable_comes_back(tmp_path):
    problems = Problems()
    playbook = load(tmp_path, {"site.yml": "- hosts: web\n  tasks:\n    - debgu:\n    - debug:\n"}, problems=problems)
    assert (["debug"], 1) == (names(playbook.plays[0].tasks), len(problems.errors))


@pytest.mark.slow
def test_ten_thousand_steps_simply_work(tmp_path):
    source = "- hosts: web\n  tasks:\n" + "    - debug: {msg: x}\n" * 10_000
    assert 10_000 == len(load(tmp_path, {"site.yml": source}).plays[0].tasks)


def test_imports_that_multiply_without_end_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("cleanslate.playbook.loader.MOST_STEPS", 1_000)
    files = {"site.yml": "- hosts: web\n  tasks:\n    - import_tasks: a0.yml\n"}
    files |= {f"a{n}.yml": f"- import_tasks: a{n + 1}.yml\n" * 20 for n in range(6)}
    files["a6.yml"] = "- debug:\n"
    with pytest.raises(InputError, match="imports make more than 1,000 steps of this playbook"):
        load(tmp_path, files)


def test_a_block_keeps_its_own_name_and_place(tmp_path):
    playbook = load(tmp_path, {"site.yml": NESTED})
    [block] = playbook.plays[0].tasks
    assert isinstance(block, Block)
    assert ("Outer", 9) == (block.name, block.origin.line)
    assert names((copy.copy(block),)) == names((block,))


def test_a_block_of_handlers_lends_them_its_keywords(tmp_path):
    source = "- hosts: web\n  handlers:\n    - when: asked\n      block:\n        - name: one\n          debug:\n"
    [handler] = load(tmp_path, {"site.yml": source}).plays[0].handlers
    assert ("one", ("asked",)) == (handler.title, handler.keywords.when)


def test_a_block_may_be_empty(tmp_path):
    assert [] == tasks(tmp_path, "- block: []\n  rescue:\n")
