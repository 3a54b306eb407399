"""Roles: what a play holds of them, where they are found, and what a run loads of them later."""

from __future__ import annotations

from pathlib import Path

import pytest

from cleanslate.errors import InputError
from cleanslate.model import SourceMap
from cleanslate.playbook import load_role, load_tasks_file, role_search_paths
from tests.playbook.project import load, names, steps

# ---------------------------------------------------------------------- roles

ROLE = {
    "site.yml": """
- hosts: web
  tags: play
  roles:
    - plain
    - role: web
      when: wanted
      tags: [role]
      become: true
      vars: {a: entry}
      port_number: 80
""",
    "roles/plain/tasks/main.yml": "- name: Plain\n  debug:\n",
    "roles/web/tasks/main.yml": "- name: Install\n  debug:\n  when: needed\n- import_tasks: config.yml\n",
    "roles/web/tasks/config.yml": "- name: Configure\n  debug:\n  notify: restart\n",
    "roles/web/handlers/main.yml": "- name: restart\n  listen: web changed\n  debug:\n",
    "roles/web/defaults/main.yml": "a: default\nb: default\n",
    "roles/web/vars/main/one.yml": "b: one\n",
    "roles/web/vars/main/two.yaml": "c: two\n",
    "roles/web/meta/main.yml": "dependencies:\n  - role: base\n    level: 3\n    tags: based\n"
    "allow_duplicates: true\ngalaxy_info: {author: someone}\n",
    "roles/web/meta/argument_specs.yml": "argument_specs:\n  main: {options: {port_number: {type: int}}}\n",
    "roles/base/tasks/main.yml": "- name: Base\n  debug:\n",
}


def test_a_role_holds_its_files_and_its_use(tmp_path):
    plain, web = load(tmp_path, ROLE).plays[0].roles
    assert (["Plain"], {}, False) == (names(plain.tasks), plain.params, plain.allow_duplicates)
    assert ["Validating arguments against arg spec 'main'", "Install", "Configure"] == names(web.tasks)
    assert ({"a": "default", "b": "default"}, {"b": "one", "c": "two"}) == (web.defaults, web.vars)
    assert ({"port_number": 80}, True, True) == (web.params, web.allow_duplicates, web.public)
    assert {"main": {"options": {"port_number": {"type": "int"}}}} == web.argument_specs
    assert (tmp_path / "roles/web", "main") == (web.path, web.tasks_from)


def test_a_roles_steps_and_handlers_carry_its_keywords(tmp_path):
    web = load(tmp_path, ROLE).plays[0].roles[1]
    validate, install, configure = steps(web.tasks)
    assert ("validate_argument_spec", ("play", "role", "always")) == (validate.type, validate.keywords.tags)
    assert (("wanted", "needed"), ("play", "role"), True) == (
        install.keywords.when,
        install.keywords.tags,
        install.keywords.become,
    )
    assert (({"a": "entry"},), ("restart",), web) == (
        configure.keywords.vars,
        configure.keywords.notify,
        configure.role,
    )
    [handler] = steps(web.handlers)
    assert (("wanted",), ("web changed",)) == (handler.keywords.when, handler.keywords.listen)


def test_a_dependency_comes_with_what_its_parent_has(tmp_path):
    [base] = load(tmp_path, ROLE).plays[0].roles[1].dependencies
    [step] = steps(base.tasks)
    assert ("base", {"level": 3}, ["web"]) == (base.name, base.params, [parent.name for parent in base.parents])
    assert (("wanted",), ("play", "role", "based")) == (step.keywords.when, step.keywords.tags)


def test_an_imported_role_leaves_its_steps_in_place_and_itself_with_the_play(tmp_path):
    files = {
        **ROLE,
        "site.yml": "- hosts: web\n  tasks:\n    - name: First\n      debug:\n"
        "    - import_role: {name: web, tasks_from: config}\n      when: wanted\n      vars: {a: 1}\n",
    }
    play = load(tmp_path, files).plays[0]
    assert ["First", "Base", "Configure"] == names(play.tasks)
    assert (["base", "web"], ()) == ([role.name for role in play.imported_roles], play.roles)
    configure = steps(play.tasks)[2]
    assert (("wanted",), ({"a": 1},), "config") == (
        configure.keywords.when,
        configure.keywords.vars,
        configure.role.tasks_from,
    )


def test_roles_are_found_as_ansible_finds_them(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    repository = tmp_path / "repository"
    (repository / "playbooks").mkdir(parents=True)
    (repository / "invoke.yaml").write_text("")
    monkeypatch.chdir(tmp_path)
    assert [
        repository / "playbooks/roles",
        repository / "roles",
        tmp_path / "roles",
        tmp_path / "home/.ansible/roles",
        Path("/usr/share/ansible/roles"),
        Path("/etc/ansible/roles"),
        repository / "playbooks",
    ] == role_search_paths(repository / "playbooks")


# ---------------------------------------------------------------------- what a run loads


def test_a_dynamic_include_reads_a_file_with_what_is_handed_down(tmp_path):
    play = load(tmp_path, {"site.yml": "- hosts: web\n", "more.yml": "- name: More\n  debug:\n  tags: own\n"}).plays[0]
    [step] = load_tasks_file(tmp_path / "more.yml", play=play, role=None, inherit=play.keywords)
    assert ("More", ("own",)) == (step.title, step.keywords.tags)


def test_a_dynamic_include_refuses_a_bad_file_with_all_its_mistakes(tmp_path):
    play = load(tmp_path, {"site.yml": "- hosts: web\n", "more.yml": "- debgu:\n- debug:\n  wehn: a\n"}).plays[0]
    with pytest.raises(InputError) as caught:
        load_tasks_file(tmp_path / "more.yml", play=play, role=None, inherit=play.keywords)
    assert 2 == len(caught.value.problems)


def test_a_dynamic_role_takes_other_files_than_main(tmp_path):
    files = {
        "site.yml": "- hosts: web\n",
        "roles/db/tasks/setup.yml": "- name: Set up\n  debug:\n",
        "roles/db/vars/big.yml": "size: 9\n",
        "roles/db/defaults/small.yml": "size: 1\n",
        "roles/db/handlers/loud.yml": "- name: shout\n  debug:\n",
        "roles/db/tasks/main.yml": "- name: Main\n  debug:\n",
    }
    play = load(tmp_path, files).plays[0]
    role = load_role(
        "db",
        playbook_dir=tmp_path,
        params=SourceMap({"p": 1}),
        tasks_from="setup.yml",
        vars_from="big",
        defaults_from="small",
        handlers_from="loud",
        play=play,
    )
    assert (["Set up"], ["shout"]) == (names(role.tasks), names(role.handlers))
    assert ({"size": 9}, {"size": 1}, {"p": 1}, False) == (role.vars, role.defaults, role.params, role.public)
    assert "setup" == role.tasks_from


def test_a_dynamic_role_that_is_nowhere_is_refused(tmp_path):
    with pytest.raises(InputError, match='there is no role "nope"'):
        load_role("nope", playbook_dir=tmp_path)
