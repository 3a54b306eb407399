"""`key=value` text comes apart as under ansible-core (its outcomes, written down)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleanslate.errors import InputError
from cleanslate.model import SourceText
from cleanslate.playbook import split_key_values
from cleanslate.playbook.arguments import RAW_OPTIONS, split_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('a="x y"', {"a": "x y"}),
        ("b='{{ 1 + 1 }}'", {"b": "{{ 1 + 1 }}"}),
        ("c={{ chdir ~ ' z' }}", {"c": "{{ chdir ~ ' z' }}"}),
        (r"d=a\=b", {"d": r"a\=b"}),
        ('e="it\'s"', {"e": "it's"}),
        ('f=x"y z"w', {"f": 'x"y z"w'}),
        (r'g="a\"b"', {"g": 'a"b'}),
        (r'h="a\nb"', {"h": "a\nb"}),
        ("j= k=1", {"j": "", "k": "1"}),
        ('k={{ "a" == "b" }}', {"k": '{{ "a" == "b" }}'}),
        ("l=a'b c'd m=\"a\" n='a\"b'", {"l": "a'b c'd", "m": "a", "n": 'a"b'}),
        (
            "path={{ home | default(workdir ~ '/' ~ host) }} state=directory",
            {"path": "{{ home | default(workdir ~ '/' ~ host) }}", "state": "directory"},
        ),
        ("url=http://x/?a=b&c=d", {"url": "http://x/?a=b&c=d"}),
        ("a=1\n  b=2\tc=3", {"a": "1", "b": "2", "c": "3"}),
    ],
)
def test_pairs(text, expected):
    assert (expected, "") == split_text(text)


@pytest.mark.parametrize(
    ("text", "pairs", "rest"),
    [
        ('echo   hi    there creates=/nonexist   x "a  b"', {"creates": "/nonexist"}, 'echo   hi    there x "a  b"'),
        (
            "echo a   b\n  echo c chdir=/tmp d\necho \"e=f\" g='h i' creates=/tmp/zzz\n",
            {"chdir": "/tmp", "creates": "/tmp/zzz"},
            "echo a   b\n  echo c d\necho \"e=f\" g='h i'",
        ),
        (
            "creates=/nonexist echo hi executable=/bin/foo",
            {"creates": "/nonexist", "executable": "/bin/foo"},
            "echo hi",
        ),
        (r'echo "chdir=/tmp" a\=b c=d', {}, 'echo "chdir=/tmp" a=b c=d'),
        ('echo {{ "a  b" }} stdin="x\\ny"', {"stdin": "x\ny"}, 'echo {{ "a  b" }}'),
        ("FOO=bar env", {}, "FOO=bar env"),
    ],
)
def test_a_command_line_keeps_its_blanks_and_loses_its_options(text, pairs, rest):
    assert (pairs, rest) == split_text(text, only=RAW_OPTIONS)


@pytest.mark.parametrize("text", ['a="b', "a='b", "a={{ b", "a={% if"])
def test_what_is_opened_must_be_closed(text):
    with pytest.raises(ValueError):
        split_text(text)


_word = st.text(st.characters(codec="utf-8", exclude_characters="\"'\\{}%#"), max_size=8)


@pytest.mark.slow
@given(st.dictionaries(st.text("abcxyz_", min_size=1, max_size=5), _word, max_size=4))
def test_what_is_quoted_comes_back(pairs):
    text = " ".join(f'{key}="{value}"' for key, value in pairs.items())
    assert (pairs, "") == split_text(text)


def test_extra_variables_are_text_of_the_sources():
    found = split_key_values("a=1 b='{{ a }}'")
    assert ({"a": "1", "b": "{{ a }}"}, SourceText) == (found, type(found["b"]))


@pytest.mark.parametrize("text", ["a=1 b", 'a="1'])
def test_extra_variables_are_nothing_but_pairs(text):
    with pytest.raises(InputError):
        split_key_values(text)
