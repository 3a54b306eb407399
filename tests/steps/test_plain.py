"""command, shell, raw and script work where there is no Python; everything else says what is missing."""

from __future__ import annotations

import sys

import pytest

from cleanslate.errors import NoPython
from cleanslate.steps import _commands
from tests.steps.harness import DirectTarget, run_step


class WithoutPython(DirectTarget):
    """A target whose login shell is all there is."""

    def call(self, name, arguments, **options):
        raise NoPython("there is no Python 3.8 or later on the target")


def run(name, arguments, **context):
    return run_step(name, arguments, target=WithoutPython(), **context).result


CASES = [
    ("command", {"cmd": "echo 'a  b' $COLOUR ${COLOUR}x ~ $NOT_SET_ANYWHERE '*'"}),
    ("command", {"argv": ["echo", "$COLOUR", "it's", '"', "a\nb", ""]}),
    ("command", {"cmd": "echo $COLOUR", "expand_argument_vars": False}),
    ("command", {"cmd": "cat", "stdin": "given"}),
    ("command", {"cmd": "pwd", "chdir": "~"}),
    ("command", {"argv": ["sh", "-c", "echo out; echo err >&2; exit 3"]}),
    ("shell", {"cmd": "for i in 1 2; do echo $i $COLOUR; done | tac\necho end"}),
    ("shell", {"cmd": "echo ${BASH_VERSION:+bash}", "executable": "/bin/bash"}),
    ("shell", {"cmd": "cat; pwd", "chdir": "/", "stdin": "given"}),
    ("shell", {"cmd": "exit 4"}),
    ("script", {"cmd": "s.sh one 'two  three' $COLOUR"}),
    ("script", {"cmd": "s.py a", "executable": sys.executable}),
    ("script", {"cmd": "fails.sh", "chdir": "/"}),
]


@pytest.mark.parametrize(("name", "arguments"), CASES)
def test_without_python_a_command_ends_as_with_it(name, arguments, tmp_path):
    files = {
        "s.sh": '#!/bin/sh\nfor word in "$@"; do echo "[$word]"; done\necho "$COLOUR" >&2\nbasename "$0"\n',
        "s.py": "import sys\nprint(sys.argv[1:], repr(sys.stdin.read()))\n",
        "fails.sh": "#!/bin/sh\npwd\nexit 7\n",
    }
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    context = {"environment": {"COLOUR": "dark 'red'"}, "folder": tmp_path}
    expected, actual = run_step(name, arguments, **context).result, run(name, arguments, **context)
    names = ("rc", "stdout", "stderr", "changed", "failed", "msg")
    assert [expected.data[field] for field in names] == [actual.data[field] for field in names]


def test_a_script_leaves_nothing_behind_however_it_ends(tmp_path, monkeypatch):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "s.sh").write_text("#!/bin/sh\ndirname $0; kill -TERM $PPID; sleep 0.1; exit 9\n")
    for target in (None, WithoutPython()):
        found = run_step("script", {"cmd": "s.sh"}, folder=tmp_path, target=target).result
        assert (found.data["failed"], list((tmp_path / "tmp").iterdir())) == (True, [])


def test_a_script_is_run_from_home_where_the_temporary_folder_forbids_it(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "s.sh").write_text("#!/bin/sh\necho ran\n")
    assert run("script", {"cmd": "s.sh"}, folder=tmp_path).data["stdout"] == "ran\n"


def test_an_encrypted_script_is_decrypted_on_its_way(tmp_path):
    (tmp_path / "s.sh").write_text("$ANSIBLE_VAULT;1.1;AES256\n6162\n")
    opened = {"$ANSIBLE_VAULT;1.1;AES256\n6162\n": "#!/bin/sh\necho opened\n"}
    result = run_step("script", {"cmd": "s.sh"}, folder=tmp_path, vault=opened.__getitem__).result
    assert result.data["stdout"] == "opened\n"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("copy", {"content": "x", "dest": "/tmp/x"}),
        ("stat", {"path": "/"}),
        ("command", {"cmd": "true", "creates": "/x"}),
    ],
)
def test_whatever_needs_python_says_so(name, arguments):
    result = run(name, arguments)
    assert (result.data["failed"], "no Python" in result.data["msg"]) == (True, True)


def test_raw_speaks_to_the_login_shell_even_where_there_is_python():
    target = DirectTarget()
    result = run_step("raw", {"cmd": "echo $COLOUR; exit 3"}, target=target, environment={"COLOUR": "a b"}).result
    assert (target.calls, result.data["stdout"], result.data["rc"]) == ([], "a b\n", 3)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("plain", "plain"),
        ("", "''"),
        ("a b", "'a b'"),
        ("~", "~"),
        ("~/x y", "~'/x y'"),
        ("$A", '"${A-\\$A}"'),
        ("${A}b", '"${A-\\${A\\}}"b'),
        ("$", "'$'"),
        ("x~", "'x~'"),
    ],
)
def test_a_word_is_quoted_but_for_what_expands(word, expected):
    assert _commands.expanding_word(word) == expected


def test_a_long_output_says_that_it_was_cut():
    result = run_step("shell", {"cmd": "head -c 700000 /dev/zero | tr '\\0' x"}).result
    assert (result.data["stdout_cut"], result.data["stdout_bytes"]) == (True, 700_000)
    assert len(result.data["stdout"]) < 600_000


@pytest.mark.parametrize("check", [True, False])
def test_quotes_that_are_not_closed_are_refused_before_anything_runs(check):
    result = run_step("command", {"cmd": "echo 'open"}, check=check).result
    assert (result.data["failed"], result.fix) == (True, "close the quotes")
