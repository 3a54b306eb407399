"""A repository's own step types: one file each, held to the contract, with calls of their own on the target."""

from __future__ import annotations

import textwrap

import pytest

from cleanslate.errors import InputError
from tests.runner.plays import run_play

STEP = '''"""mark: leave a mark."""

from __future__ import annotations

from cleanslate.model import Diff
from cleanslate.steps.contract import Behaviour, Change, Outcome, PathText, StepArguments, StepContext, StepType, Text


class Arguments(StepArguments):
    """Arguments of mark."""

    path: PathText
    """The file."""
    text: Text = "mark"
    """What is in it."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Look, and write where it differs."""
    before = context.read("marks.look", path=args.path)["text"]
    if before != args.text:
        diff = Diff(args.path, before, args.text)
        yield Change(f"mark {args.path}", "marks.leave", {"path": args.path, "text": args.text}, {}, diffs=[diff])
    return Outcome({"path": args.path})


STEP = StepType(
    name="mark",
    arguments=Arguments,
    behave=behave,
    summary="Leave a mark.",
    example='- mark: {path: "{{ workdir }}/m"}',
)
'''
REMOTE = '''"""Marks on a machine."""

from cleanslate.remote.registry import changes, reads


@reads
def look(call, path):
    """What the mark says."""
    try:
        with open(path) as file:
            return {"text": file.read()}
    except FileNotFoundError:
        return {"text": None}


@changes
def leave(call, path, text):
    """Leave it."""
    with open(path, "w") as file:
        file.write(text)
    return {}
'''
PLAY = '- hosts: alpha\n  gather_facts: false\n  tasks:\n    - mark: {path: "{{ workdir }}/m", text: hello}\n'


def files(**changes):
    found = {"steps/mark.py": STEP, "steps/remote/marks.py": REMOTE, **changes}
    return {name: text for name, text in found.items() if text is not None}


def test_it_runs_is_foretold_and_changes_nothing_twice(tmp_path):
    """Like one of the built-in ones, with its own call on the target."""
    ran = [run_play(tmp_path, PLAY, files=files(), check=check).statuses[0][2] for check in (True, False, False)]
    assert (["changed", "changed", "ok"], "hello") == (ran, (tmp_path / "m").read_text())


def told(tmp_path, play=PLAY, **changes):
    """All that is said of a playbook that cannot be run."""
    with pytest.raises(InputError) as caught:
        run_play(tmp_path, play, files=files(**changes))
    return [str(problem).replace(f"{tmp_path}/", "") for problem in caught.value.problems]


def test_its_arguments_are_checked_before_a_host_is_touched(tmp_path):
    """By its own model, with a suggestion."""
    said = told(tmp_path, PLAY.replace("text:", "txt:"))
    assert ['play.yml:4:39: error: step mark: mark has no argument "txt"; did you mean "text"?'] == said


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("class Arguments", "class class", "steps/mark.py:9:7: error: this is not Python: invalid syntax"),
        ("STEP =", "1 / 0\nSTEP =", "steps/mark.py:27:1: error: it cannot be loaded: ZeroDivisionError"),
        ("STEP =", "STEPS =", "steps/mark.py:1:1: error: it has no STEP, which makes it a step type; STEP = StepType("),
        (
            'name="mark"',
            'name="marc"',
            'steps/mark.py:27:1: error: step type marc: it is called "marc", and its file mark.py; name it mark',
        ),
        (
            '    """The file."""\n',
            "",
            'steps/mark.py:12:1: error: step type mark: its argument "path" has no docstring; write one below it',
        ),
        ('"Leave a mark."', '""', "steps/mark.py:27:1: error: step type mark: it has no summary"),
        (
            "- mark:",
            "- nothing:",
            "steps/mark.py:27:1: error: step type mark: its example is no list of steps with a mark",
        ),
    ],
)
def test_a_broken_file_is_told_with_its_place(tmp_path, old, new, says):
    """File and line of the mistake, and what to do."""
    said = told(tmp_path, **{"steps/mark.py": STEP.replace(old, new, 1)})
    assert any(line.startswith(says) for line in said), said


def test_one_of_a_built_in_name_is_refused_where_it_stands(tmp_path):
    """`copy` stays what it is; a repository's own copy.py is told of by inv lint, and is never used."""
    own = STEP.replace('name="mark"', 'name="copy"')
    ran = run_play(
        tmp_path,
        PLAY.replace("mark: {path", "copy: {dest").replace("text:", "content:"),
        files=files(**{"steps/copy.py": own}),
    )
    assert "copy" == next(event.data["type"] for event in ran.events if event.kind == "step.started")
    from cleanslate.playbook.own import own_type

    with pytest.raises(InputError, match="there is a step type or keyword of that name already"):
        own_type("copy", tmp_path)


def test_what_runs_on_targets_is_checked_too(tmp_path):
    """For the oldest Python that a target may have, and for names that cleanslate has itself."""
    newer = REMOTE.replace("    return {}", "    match text:\n        case _:\n            return {}")
    said = " ".join(told(tmp_path, **{"steps/remote/marks.py": newer}))
    assert "steps/remote/marks.py:23:22: error: this does not run on a target with Python 3.8" in said
    said = " ".join(told(tmp_path, **{"steps/remote/files.py": REMOTE}))
    assert 'error: cleanslate has calls in a module "files" itself; give the file another name' in said


def test_the_example_of_the_guide_works(tmp_path):
    """What docs/writing-a-step.md shows for a repository's own step type is loaded and run."""
    from pathlib import Path

    guide = (Path(__file__).parents[2] / "docs/writing-a-step.md").read_text()
    blocks = [block.split("```")[0] for block in guide.split("```python\n")[1:]]
    step, remote = (textwrap.dedent(block) for block in blocks[1:3])
    play = "- hosts: alpha\n  gather_facts: false\n  tasks:\n    - mount_table: {wanted: [/]}\n"
    ran = run_play(tmp_path, play, files={"steps/mount_table.py": step, "steps/remote/mounted.py": remote})
    assert ["ok"] == [status for _, _, status in ran.statuses]
