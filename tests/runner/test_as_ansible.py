"""Small cases in which whole playbooks were seen to go otherwise than with ansible-core."""

from __future__ import annotations

import json

from tests.runner.plays import run_play
from tests.runner.test_flow import ONE, tasks


def test_set_fact_in_a_loop_builds_on_the_item_before(tmp_path):
    text = tasks(
        """
- set_fact: {found: "{{ found | default([]) + [item] }}", "name_{{ item }}": "{{ item }}"}
  loop: [a, b]
- {name: seen, debug: {msg: "{{ found | join('+') }} {{ name_b }}"}}
"""
    )
    assert "a+b b" == run_play(tmp_path, text, inventory=ONE).results("seen")["alpha"]["msg"]


def test_facts_set_for_a_delegate_are_the_delegates(tmp_path):
    text = tasks(
        """
- set_fact: {mark: 1}
  delegate_to: beta
  delegate_facts: true
  when: inventory_hostname == 'alpha'
- {name: seen, debug: {msg: "{{ mark | default('none') }}"}}
"""
    )
    seen = run_play(tmp_path, text).results("seen")
    assert {"alpha": "none", "beta": 1} == {host: result["msg"] for host, result in seen.items()}


def test_a_role_included_thrice_runs_its_handler_once(tmp_path):
    files = {
        "roles/maker/tasks/main.yml": "- {shell: echo x, notify: made}\n",
        "roles/maker/handlers/main.yml": "- {name: made, debug: {msg: made}}\n",
    }
    text = tasks(
        '- {include_role: {name: maker}, loop: [1, 2, 3], vars: {n: "{{ item }}"}}\n- include_role: {name: maker}'
    )
    ran = run_play(tmp_path, text, inventory=ONE, files=files)
    assert 1 == [name for name, _, _ in ran.statuses].count("made")


def test_dependencies_run_for_a_duplicate_that_does_not(tmp_path):
    files = {
        "roles/tool/meta/main.yml": "allow_duplicates: true\n",
        "roles/tool/tasks/main.yml": "- {name: tool, debug: {}}\n",
        "roles/app/meta/main.yml": "dependencies: [tool]\n",
        "roles/app/tasks/main.yml": "- {name: app, debug: {}}\n",
        "roles/skipped/tasks/main.yml": "- {name: skipped, debug: {}, when: n is defined}\n",
    }
    head = "- hosts: all\n  gather_facts: false\n  roles: [app, app, skipped, skipped]\n"
    ran = run_play(tmp_path, head, inventory=ONE, files=files)
    assert ["tool", "app", "tool", "skipped", "skipped"] == [name for name, _, _ in ran.statuses]


def test_only_a_whole_batch_of_new_failures_ends_the_run(tmp_path):
    text = tasks("- {name: one, fail: {}, when: inventory_hostname == 'alpha'}")
    text += tasks("- {name: two, fail: {}}")  # beta fails, alpha had failed before: no whole batch
    text += "- hosts: localhost\n  gather_facts: false\n  tasks: [{name: three, debug: {}}]\n"
    ran = run_play(tmp_path, text)
    assert ("three", "localhost", "ok") == ran.statuses[-1]
    assert 2 == ran.outcome.exit_code


def test_refreshing_the_inventory_reads_its_sources_again(tmp_path):
    """Once for all hosts; hosts that steps added stay, those that are gone are in no later play, facts are kept."""
    count = tmp_path / "count"
    script = f"#!/bin/sh\necho x >> {count}\n[ \"$1\" = --list ] && cat {tmp_path}/list.json || echo '{{}}'\n"
    text = """
- hosts: all
  gather_facts: false
  tasks:
    - set_fact: {kept: "of {{ inventory_hostname }}"}
    - add_host: {name: added, groups: extra, ansible_connection: local, level: 3}
    - copy: {dest: "{{ workdir }}/list.json", content: "{{ lookup('file', workdir ~ '/next.json') }}"}
      delegate_to: alpha
      run_once: true
    - meta: refresh_inventory
    - {name: now, debug: {msg: "{{ groups.all | sort | join(' ') }} {{ level }}"}}
- hosts: all
  gather_facts: false
  tasks:
    - {name: then, debug: {msg: "{{ kept | default('new') }} {{ level }}"}}
"""
    host = {"ansible_connection": "local"}
    before = {"_meta": {"hostvars": {"alpha": {**host, "level": 1}, "beta": {**host, "level": 1}}}}
    after = {"_meta": {"hostvars": {"alpha": {**host, "level": 2}, "gamma": {**host, "level": 2}}}}
    lists = [{**one, "all": {"hosts": [*one["_meta"]["hostvars"]]}} for one in (before, after)]
    (tmp_path / "list.json").write_text(json.dumps(lists[0]))
    (tmp_path / "next.json").write_text(json.dumps(lists[1]))
    (tmp_path / "hosts.ini").touch(mode=0o755)
    ran = run_play(tmp_path, text, inventory=script)
    now = {host: result["msg"] for host, result in ran.results("now").items()}
    then = {host: result["msg"] for host, result in ran.results("then").items()}
    assert {"alpha": "added alpha gamma 2"} == now
    assert {"alpha": "of alpha 2", "gamma": "new 2", "added": "new 3"} == then
    assert 2 == len(count.read_text().split())


def test_an_inventory_that_cannot_be_read_again_stays_as_it_was(tmp_path):
    """The run goes on with what it knows, and says so."""
    text = """
- hosts: all
  gather_facts: false
  tasks:
    - copy: {dest: "{{ workdir }}/hosts.ini", content: "[broken\\n"}
      run_once: true
    - meta: refresh_inventory
- hosts: all
  gather_facts: false
  tasks: [{name: then, debug: {msg: x}}]
"""
    ran = run_play(tmp_path, text)
    assert {"alpha", "beta"} == set(ran.results("then"))
    assert any("stays as it was" in message for message in ran.messages())


def test_files_that_are_kept_encrypted_arrive_in_plain_text(tmp_path):
    """Templates and copied files alike, unless they are asked for as they are."""
    from cleanslate.vault.envelope import parse_envelope, seal, unseal

    (tmp_path / "templates").mkdir()
    (tmp_path / "files").mkdir()
    (tmp_path / "templates/t.j2").write_text(seal(b"one and {{ 1 + 1 }}\n", b"pw", None))
    (tmp_path / "files/f").write_text(seal(b"as it is {{ 1 + 1 }}\n", b"pw", None))
    text = """
- hosts: alpha
  gather_facts: false
  tasks:
    - template: {src: t.j2, dest: "{{ workdir }}/a"}
    - copy: {src: f, dest: "{{ workdir }}/b"}
    - copy: {src: f, dest: "{{ workdir }}/c", decrypt: false}
    - set_fact: {d: "{{ lookup('template', 't.j2') }}"}
    - copy: {content: "{{ d }}", dest: "{{ workdir }}/d"}
"""
    opened = unseal(parse_envelope((tmp_path / "files/f").read_text()), b"pw")
    assert b"as it is {{ 1 + 1 }}\n" == opened
    run_play(tmp_path, text, decrypt=lambda envelope: (unseal(parse_envelope(envelope), b"pw") or b"").decode())
    found = {name: (tmp_path / name).read_text() for name in "abd"}
    assert {"a": "one and 2\n", "b": "as it is {{ 1 + 1 }}\n", "d": "one and 2\n"} == found
    assert (tmp_path / "c").read_text().startswith("$ANSIBLE_VAULT;1.1;AES256")
