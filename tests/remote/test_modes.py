"""File modes mean what chmod makes of them."""

import os
import subprocess

import pytest

from cleanslate.remote.modes import mode_number, mode_text
from cleanslate.remote.registry import Failed

MODES = [
    "u=rwx,go=", "a+x", "+x", "+w", "-w", "=r", "u+s", "g+s", "+t", "o+t", "u=rw,g=r,o=", "g=u", "o=g", "g=u,o=g",
    "u-x+w", "a=rX", "go+X", "u=rwX,g=rX,o=", "ug+rw,o-rwx", "u+rws,g-s", "-x,+X", "go=u-w", "a-t", "o=", "u=s", "g+u",
]  # fmt: skip
STARTS = [0o644, 0o600, 0o755, 0o640, 0o4755, 0o2750, 0o1777, 0o000]


@pytest.fixture
def usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def compared(path):
    return 0o1777 if path.is_dir() else 0o7777


@pytest.mark.parametrize("text", MODES)
def test_a_symbolic_mode_is_what_chmod_makes_of_it(text, tmp_path, usual_umask):
    """For a file and a folder, from every start; but of a folder chmod keeps the set-id bits, and Ansible does not."""
    paths = []
    for start in STARTS:
        file, folder = tmp_path / f"f{start:o}", tmp_path / f"d{start:o}"
        file.touch()
        folder.mkdir()
        for path in (file, folder):
            path.chmod(start)
            paths.append((path, start))
    subprocess.run(["chmod", "--", text, *(str(path) for path, _ in paths)], check=False, capture_output=True)
    expected = [f"{path.stat().st_mode & compared(path):04o}" for path, _ in paths]
    actual = [f"{mode_number(text, start, path.is_dir(), 0o022) & compared(path):04o}" for path, start in paths]
    assert expected == actual


@pytest.mark.parametrize(
    ("text", "bits"),
    [("0644", 0o644), ("644", 0o644), ("0o755", 0o755), ("1777", 0o1777), ("02775", 0o2775), ("0", 0), ("7", 0o7)],
)
def test_digits_are_octal(text, bits):
    assert mode_number(text) == bits


@pytest.mark.parametrize("text", ["rubbish", "0999", "u=q", "u", "77777", "", "a=rw;g"])
def test_what_is_no_mode_is_refused_with_an_example(text):
    with pytest.raises(Failed, match="write it like") as refused:
        mode_number(text)
    assert refused.value.kind == "wrong"


@pytest.mark.parametrize(("bits", "text"), [(0o644, "0644"), (0o2775, "02775"), (0o7, "0007"), (0o100600, "0600")])
def test_a_mode_is_written_as_ansible_writes_it(bits, text):
    assert mode_text(bits) == text
