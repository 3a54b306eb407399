"""What the core writes is what Python writes, and what it does not find is not there."""

import json
import subprocess
import sys
from collections import Counter
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleanslate import native
from cleanslate.model import SourceMap, SourceText
from tests.laws import examples

native.load()
texts = st.text(st.characters(exclude_categories=["Cs"]))
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=20,
)


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def test_every_character_is_written_as_python_writes_it():
    characters = [chr(code) for code in range(0x11000) if not 0xD800 <= code < 0xE000]
    assert compact(characters) == native.json_of(characters).decode()


@examples(30)
@given(plain)
def test_what_is_written_reads_back_the_same(value):
    assert value == native.read_json(native.json_of([value]))[0]


@pytest.mark.parametrize(
    "value",
    [
        SourceText("from a playbook"),
        SourceMap({"a": 1}),
        Counter("a"),
        date(2026, 1, 31),
        {True: 1},
        "half of a pair: \ud800",
        object(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_has_a_form_of_its_own_is_left_to_others(value):
    assert native.json_of({"deep": [value]}) is None


def test_until_the_core_is_loaded_there_is_no_quick_way(monkeypatch):
    monkeypatch.delitem(sys.modules, "pydantic_core._pydantic_core")
    assert (None, None) == (native.json_of({}), native.finder(["word"]))


@examples(100)
@given(st.floats())
def test_a_number_that_the_core_writes_otherwise_may_always_hold_a_word(number):
    text = native.json_of([number]).decode()
    assert text == f"[{number!r}]" or native.finder(["word"])(text)


@examples(40)
@given(texts, st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1))
def test_a_word_is_found_wherever_it_is(text, words):
    found = native.finder(words)
    assert not any(word in text for word in words) or found(text)


def test_a_word_that_is_nowhere_is_not_found():
    assert native.finder(["word", "$.*"])("another text, with $ and .*") is False


def test_of_a_text_that_is_no_unicode_nothing_is_certain():
    assert native.finder(["word"])("\ud800") is True


def test_the_core_by_itself_is_the_one_that_pydantic_has():
    """Whichever comes first."""
    program = """
import sys
from cleanslate import native
native.load()
alone = native.json_of({"a": [1]}), "pydantic_core" in sys.modules
from pydantic import BaseModel
class Model(BaseModel):
    number: int
native.load()
print(alone, Model(number="7"), native.json_of(Model(number="7").model_dump()))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ("(b'{\"a\":[1]}', False) number=7 b'{\"number\":7}'\n", "") == (done.stdout, done.stderr)
