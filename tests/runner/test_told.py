"""What a run tells its record beside outcomes: arguments, files of the controller, and secrets that it found."""

from __future__ import annotations

from pathlib import Path

from tests.runner.plays import run_play

ONE = "[all]\nalpha ansible_connection=local\n"
HEAD = "- hosts: all\n  gather_facts: false\n"


def arguments(ran, kind="host.finished"):
    """The arguments that events of a kind tell."""
    return [event.data["args"] for event in ran.events if event.kind == kind]


def test_events_tell_the_arguments_as_rendered(tmp_path):
    """Of a step once, of a loop with each item; conditions are no arguments."""
    text = HEAD + (
        "  tasks:\n    - debug: {msg: 'is {{ inventory_hostname }}'}\n    - {assert: {that: true, quiet: true}}\n"
        "    - {debug: {msg: '{{ item }}'}, loop: [1, 2]}\n"
    )
    ran = run_play(tmp_path, text, inventory=ONE)
    assert [{"msg": "is alpha"}, {"quiet": True}, None] == arguments(ran)
    assert [{"msg": 1}, {"msg": 2}] == arguments(ran, "item.finished")


def test_no_log_hides_the_arguments(tmp_path):
    """As it hides the result."""
    ran = run_play(tmp_path, HEAD + "  tasks: [{debug: {msg: hush}, no_log: true}]\n", inventory=ONE)
    assert [None] == arguments(ran)


def test_what_stands_under_the_name_of_a_secret_is_masked_everywhere(tmp_path):
    """In the inventory, the play, a role, a file of variables, or in rendered arguments themselves."""
    text = HEAD + (
        '  vars: {inner: {api_key: from-the-play}, made: \'{{ "from" ~ "-a-template" }}\'}\n  vars_files: [more.yml]\n'
        "  roles: [r]\n  tasks:\n"
        "    - debug: {msg: '{{ hf_token }} {{ inner.api_key }} {{ db_password }} {{ role_secret }}'}\n"
        "    - {command: 'echo {{ made }}', environment: {DB_PASSWORD: '{{ made }}'}}\n"
    )
    files = {"more.yml": "db_password: from-a-file\n", "roles/r/defaults/main.yml": "role_secret: from-a-role\n"}
    ran = run_play(tmp_path, text, inventory=ONE.strip() + " hf_token=from-the-inventory\n", files=files)
    told = repr([event.data for event in ran.events])
    assert "'msg': '******** ******** ******** ********'" in told
    for secret in ("inventory", "play", "file", "role"):
        assert f"from-the-{secret}" not in told and f"from-a-{secret}" not in told
    assert "'stdout': '********'" in told


def test_every_file_of_the_controller_that_takes_part_is_told(tmp_path):
    """Templates and what they include, copied files, includes, variable files, roles that are included, lookups."""
    text = HEAD + (
        "  vars_files: [more.yml]\n  tasks:\n"
        "    - template: {src: page.j2, dest: '{{ workdir }}/page'}\n"
        "    - copy: {src: plain.txt, dest: '{{ workdir }}/plain'}\n"
        "    - include_tasks: inner.yml\n    - include_role: {name: r}\n    - include_vars: late.yml\n"
        "    - debug: {msg: \"{{ lookup('file', 'looked.txt') }}\"}\n"
    )
    files = {
        "more.yml": "a: 1\n",
        "templates/page.j2": "{% include 'part.j2' %}\n",
        "templates/part.j2": "x\n",
        "files/plain.txt": "y\n",
        "inner.yml": "- debug: {}\n",
        "roles/r/tasks/main.yml": "- debug: {}\n",
        "roles/r/defaults/main.yml": "b: 1\n",
        "vars/late.yml": "c: 1\n",
        "files/looked.txt": "z\n",
    }
    used: list[Path] = []
    ran = run_play(tmp_path, text, inventory=ONE, files=files, used=used.append)
    assert 0 == ran.outcome.exit_code
    found = {str(path.resolve().relative_to(tmp_path)) for path in used}
    assert {*files} <= found
