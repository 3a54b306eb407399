"""What is written in one form and read back is what it was: data through templates, text through a shell."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleanslate.model import SourceText
from cleanslate.render import Renderer, Variables
from tests.laws import examples

TEXT = st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=30)
KEYS = st.text("abcdefgh_", min_size=1, max_size=8)
SCALARS = st.none() | st.booleans() | st.integers(-(10**12), 10**12) | TEXT
DATA = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
MAPS = st.dictionaries(KEYS, DATA, max_size=5)


def rendered(text, **variables):
    """The value of a template with these variables."""
    renderer = Renderer()
    return renderer.render(SourceText(text), Variables([variables], renderer))


@pytest.mark.parametrize(
    "there_and_back",
    [
        "{{ x }}",
        "{{ x | to_json | from_json }}",
        "{{ x | to_nice_json | from_json }}",
        "{{ x | to_yaml | from_yaml }}",
        "{{ x | to_nice_yaml(indent=2) | from_yaml }}",
        "{{ (x | to_json | b64encode | b64decode) | from_json }}",
        "{{ [x] | zip([1]) | map('first') | first }}",
    ],
)
@examples(40)
@given(data=DATA)
def test_data_comes_back(there_and_back, data):
    """With its types."""
    assert data == rendered(there_and_back, x=data)


@examples(40)
@given(data=MAPS)
def test_maps_come_back(data):
    """As lists of pairs, and combined with nothing."""
    assert data == rendered("{{ x | dict2items | items2dict }}", x=data)
    assert data == rendered("{{ {} | combine(x, recursive=true) }}", x=data)


@examples(100)
@given(text=TEXT)
def test_text_comes_back(text):
    """Through base64, an address, and a list of its parts."""
    assert text == rendered("{{ x | b64encode | b64decode }}", x=text)
    assert text == rendered("{{ x | urlencode | urldecode }}", x=text)
    assert text == rendered("{{ x | split('a') | join('a') }}", x=text)
    assert text == rendered("{{ '^' ~ (x | regex_escape) ~ '$' is not none and x }}", x=text)


@examples(100)
@given(texts=st.lists(TEXT, min_size=1, max_size=5))
def test_a_quoted_text_is_one_word_of_a_shell(texts):
    """Any text, among others: nothing of it is read by the shell."""
    words = rendered("{{ x | map('quote') | join(' ') }}", x=texts)
    done = subprocess.run(["/bin/sh", "-c", f"printf '%s\\0' {words}"], capture_output=True, check=True)
    assert texts == done.stdout.decode().split("\0")[:-1]


@examples(100)
@given(text=TEXT)
def test_an_escaped_text_matches_itself_alone(text):
    """As a regular expression."""
    assert rendered("{{ x is match('^' ~ (x | regex_escape) ~ '$') }}", x=text) is True
    assert rendered("{{ (x ~ 'b') is match('^' ~ (x | regex_escape) ~ '$') }}", x=text) is False
