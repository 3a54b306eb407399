"""What is said of Ansible's modules before a host is touched."""

from __future__ import annotations

import shutil

import pytest

from cleanslate.errors import InputError
from cleanslate.modules import find
from cleanslate.steps import registry
from tests.modules.conftest import HERE
from tests.runner.plays import run_play


def refusal(folder, steps, **files):
    """All that is said of a play with these steps; nothing is run."""
    lines = "\n".join("    " + line for line in steps.strip("\n").splitlines())
    with pytest.raises(InputError) as caught:
        run_play(folder, f"- hosts: all\n  gather_facts: false\n  tasks:\n{lines}\n", files=files)
    return [f"{one.origin.line}:{one.origin.column}: {one.what}; {one.fix}" for one in caught.value.problems]


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ("- apt: {nme: curl}", '4:13: step apt: apt has no argument "nme"; did you mean "name"?'),
        ("- git: {dest: /x}", '4:7: step git: git needs the argument "repo"; None'),
        (
            "- note: {path: /x, style: loudly}",
            '4:31: step note: the argument "style" of note cannot be "loudly"; one of plain, loud',
        ),
        (
            "- note: {path: /x, dest: /y}",
            '4:24: step note: "path" and "dest" are the same argument of note; keep one of them',
        ),
        (
            "- example.tools.call_out: {text: a, volum: 2}",
            '4:41: step example.tools.call_out: example.tools.call_out has no argument "volum"; did you mean "volume"?',
        ),
        (
            "- example.tools.acts: {text: a}",
            '4:7: step: "example.tools.acts" needs a plugin of Ansible\'s on the controller (an action plugin), '
            "and those do not run here; use a module that runs on the target, or command",
        ),
        (
            "- example.tools.call_ut: {text: a}",
            '4:7: step: the collection example.tools has no module "call_ut"; did you mean "call_out"?',
        ),
        (
            "- example.tools.whisper: {text: a}",
            '4:7: step: "example.tools.whisper" was removed from its collection: Use call_out instead.; None',
        ),
        (
            "- ufw: {rule: allow}",
            '4:7: step: the step type "ufw" is of the collection community.general, which is not installed; '
            "ansible-galaxy collection install community.general",
        ),
        (
            "- community.docker.docker_container: {name: a}",
            '4:7: step: the step type "community.docker.docker_container" is of the collection '
            "community.docker, which is not installed; ansible-galaxy collection install community.docker",
        ),
        ("- hostnam: {x: 1}", '4:7: step: there is no step type "hostnam"; did you mean "hostname"?'),
        ("- atp: {x: 1}", '4:7: step: there is no step type "atp"; did you mean "apt"?'),
        (
            "- ansible.builtin.usr: {x: 1}",
            '4:7: step: there is no step type "ansible.builtin.usr"; did you mean "user"?',
        ),
        (
            "- dockr_container: {x: 1}",
            '4:7: step: there is no step type "dockr_container"; did you mean "docker_container"?',
        ),
        ("- wen: true", '4:7: step: there is no step type "wen"; did you mean "when"?'),
        ("- qqqq: true", '4:7: step: there is no step type "qqqq"; inv steps lists all there are'),
        ("- coppy: {x: 1}", '4:7: step: there is no step type "coppy"; did you mean "copy"?'),
        ("- winner: {x: 1}", '4:7: step: the module "winner" runs on Windows, which is no target here; None'),
    ],
)
def test_mistakes(folder, steps, said):
    """File, line, column, what is wrong, and what to do."""
    shutil.copytree(HERE / "collections", folder / "collections")
    (folder / "library").mkdir()
    (folder / "library" / "winner.ps1").write_text("#Requires -Module Ansible.ModuleUtils.Legacy\n")
    assert [said] == refusal(folder, steps)


@pytest.mark.parametrize("name", ["apt", "ansible.builtin.apt", "community.general.ufw"])
def test_without_ansible_the_command_that_brings_it_is_said(folder, monkeypatch, name):
    """A module of Ansible's is not called misspelt."""
    monkeypatch.setattr(find, "ansible_root", lambda: None)
    what = f'the step type "{name}" is a module of Ansible\'s, which runs through ansible-core'
    said = f"4:7: step: {what}; install that beside cleanslate: ./inv extras ansible"
    assert [said] == refusal(folder, f"- {name}: {{x: 1}}")


def test_without_ansible_a_librarys_module_is_known(folder, monkeypatch):
    """It is there, and says what it lacks."""
    monkeypatch.setattr(find, "ansible_root", lambda: None)
    (said,) = refusal(folder, "- note: {path: /x}")
    assert 'the step type "note" is a module in a folder "library"' in said


def test_elsewhere_pip_brings_it(monkeypatch, tmp_path):
    """Where cleanslate was not taken from its repository, there is no inv."""
    monkeypatch.setattr(find, "__file__", str(tmp_path / "cleanslate/modules/find.py"))
    assert "pip install 'cleanslate-runner[ansible]'" == find.bring()


def test_an_argument_that_nobody_documented_is_taken(folder):
    """The module's own text speaks of it, so it is no mistake."""
    (said,) = refusal(folder, "- note: {path: /x, unspoken: true, styl: plain}")
    assert 'no argument "styl"' in said


def test_required_arguments_may_come_from_elsewhere(folder):
    """From module_defaults by any of its names, or from a template for all of them."""
    steps = (
        "- note: '{{ given | default({}) }}'\n"
        "- block: [{note: {text: a}}]\n  module_defaults: {note: {path: /x}}\n- note: {style: x}"
    )
    (choice, required) = sorted(refusal(folder, steps), key=lambda line: 'cannot be "x"' not in line)
    assert ('needs the argument "path"' in required, 'cannot be "x"' in choice) == (True, True)


def test_a_role_brings_its_own(folder):
    """`library/` in the role, `collections` in its meta."""
    (folder / "roles/r/library").mkdir(parents=True)
    shutil.copy(HERE / "library/note.py", folder / "roles/r/library/noted.py")
    files = {
        "roles/r/tasks/main.yml": "- noted: {path: /x, stile: plain}\n- call_out: {texxt: a}\n",
        "roles/r/meta/main.yml": "collections: [example.tools]\n",
    }
    with pytest.raises(InputError) as caught:
        run_play(folder, "- {hosts: all, gather_facts: false, roles: [r]}\n", files=files)
    fixes = [one.fix for one in caught.value.problems]
    assert ['did you mean "style"?', 'did you mean "text"?'] == fixes


def test_types_of_our_own_come_before_ansibles(folder):
    """Whatever ansible-core or a library has of the same name."""
    (folder / "library").mkdir()
    (folder / "library/copy.py").write_text("nonsense")
    ran = run_play(
        folder, '- hosts: alpha\n  gather_facts: false\n  tasks: [{copy: {content: a, dest: "{{ workdir }}/a"}}]\n'
    )
    assert ["changed"] == [status for _, _, status in ran.statuses]
    assert "copy" not in {one.name for one in registry.added()}
