"""The digest of our own code follows every change of it, whether it was kept from an earlier run or not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import cleanslate
from cleanslate.record.provenance import code_digest


@pytest.fixture
def code(tmp_path, monkeypatch):
    """A small package in our place, and a function that gives its digest as a new process would."""
    package = tmp_path / "code" / "cleanslate"
    (package / "inner").mkdir(parents=True)
    for name in ("__init__.py", "a.py", "inner/b.py"):
        (package / name).write_text(f"# {name}\n")
    monkeypatch.setattr(cleanslate, "__file__", str(package / "__init__.py"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    return package


@pytest.fixture(autouse=True)
def forgotten():
    code_digest.cache_clear()
    yield
    code_digest.cache_clear()


def digest() -> str:
    code_digest.cache_clear()
    return code_digest()


def test_it_is_kept_and_the_same(code: Path) -> None:
    """The second time nothing is read but the sizes and times."""
    first = digest()
    (kept,) = (code / "__pycache__").iterdir()
    assert kept.read_text().endswith(first)
    assert first == digest()


@pytest.mark.parametrize(
    "change",
    [
        lambda code: (code / "a.py").write_text("# another\n"),
        lambda code: (code / "inner/c.py").write_text(""),
        lambda code: (code / "inner/b.py").unlink(),
        lambda code: (code / "inner/b.py").rename(code / "b.py"),
    ],
    ids=["another text", "one more", "one less", "elsewhere"],
)
def test_every_change_is_another_digest(code: Path, change) -> None:
    """Of a file's text, and of which files there are."""
    before = digest()
    change(code)
    assert before != digest()


def test_the_same_code_elsewhere_has_the_same(code: Path, monkeypatch) -> None:
    """Times and places do not count, only names and texts."""
    before = digest()
    moved = code.parent.rename(code.parent.with_name("moved"))
    (moved / "cleanslate/a.py").write_text("# a.py\n")
    monkeypatch.setattr(cleanslate, "__file__", str(moved / "cleanslate/__init__.py"))
    assert before == digest()


@pytest.mark.parametrize("text", ["", "nonsense", "{state} ", "{state} not-a-digest", "\x00\udcff"])
def test_what_was_kept_badly_is_not_believed(code: Path, text: str) -> None:
    """It is found anew."""
    first = digest()
    (kept,) = (code / "__pycache__").iterdir()
    state = kept.read_text().split()[0]
    kept.write_bytes(text.replace("{state}", state).encode("utf-8", "surrogateescape"))
    assert first == digest()


def test_where_nothing_can_be_kept_it_is_found_each_time(code: Path) -> None:
    """A folder that is a file stands for one that cannot be written."""
    (code / "__pycache__").write_text("")
    assert digest() == digest()


def test_nothing_is_written_where_bytecode_is_not(code: Path, monkeypatch) -> None:
    """As Python was told."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    digest()
    assert not (code / "__pycache__").exists()
