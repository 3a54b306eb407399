"""YAML values mean what they mean to PyYAML's safe loader, which Ansible reads with, and know where they stand."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cleanslate.errors import InputError, Origin
from cleanslate.model import SourceList, SourceMap, SourceText
from cleanslate.yamlfile import load_yaml, load_yaml_text
from tests.laws import examples

SCALARS = """
yes Yes YES no on off On OFF true True TRUE false y n ~ null Null NULL none None
0 7 0644 0o644 420 -3 +12 1_000 0x1F 0b101 1:30 190:20:30 12e3 1.5 -0.5 1e3 1.0e3 1.0e+3 .5 .inf -.INF .nan 1.5.3
2024-02-29 2024-02-29T12:30:00 2024-02-29T12:30:00Z a 'a' "a" '0644' "yes" 10.0.0.1 1:2:3:4 08 09 0777 =
12345678901234567890123 - 1- -1 +.1 1,000 u=rw 550.0 "550.0"
"""


@pytest.mark.parametrize("text", [scalar for scalar in SCALARS.split() if scalar not in ("=", "-", ".nan")])
def test_a_scalar_is_read_as_pyyaml_reads_it(text):
    expected = yaml.safe_load(f"a: {text}")["a"]
    actual = load_yaml_text(f"a: {text}", "f")["a"]
    assert (expected, type(expected)) == (actual, str if isinstance(actual, SourceText) else type(actual))


def test_an_equals_sign_is_text():
    assert load_yaml_text("a: =", "f") == {"a": "="}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: !!str 5", "5"),
        ("a: !!int '5'", 5),
        ("a: !!float 5", 5.0),
        ("a: !!bool 'no'", False),
        ("a: !!null ''", None),
        ("a: !!binary aGk=", b"hi"),
        ("a: !!set {x, y}", {"x", "y"}),
        ("a: !!omap [x: 1, y: 2]", {"x": 1, "y": 2}),
        ("a: 2024-02-29", date(2024, 2, 29)),
        ("a: 2024-02-29 10:00:00", datetime(2024, 2, 29, 10)),
    ],
)
def test_tags_and_dates(text, expected):
    assert expected == load_yaml_text(text, "f")["a"]


@pytest.mark.parametrize(
    "text",
    [
        "a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\n",
        "a: &x {b: 1}\ne: &y {b: 2, f: 3}\nd: {<<: [*x, *y], c: 3}\n",
        "a: &x [1, 2]\nb: *x\nc: [*x, *x]\n",
        "a: |\n  one\n   two\n\nb: >-\n  folded\n  text\n",
        "- - 1\n  - 2\n-\n  a: {b: [1, {c: d}]}\n",
        "? a\n: 1\n2: one\ntrue: yes\nnull: nothing\n",
        "",
        "# only a comment\n",
        "---\n",
        "--- text\n",
        "a: &anchor text\nb: *anchor\n",
        "a: 'it''s'\nb: \"tab\\tand \\u00e9\"\nc: plain # comment\n",
    ],
)
def test_a_document_is_read_as_pyyaml_reads_it(text):
    assert yaml.safe_load(text) == load_yaml_text(text, "f")


_leaves = st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(st.characters(codec="utf-8"), max_size=12)
_trees = st.recursive(
    _leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc:{-", max_size=4), inner, max_size=4),
)


@examples(60)
@given(_trees, st.booleans())
def test_what_pyyaml_writes_is_read_as_pyyaml_reads_it(tree, flow):
    """Which is the tree itself, but for line separators such as U+0085 that PyYAML folds into blanks as it writes."""
    text = yaml.safe_dump(tree, default_flow_style=flow, allow_unicode=True)
    assert yaml.safe_load(text) == load_yaml_text(text, "f")


def test_every_value_knows_its_place():
    value = load_yaml_text('a: one\nb:\n  - "two"\n  - {c: three}\nd: |\n  four\n', "x.yml")
    assert isinstance(value, SourceMap)
    assert isinstance(value["b"], SourceList)
    assert Origin("x.yml", 1, 4) == value["a"].origin
    assert (Origin("x.yml", 2, 1), Origin("x.yml", 3, 3)) == (value.key_origin("b"), value.value_origin("b"))
    assert Origin("x.yml", 3, 6) == value["b"][0].origin
    assert Origin("x.yml", 3, 5) == value["b"].item_origin(0)
    assert Origin("x.yml", 4, 9) == value["b"][1]["c"].origin
    assert (Origin("x.yml", 5, 4), Origin("x.yml", 6, 3)) == (value.value_origin("d"), value["d"].origin)


def test_a_merged_key_keeps_the_place_it_was_written_at():
    value = load_yaml_text("a: &x {b: 1}\nc:\n  <<: *x\n  d: 2\n", "f")["c"]
    assert (Origin("f", 1, 8), Origin("f", 4, 3)) == (value.key_origin("b"), value.key_origin("d"))


def test_lines_are_counted_from_where_the_text_stands():
    assert Origin("f", 12, 4) == load_yaml_text("\n\na: b", "f", first_line=10)["a"].origin


def test_an_alias_is_the_same_object_so_that_a_large_one_costs_nothing():
    value = load_yaml_text("a: &x [1, 2]\nb: *x\n", "f")
    assert value["a"] is value["b"]


def test_a_key_is_a_template_only_if_it_looks_like_one():
    plain, templated = load_yaml_text('a: 1\n"{{ b }}": 2\n', "f")
    assert (str, SourceText) == (type(plain), type(templated))


def test_unsafe_text_is_never_a_template():
    value = load_yaml_text('a: !unsafe "{{ x }}"\nb: !unsafe ["{{ y }}", {c: "{{ z }}"}]\nd: "{{ e }}"\n', "f")
    kinds = [type(value["a"]), type(value["b"][0]), type(value["b"][1]["c"]), type(value["d"])]
    assert [str, str, str, SourceText] == kinds


def test_an_encrypted_value_is_decrypted_and_may_be_a_template():
    seen = []

    def decrypt(envelope):
        seen.append(envelope)
        return "s3cret"

    text = "a: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  6162\n  6364\n"
    value = load_yaml_text(text, "f", vault=decrypt)
    assert ("s3cret", SourceText) == (value["a"], type(value["a"]))
    assert ["$ANSIBLE_VAULT;1.1;AES256\n6162\n6364\n"] == seen


def test_a_file_that_is_encrypted_as_a_whole_is_decrypted_first(tmp_path):
    path = tmp_path / "secrets.yml"
    path.write_text("$ANSIBLE_VAULT;1.1;AES256\n6162\n")
    assert {"a": 1} == load_yaml(path, vault=lambda _: "a: 1\n")


def test_a_file_of_the_current_folder_is_shown_by_its_relative_name(tmp_path, monkeypatch):
    (tmp_path / "vars.yml").write_text("a: b\n")
    monkeypatch.chdir(tmp_path)
    assert "vars.yml" == load_yaml(tmp_path / "vars.yml")["a"].origin.file


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path):
    (tmp_path / "bom.yml").write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert {"a": 1} == load_yaml(tmp_path / "bom.yml")


def refusal(text: str, **options) -> str:
    with pytest.raises(InputError) as caught:
        load_yaml_text(text, "f", **options)
    return str(caught.value)


def test_all_duplicate_keys_are_told_at_once():
    assert [
        'f:2:1: error: the key "a" stands twice in one map; the first is in line 1; '
        "remove one of them: YAML would silently keep the last",
        'f:3:11: error: the key "c" stands twice in one map; the first is in line 3; '
        "remove one of them: YAML would silently keep the last",
    ] == refusal("a: 1\na: 2\nb: {c: 1, c: 2}\n").splitlines()


def test_a_key_that_overrides_a_merged_one_is_no_duplicate():
    assert {"b": 2} == load_yaml_text("a: &x {b: 1}\nc: {b: 2, <<: *x}\n", "f")["c"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[" * 150 + "]" * 150, "f:1:101: error: more than 100 levels of maps and lists, one in another"),
        (
            "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
            + "".join(f"{c}: &{c} [{', '.join(['*' + p] * 10)}]\n" for p, c in zip("abcdefg", "bcdefgh", strict=True)),
            "f:6:36: error: aliases make more than 1,000,000 values of this file",
        ),
        ("a: &x [1, *x]\n", 'f:1:11: error: "*x" refers to an anchor "&x" that does not stand above it'),
    ],
    ids=["too deep", "a billion laughs", "an alias of itself"],
)
def test_absurd_documents_are_refused(text, expected):
    assert refusal(text).startswith(expected)


def test_a_file_of_more_than_10_mb_is_refused(tmp_path):
    path = tmp_path / "large.yml"
    path.write_bytes(b"a" * 10_000_001)
    with pytest.raises(InputError) as caught:
        load_yaml(path)
    assert "the file is larger than 10 MB" == caught.value.what


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a: caf\xe9\n", "latin.yml:1:7: error: the file is not UTF-8 text (byte 0xe9); save it as UTF-8"),
        (
            b"$ANSIBLE_VAULT;1.1;AES256\n6162\n",
            "latin.yml: error: the file is encrypted, and no vault password was given; "
            "give --vault-password-file or --ask-vault-password",
        ),
        (None, "latin.yml: error: cannot read the file: no such file or directory"),
    ],
    ids=["not UTF-8", "encrypted", "missing"],
)
def test_files_that_cannot_be_read(tmp_path, monkeypatch, content, expected):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path("latin.yml").write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_yaml(Path("latin.yml"))
    assert expected == str(caught.value)
