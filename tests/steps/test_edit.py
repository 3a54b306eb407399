"""lineinfile, blockinfile, replace: an edit done twice is an edit done once, whatever the file holds."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleanslate.model import Status
from tests.laws import examples
from tests.steps.harness import DirectTarget, run_step

LINES = st.lists(st.sampled_from(["a", "b=1", "b=2", "# c", "", " x", "ö"]), max_size=8)
ENDS = st.sampled_from(["\n", "", "\r\n"])
WORDS = st.sampled_from(["a", "b=1", "new", "# c", "ö", " x"])
PATTERNS = st.sampled_from([None, "^b=", "a", "^#", "nothing"])
PLACES = st.sampled_from(
    [{}, {"insertafter": "^b"}, {"insertbefore": "a"}, {"insertbefore": "BOF"}, {"insertafter": "EOF"}]
)


def edited(step, text, **arguments):
    """(the text after one edit, the text after a second one, whether that said changed, what check mode foretold)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f"
        path.write_bytes(text.encode())
        foretold = run_step(step, {"path": str(path), **arguments}, check=True).result
        first = run_step(step, {"path": str(path), **arguments}).result
        once = path.read_bytes().decode()
        second = run_step(step, {"path": str(path), **arguments}).result
        assert (foretold.data["changed"], foretold.diffs) == (first.data["changed"], first.diffs)
        assert first.data["changed"] == (once != text)
        return once, path.read_bytes().decode(), second.data["changed"]


@examples(25)
@given(lines=LINES, end=ENDS, line=WORDS, regexp=PATTERNS, place=PLACES, first=st.booleans())
def test_a_line_is_there_once_it_was_put_there(lines, end, line, regexp, place, first):
    arguments = {"line": line, "firstmatch": first, **place, **({"regexp": regexp} if regexp else {})}
    once, twice, changed = edited("lineinfile", end.join(lines) + end, **arguments)
    assert line in once.splitlines()
    if regexp is None:  # a line that does not match its own pattern may be added again, as in Ansible
        assert (twice, changed) == (once, False)


@examples(20)
@given(lines=LINES, line=WORDS)
def test_a_line_that_was_removed_is_gone_and_the_others_stay(lines, line):
    once, _, changed = edited("lineinfile", "".join(f"{text}\n" for text in lines), line=line, state="absent")
    assert (once, changed) == ("".join(f"{text}\n" for text in lines if text != line), False)


@examples(25)
@given(lines=LINES, block=st.lists(WORDS, min_size=1, max_size=3), place=PLACES, more=st.booleans())
def test_a_block_is_put_once_and_taken_away_again(lines, block, place, more):
    text = "".join(f"{line}\n" for line in lines)
    arguments = {"block": "\n".join(block), "append_newline": more, "prepend_newline": more, **place}
    once, twice, changed = edited("blockinfile", text, **arguments)
    assert (twice, changed, once.count("ANSIBLE MANAGED BLOCK")) == (once, False, 2)
    if not more:
        assert edited("blockinfile", once, state="absent")[0] == text


class Racing(DirectTarget):
    """A machine on which somebody else writes the file right after it was read, so many times."""

    def __init__(self, path, times):
        super().__init__()
        self.path, self.times = path, times

    def call(self, name, arguments, **options):
        answer = super().call(name, arguments, **options)
        if name == "files.survey" and self.times:
            self.times -= 1
            self.path.write_text(f"theirs {self.times}\n")
        return answer


def test_what_somebody_else_wrote_meanwhile_is_kept(tmp_path):
    path = tmp_path / "f"
    path.write_text("a\n")
    result = run_step("lineinfile", {"path": str(path), "line": "ours"}, target=Racing(path, 1)).result
    assert (result.status, path.read_text()) == (Status.CHANGED, "theirs 0\nours\n")


def test_a_file_that_is_written_again_and_again_is_left_alone(tmp_path):
    path = tmp_path / "f"
    path.write_text("a\n")
    result = run_step("lineinfile", {"path": str(path), "line": "ours"}, target=Racing(path, 100)).result
    assert (result.data["kind"], result.data["changed"], "ours" in path.read_text()) == ("changed", False, False)


def test_bytes_that_are_no_text_survive_an_edit(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"caf\xe9\nx=1\n\0\n")
    for step, arguments in (
        ("lineinfile", {"regexp": "^x=", "line": "x=2"}),
        ("replace", {"regexp": "^x=2$", "replace": "x=3"}),
        ("blockinfile", {"block": "y"}),
    ):
        assert run_step(step, {"path": str(path), **arguments}).result.status is Status.CHANGED
    assert path.read_bytes().startswith(b"caf\xe9\nx=3\n\0\n# BEGIN")


@pytest.mark.parametrize(
    ("step", "arguments", "words"),
    [
        ("lineinfile", {"line": "a", "regexp": "("}, 'regexp is not a regular expression: "("'),
        ("lineinfile", {"line": "a", "insertafter": "["}, 'insertafter is not a regular expression: "["'),
        ("blockinfile", {"block": "a", "insertbefore": "["}, 'insertbefore is not a regular expression: "["'),
        ("blockinfile", {"block": "a", "marker": "same"}, "the two markers are the same line"),
        ("replace", {"regexp": "a", "replace": "\\9"}, 'replace is not a regular expression: "\\9"'),
        ("replace", {"regexp": "a", "encoding": "nonsense"}, 'there is no encoding "nonsense"'),
        ("replace", {"regexp": "a", "after": "("}, 'after or before is not a regular expression: "("'),
    ],
)
def test_a_mistake_in_an_argument_is_named(tmp_path, step, arguments, words):
    (tmp_path / "f").write_text("a\n")
    result = run_step(step, {"path": str(tmp_path / "f"), **arguments}).result
    assert (result.data["failed"], result.data["msg"].startswith(words)) == (True, True), result.data["msg"]


@pytest.mark.parametrize("name", ["regexp", "insertafter", "insertbefore"])
def test_a_literal_pattern_is_checked_before_a_host_is_touched(name):
    from cleanslate.steps.registry import step_type

    [(argument, what, _)] = step_type("lineinfile").check({name: "("})
    assert (argument, what.startswith("is not a regular expression")) == (name, True)


def test_a_backup_is_kept_under_the_names_that_ansible_gives_it(tmp_path):
    (tmp_path / "f").write_text("a\n")
    result = run_step("lineinfile", {"path": str(tmp_path / "f"), "line": "b", "backup": True}).result
    assert result.data["backup"] == result.data["backup_file"]
    assert Path(result.data["backup"]).read_text() == "a\n"


def test_an_edit_takes_two_calls_and_none_to_write_where_nothing_differs(tmp_path):
    (tmp_path / "f").write_text("a\n")
    calls = []
    for _ in range(2):
        target = DirectTarget()
        run_step("lineinfile", {"path": str(tmp_path / "f"), "line": "b"}, target=target)
        calls.append(target.calls)
    assert calls == [["files.survey", "files.write"], ["files.survey"]]
