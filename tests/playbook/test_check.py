"""What is no mistake is not called one, and what is one is found also in far places."""

from __future__ import annotations

import pytest

from cleanslate.model import SourceText
from tests.playbook.project import says

STEP = "- debug: {msg: a}\n"


def play(tasks: str, **words: str) -> str:
    head = "".join(f"  {key}: {value}\n" for key, value in {"hosts": "web", **words}.items())
    body = "".join(f"    {line}\n" for line in tasks.strip("\n").splitlines())
    return f"- name: Play\n{head}  tasks:\n{body}"


def site(tasks: str, **words: str) -> dict[str, str]:
    return {"site.yml": play(tasks, **words)}


RIGHT = {
    "a host that add_host makes": {
        "site.yml": play("- add_host: {name: new1, groups: 'fresh,more'}") + play(STEP, hosts="fresh:new1:more")
    },
    "a group that group_by makes": {
        "site.yml": play("- group_by:\n    key: \"{{ 'big' if true else 'small' }}\"") + play(STEP, hosts="big")
    },
    "the implicit localhost": site(STEP, hosts="localhost"),
    "every host": site(STEP, hosts="all"),
    "a group without hosts": site(STEP, hosts="empty"),
    "an argument that a module default gives": site("- command:", module_defaults="{command: {cmd: ls}}"),
    "an argument that a template of module defaults may give": site(
        "- command:", module_defaults="{command: '{{ x }}'}", vars="{x: {}}"
    ),
    "all arguments in one template": site('- command: "{{ all_of_it }}"', vars="{all_of_it: ls}"),
    "arguments from args": site('- copy: {dest: /tmp/x}\n  args: "{{ rest }}"', vars="{rest: {content: x}}"),
    "two exclusive arguments of which one may be omitted": site(
        '- copy: {dest: /tmp/x, content: "{{ c | default(omit) }}", src: "{{ s | default(omit) }}"}'
    ),
    "a template where a number is wanted": site('- debug: {msg: a, verbosity: "{{ v }}"}', vars="{v: 1}"),
    "a number as text": site('- debug: {msg: a, verbosity: "2"}'),
    "yes as text": site('- copy: {dest: /tmp/x, content: x, backup: "yes"}'),
    "a text of digits where text is wanted": site("- copy: {dest: /tmp/x, content: 5, owner: 0}"),
    "names of facts that are templates": site('- set_fact: {"{{ a }}_b": 1, c: 2}', vars="{a: x}"),
    "a copied file that lies on the target": site("- copy: {src: /opt/only/there, dest: /tmp/x, remote_src: true}"),
    "a copied file whose name is a template": site(
        '- copy: {src: "{{ which }}.conf", dest: /tmp/x}', vars="{which: a}"
    ),
    "a handler whose name is a template": {
        "site.yml": play("- command: ls\n  notify: restart app 1")
        + '  handlers:\n    - name: "restart {{ what }} 1"\n      debug: {msg: a}\n'
    },
    "a handler that listens": {
        "site.yml": play("- command: ls\n  notify: [changed, also]")
        + "  handlers:\n    - name: a\n      listen: [changed, also]\n      debug: {msg: a}\n"
    },
    "a handler of a role, by both its names": {
        "site.yml": play("- command: ls\n  notify: [restart, 'app : restart']", roles="[app]"),
        "roles/app/handlers/main.yml": "- name: restart\n  debug: {msg: a}\n",
    },
    "a handler of an imported role, of an included one, and of one they depend on": {
        "site.yml": play(
            "- command: ls\n  notify: [one, two, three]\n- import_role: {name: a}\n- include_role: {name: b}"
        ),
        "roles/a/handlers/main.yml": "- name: one\n  debug: {msg: a}\n",
        "roles/b/handlers/main.yml": "- name: two\n  debug: {msg: a}\n",
        "roles/b/meta/main.yml": "dependencies: [c]\n",
        "roles/c/handlers/main.yml": "- name: three\n  debug: {msg: a}\n",
    },
    "a handler that a handler notifies": {
        "site.yml": play("- command: ls\n  notify: one")
        + "  handlers:\n    - name: one\n      command: ls\n      notify: two\n    - name: two\n      debug: {msg: a}\n"
    },
    "notified names that a loop gives": site('- command: ls\n  notify: "{{ item }}"\n  loop: [a, b]'),
    "an include of itself that a condition ends": {
        **site("- include_tasks: again.yml\n  vars: {n: 3}"),
        "again.yml": '- include_tasks: again.yml\n  vars: {n: "{{ n - 1 }}"}\n  when: n > 0\n',
    },
    "an include that loops": {
        **site("- include_tasks: one.yml\n  loop: [1, 2]"),
        "one.yml": '- debug: {msg: "{{ item }}"}\n',
    },
    "files in a role": {
        **site(STEP, roles="[app]"),
        "roles/app/tasks/main.yml": "- copy: {src: a.conf, dest: /tmp/a}\n- template: {src: b.j2, dest: /tmp/b}\n"
        "- script: c.sh --all\n- include_vars: d.yml\n- include_tasks: e.yml\n",
        "roles/app/files/a.conf": "",
        "roles/app/templates/b.j2": "{{ inventory_hostname }}",
        "roles/app/files/c.sh": "",
        "roles/app/vars/d.yml": "x: 1\n",
        "roles/app/tasks/e.yml": STEP,
    },
    "files beside the playbook that a role uses": {
        **site(STEP, roles="[app]"),
        "files/a.conf": "",
        "roles/app/tasks/main.yml": "- copy: {src: a.conf, dest: /tmp/a}\n",
    },
    "a template with delimiters of its own": {
        **site("- template: {src: a.j2, dest: /tmp/a}"),
        "templates/a.j2": "#jinja2: block_start_string:'[%', block_end_string:'%]'\n[% if %]{% nothing %}\n",
    },
    "the first of several files of variables": {
        **site(STEP, vars_files="[[missing.yml, there.yml], '{{ inventory_hostname }}.yml']"),
        "there.yml": "a: 1\n",
    },
    "variables from everywhere": {
        **site(
            "- set_fact: {made: 1}\n- command: ls\n  register: result\n"
            '- debug:\n    msg: "{{ made }} {{ result.rc }} {{ from_file }} {{ from_role }} {{ grouped }}"\n'
            '- debug: {msg: "{{ one }} {{ place }} {{ given }} {{ groups.web }} {{ asked }}"}\n'
            "  loop: [1]\n  loop_control: {loop_var: one, index_var: place}\n  vars: {given: 1}\n",
            vars_files="[f.yml]",
            roles="[app]",
            vars_prompt="[{name: asked, prompt: Who?}]",
        ),
        "f.yml": "from_file: 1\n",
        "group_vars/web.yml": "grouped: 1\n",
        "roles/app/defaults/main.yml": "from_role: 1\n",
    },
    "a variable that is asked about first": site(
        '- debug: {msg: "{{ perhaps }} {{ other.x }}"}\n  when: [perhaps is defined, other is defined and other.x]'
    ),
    "octal modes": site(
        '- copy: {dest: /tmp/x, content: x, mode: 0644}\n- copy: {dest: /tmp/x, content: x, mode: "644"}'
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_not_called_a_mistake(name, tmp_path):
    assert [] == says(tmp_path, RIGHT[name])


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_right_for_lint_too(name, tmp_path):
    lints = [line for line in says(tmp_path, RIGHT[name], lint=True) if "nobody notifies" not in line]
    assert [] == lints


def test_hosts_may_come_from_extra_variables(tmp_path):
    files = site(STEP, hosts='"{{ target }}"')
    assert [] == says(tmp_path, files, extra_vars={"target": SourceText("web")})


def test_a_file_that_an_earlier_local_step_may_make_is_only_warned_of(tmp_path):
    tasks = (
        "- command: tar cf /tmp/none/x.tar .\n  delegate_to: localhost\n- copy: {src: /tmp/none/x.tar, dest: /tmp/x}"
    )
    [line] = says(tmp_path, site(tasks))
    assert "site.yml:6:19: warning: step copy: there is no file" in line


@pytest.mark.parametrize("guard", ["ignore_errors: true", "failed_when: false"])
def test_a_missing_file_that_the_step_reckons_with_is_only_warned_of(tmp_path, guard):
    [line] = says(tmp_path, site(f"- copy: {{src: no.conf, dest: /tmp/x}}\n  {guard}"))
    assert "warning" in line


def test_a_missing_file_within_a_rescued_block_is_only_warned_of(tmp_path):
    tasks = "- block:\n    - copy: {src: no.conf, dest: /tmp/x}\n  rescue:\n    - debug: {msg: a}"
    [line] = says(tmp_path, site(tasks))
    assert "warning" in line


def test_an_unknown_step_type_is_only_warned_of_where_it_may_never_be_reached(tmp_path):
    files = {**site("- include_tasks: redhat.yml\n  when: false"), "redhat.yml": "- yummy: {name: x}\n"}
    [line] = says(tmp_path, files)
    assert line.startswith("redhat.yml:1:3: warning:")


def test_mistakes_are_found_in_included_files_and_roles(tmp_path):
    files = {
        **site("- include_tasks: more.yml\n- include_role: {name: app, tasks_from: setup}"),
        "more.yml": "- debug: {mgs: a}\n",
        "roles/app/tasks/setup.yml": "- debug: {mgs: b}\n",
        "roles/app/handlers/main.yml": "- name: x\n  debug: {mgs: c}\n",
    }
    assert ["more.yml:1:11", "roles/app/handlers/main.yml:2:11", "roles/app/tasks/setup.yml:1:11"] == sorted(
        line.split(": error")[0] for line in says(tmp_path, files)
    )


def test_a_mistake_in_a_shared_list_of_steps_is_told_once(tmp_path):
    source = "- hosts: web\n  tasks: &steps\n    - debug: {mgs: a}\n- hosts: db\n  tasks: *steps\n"
    assert 1 == len(says(tmp_path, {"site.yml": source}))


def test_an_unknown_handler_is_only_warned_of_where_a_role_of_unknown_name_may_bring_it(tmp_path):
    [line] = says(tmp_path, site('- command: ls\n  notify: x\n- include_role: {name: "{{ role_of_host }}"}'))
    assert 'warning: step command: notifies "x"' in line


def test_a_wrong_argument_deep_inside_has_its_own_place(tmp_path):
    [line] = says(tmp_path, site("- command:\n    argv:\n      - ls\n      - {a: b}"))
    assert line.startswith(
        'site.yml:7:13: error: step command: the argument "argv[1]" of command takes text, not a map'
    )


def test_problems_of_the_inventory_files_are_not_this_rooms(tmp_path):
    files = {**site('- debug: {msg: "{{ anything }}"}'), "group_vars/web.yml": "- no map\n"}
    assert [] == says(tmp_path, files)
