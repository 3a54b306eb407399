"""patch_files: all files or none, exactly where the patch says, and back to the very bytes they were."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cleanslate.errors import InputError
from cleanslate.model import Status
from cleanslate.remote import atomic
from cleanslate.steps._patches import PatchRefused, Replacement, parse_diff, patched
from cleanslate.steps.registry import step_type
from tests.steps.harness import run_step

A = "import os\n\n\ndef one():\n    return 1\n\n\ndef two():\n    return 2\n"
B = "VALUE = 1\n"
DIFF = """\
diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -3,3 +3,4 @@

 def one():
+    print("one")
     return 1
@@ -8,2 +9,3 @@
 def two():
+    print("two")
     return 2
--- a/b.py
+++ b/b.py
@@ -1 +1,2 @@
 VALUE = 1
+print(VALUE)
"""
PATCHED_A = A.replace("def one():\n", 'def one():\n    print("one")\n').replace(
    "def two():\n", 'def two():\n    print("two")\n'
)


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "a.py").write_text(A)
    (folder / "b.py").write_text(B)
    (folder / "a.py").chmod(0o640)
    os.utime(folder / "a.py", (1e9, 1e9))
    return folder


def patch(package, *, check=False, folder=None, **arguments):
    given = {"name": "debug", "base": str(package), **arguments}
    return run_step("patch_files", given, check=check, folder=folder).result


def texts(package):
    return {path.name: path.read_text() for path in sorted(package.iterdir())}


def test_the_patch_of_the_runbook_fits_the_server_that_is_practised_with(tmp_path):
    """debug-eagle3 instruments the lab's server; whoever edits that one sees here that the patch no longer fits."""
    repository = Path(__file__).parents[2]
    shutil.copytree(repository / "cleanslate" / "lab" / "room" / "sglang", tmp_path / "sglang")
    diff = (repository / "playbooks" / "files" / "debug-lab-server.patch").read_text()
    applied = run_step("patch_files", {"name": "debug", "base": str(tmp_path / "sglang"), "diff": diff})
    assert Status.CHANGED == applied.result.status, applied.result.data
    assert 3 == len(applied.result.diffs)


def test_a_diff_of_several_files_is_applied_and_taken_back_to_the_bytes_mode_and_times(package):
    before = texts(package)
    assert (Status.CHANGED, PATCHED_A) == (patch(package, diff=DIFF).status, (package / "a.py").read_text())
    assert "VALUE = 1\nprint(VALUE)\n" == (package / "b.py").read_text()
    assert Status.OK == patch(package, diff=DIFF).status
    assert Status.CHANGED == patch(package, state="absent").status
    info = (package / "a.py").stat()
    assert (before, 0o640, 1e9) == (texts(package), info.st_mode & 0o777, info.st_mtime)
    assert Status.OK == patch(package, state="absent").status


def test_what_the_tools_write_is_what_the_step_reads(package, tmp_path):
    """The same result as `patch` would give with a diff that `diff -u` wrote."""
    new = tmp_path / "new.py"
    new.write_text(PATCHED_A)
    made = subprocess.run(["diff", "-u", "a.py", str(new)], cwd=package, capture_output=True, text=True)
    text = made.stdout.replace(str(new), "a.py")
    patch(package, diff=text)
    assert PATCHED_A == (package / "a.py").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"diff": DIFF.replace(" def two():", " def three():")}, "a.py: hunk 2 (@@ -8,2 +9,3 @@) does not fit: line 9"),
        (
            {"diff": DIFF.replace(" VALUE = 1", " VALUE = 2")},
            'b.py: hunk 1 (@@ -1 +1,2 @@) does not fit: line 1 is "VALUE',
        ),
        (
            {"diff": DIFF, "replace": [{"path": "b.py", "old": "X", "new": "Y"}]},
            "b.py: replacement 1: its text is there 0",
        ),
        ({"replace": [{"path": "a.py", "old": "return", "new": "x"}]}, "its text is there 2 times, not 1"),
        ({"diff": DIFF.replace("b.py", "c.py")}, "there is no file"),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_at_all_is_changed(package, arguments, said):
    """File, hunk and line; the other files of the same patch stay as they are too."""
    before = texts(package)
    result = patch(package, **arguments)
    assert (Status.FAILED, True, before) == (result.status, said in result.data["msg"], texts(package))
    assert Status.OK == patch(package, state="absent").status


def test_a_failure_while_writing_gives_the_first_files_their_content_again(package, monkeypatch):
    """All or none, on a disk that is full at the second file."""
    real, count = atomic.write, []

    def failing(path, *arguments, **more):
        if path.endswith("b.py"):
            count.append(path)
            raise OSError(28, "No space left on device", path)
        return real(path, *arguments, **more)

    before = texts(package)
    monkeypatch.setattr(atomic, "write", failing)
    result = patch(package, diff=DIFF)
    monkeypatch.undo()
    assert (Status.FAILED, before, 1) == (result.status, texts(package), len(count))
    assert Status.OK == patch(package, state="absent").status


def test_lines_that_moved_are_found_where_they_are_once_and_that_is_said(package):
    (package / "a.py").write_text("# new first line\n" + A)
    given = {"name": "debug", "base": str(package), "diff": DIFF}
    applied = run_step("patch_files", given)
    assert "# new first line\n" + PATCHED_A == (package / "a.py").read_text()
    assert Status.CHANGED == applied.result.status


def test_an_edited_patch_starts_from_the_originals(package):
    """Another diff under the same name: no trace of the first one is left, and back is back to the beginning."""
    before = texts(package)
    patch(package, diff=DIFF)
    only_b = [{"path": "b.py", "old": "VALUE = 1", "new": "VALUE = 3"}]
    assert Status.CHANGED == patch(package, replace=only_b).status
    assert {"a.py": A, "b.py": "VALUE = 3\n"} == texts(package)
    patch(package, state="absent")
    assert before == texts(package)


def test_a_file_that_somebody_else_changed_is_not_overwritten(package):
    """Neither patched again nor taken back; the original is named."""
    patch(package, diff=DIFF)
    (package / "a.py").write_text("something new\n")
    back, again = patch(package, state="absent"), patch(package, diff=DIFF)
    assert (Status.FAILED, Status.FAILED) == (back.status, again.status)
    assert ["something new\n", "VALUE = 1\nprint(VALUE)\n"] == list(texts(package).values())
    assert "patches/debug" in back.fix


def test_check_mode_shows_the_differences_and_changes_nothing(package):
    before = texts(package)
    result = patch(package, check=True, diff=DIFF)
    assert (Status.CHANGED, before) == (result.status, texts(package))
    assert [("a.py", A, PATCHED_A), ("b.py", B, "VALUE = 1\nprint(VALUE)\n")] == [
        (diff.header.rpartition("/")[2], diff.before, diff.after) for diff in result.diffs
    ]
    assert "failed" in patch(package, check=True, diff=DIFF.replace(" VALUE = 1", " X")).status.value


def test_a_link_is_refused_with_what_it_leads_to(package):
    (package / "b.py").rename(package / "real.py")
    (package / "b.py").symlink_to("real.py")
    result = patch(package, diff=DIFF)
    assert (Status.FAILED, True) == (result.status, "is a link to" in result.data["msg"])


def test_a_file_belongs_to_one_patch_at_a_time(package):
    patch(package, diff=DIFF)
    result = patch(package, name="other", replace=[{"path": "b.py", "old": "VALUE = 1", "new": "VALUE = 4"}])
    assert (Status.FAILED, True) == (result.status, "is patched as debug already" in result.data["msg"])


def test_a_diff_comes_from_a_file_of_the_controller(package, tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "debug.patch").write_text(DIFF)
    patch(package, folder=tmp_path, diff_file="debug.patch")
    assert PATCHED_A == (package / "a.py").read_text()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hello\n", "no unified diff"),
        ("@@ -1 +1 @@\n-a\n+b\n", "a hunk before any file"),
        ("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n", "is followed by"),
        ("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n", "makes a file"),
        ("--- a/x\n+++ b/x\n", "no hunk for x"),
        ("--- a/x\n+++ b/x\n@@ nonsense\n", "no hunk's head"),
    ],
)
def test_a_diff_that_cannot_be_read_is_refused_before_a_host_is_touched(text, said):
    with pytest.raises(PatchRefused, match=said):
        parse_diff(text)
    [(argument, what, _)] = step_type("patch_files").check({"name": "x", "diff": text})
    assert ("diff", True) == (argument, said in what)


@pytest.mark.parametrize(
    ("text", "diff", "new"),
    [
        ("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n", "a\nc"),
        ("a\r\nb\r\n", "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n", "a\r\nc\r\n"),
        ("a\n\nb\n", "@@ -1,3 +1,4 @@\n a\n\n b\n+c", "a\n\nb\nc\n"),
        ("a\n", "@@ -0,0 +1 @@\n+first\n", "first\na\n"),
        ("a\x0cb\nc\n", "@@ -2 +2 @@\n-c\n+d\n", "a\x0cb\nd\n"),
    ],
)
def test_line_ends_and_edges(text, diff, new):
    """No newline at the end, CRLF, blank context lines that lost their blank, insertion at the top, form feeds."""
    hunks = parse_diff("--- a/x\n+++ b/x\n" + diff)["x"]
    assert new == patched(text, hunks, [])[0]


def test_what_is_there_already_is_said():
    with pytest.raises(PatchRefused, match="the new text is there"):
        patched("new text\n", [], [Replacement("old", "new text")])


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({"name": "a b", "diff": DIFF}, "name"),
        ({"name": "x"}, "nothing to patch"),
        ({"name": "x", "replace": [{"path": "a", "old": "", "new": "b"}]}, "old"),
        ({"name": "x", "diff": DIFF, "state": "gone"}, "state"),
    ],
)
def test_wrong_arguments_are_refused(arguments, argument):
    with pytest.raises(InputError, match=argument):
        run_step("patch_files", arguments)
