"""Inventory scripts: what they say when they fail, and which files are run at all."""

import pytest

from cleanslate.model import SourceText


def script(body: str) -> str:
    return f"#!/bin/sh\n{body}\n"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            "echo no route >&2; exit 3",
            "inv.sh: error: the inventory script ended with exit code 3: no route; run {root}/inv.sh --list and look",
        ),
        (
            "echo '{'",
            "inv.sh: error: the inventory script's --list printed no JSON: Expecting property name enclosed in double "
            "quotes: line 2 column 1 (char 2); run {root}/inv.sh --list and look",
        ),
        (
            "echo '[]'",
            "inv.sh: error: the inventory script's --list printed no JSON object; run {root}/inv.sh --list and look",
        ),
        (
            'echo \'{"g": 5, "k": {"hosts": "h"}, "l": {"vars": [], "children": [1]}, "_meta": 1}\'',
            'inv.sh: error: the inventory script\'s answer: group "g" is neither a list of hosts nor a map\n'
            'inv.sh: error: the inventory script\'s answer: "hosts" of group "k" is not a list of names\n'
            'inv.sh: error: the inventory script\'s answer: "vars" of group "l" is not a map\n'
            'inv.sh: error: the inventory script\'s answer: "children" of group "l" is not a list of names\n'
            'inv.sh: error: the inventory script\'s answer: "_meta" holds no map "hostvars"',
        ),
        (
            '[ $1 = --host ] && echo 5 || echo \'{"g": ["h"]}\'',
            "inv.sh: error: the inventory script's --host h printed no JSON object; run {root}/inv.sh --list and look",
        ),
        (
            'echo \'{"g": ["h"], "_meta": {"hostvars": {"h": 5}}}\'',
            'inv.sh: error: the inventory script\'s answer: the variables of host "h" are not a map',
        ),
    ],
)
def test_a_script_that_fails_is_explained(written, tmp_path, body, told):
    """Its exit code and last words, or what is wrong with its answer."""
    assert told.format(root=tmp_path).splitlines() == written.mistakes("inv.sh", files={"inv.sh": script(body)})


def test_an_interpreter_that_is_missing_is_told(written, tmp_path):
    """The usual cause is the first line."""
    told = "inv.sh: error: the inventory script cannot be run: No such file or directory; look at its first line"
    assert [told] == written.mistakes("inv.sh", files={"inv.sh": "#!/no/such/python\n"})


def test_a_script_without_permission_is_told_how_to_get_it(written, tmp_path):
    """It would otherwise be read as INI, and every line be wrong."""
    (tmp_path / "inv").write_text("#!/usr/bin/env python3\n")
    told = (
        f"inv: error: the inventory begins with #! but is not executable; chmod +x {tmp_path}/inv, or remove that line"
    )
    assert [told] == written.mistakes("inv")


@pytest.mark.parametrize(("name", "text"), [("hosts", "[g]\nh\n"), ("hosts.yml", "g:\n  hosts:\n    h:\n")])
def test_an_executable_text_file_is_read_not_run(written, tmp_path, name, text):
    """On some mounts every file is executable."""
    (tmp_path / name).write_text(text)
    (tmp_path / name).chmod(0o755)
    assert ["h"] == written.load(name).groups["g"].hosts


def test_what_a_script_says_beside_its_answer_is_a_warning(written):
    """Its standard error is shown, not lost."""
    text = script('echo "cache is old" >&2; echo \'{"_meta": {"hostvars": {}}}\'')
    warnings = written.load("inv.sh", files={"inv.sh": text}).warnings
    assert ["inv.sh: warning: the inventory script says: cache is old"] == [str(warning) for warning in warnings]


def test_its_text_may_be_a_template_unless_it_is_marked_unsafe(written):
    """As in ansible-core: `__ansible_unsafe` is data."""
    text = script(
        'echo \'{"g": {"hosts": ["h"], "vars": {"a": "{{ b }}", "c": {"__ansible_unsafe": "{{ d }}"}, "e": ["f"]}},'
        ' "_meta": {"hostvars": {}}}\''
    )
    values = written.load("inv.sh", files={"inv.sh": text}).groups["g"].vars
    assert [SourceText, str, SourceText] == [type(value) for value in (values["a"], values["c"], values["e"][0])]
