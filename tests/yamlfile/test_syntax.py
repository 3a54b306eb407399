"""Syntax errors are explained the way people make the mistake, at the place where to mend it (syntax.golden)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cleanslate.errors import InputError
from cleanslate.yamlfile import load_yaml_text


def read_cases() -> dict[str, tuple[str, str]]:
    chunks = re.split(r"^=== ", Path(__file__).with_name("syntax.golden").read_text(), flags=re.MULTILINE)[1:]
    parts = (re.split(r"\A(.*)\n|^--- says\n", chunk, flags=re.MULTILINE) for chunk in chunks)
    return {name: (text, said.strip()) for _, name, text, _, said in parts}


CASES = read_cases()


def refusal(text: str) -> str:
    with pytest.raises(InputError) as caught:
        load_yaml_text(text, "f")
    return str(caught.value)


@pytest.mark.parametrize("name", CASES)
def test_a_syntax_error_says_what_to_write_instead(name):
    text, expected = CASES[name]
    assert expected == refusal(text)


@pytest.mark.parametrize(("text", "code"), [("a: \x01\n", "U+0001"), ("a: \x00\n", "U+0000"), ("é: \x07\n", "U+0007")])
def test_a_control_character_is_named_and_placed(text, code):
    assert refusal(text).startswith(f"f:1:4: error: a control character ({code}) may not stand in YAML")


def test_a_long_suggestion_is_cut():
    assert len(refusal("a: {{ x }} " + "y" * 200 + "\n")) < 220


def test_the_place_counts_from_the_first_line_of_the_text():
    with pytest.raises(InputError) as caught:
        load_yaml_text("a: @b\n", "f", first_line=41)
    assert (41, 4) == (caught.value.origin.line, caught.value.origin.column)
