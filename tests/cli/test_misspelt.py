"""A command line with something misspelt, and what is said of it."""

import pytest

from cleanslate.cli import namespace
from cleanslate.cli.__main__ import Inv


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("plya x", 'there is no task "plya"; did you mean "play"?'),
        ("qqqqq", 'there is no task "qqqqq"; see: inv --list'),
        ("--lst", 'inv has no option --lst; did you mean "--list"?'),
        ("play x --tag a", 'play has no option --tag; did you mean "--tags"?'),
        ("play x --no-chck", 'play has no option --no-chck; did you mean "--check"?'),
        ("play x -q", "play has no option -q; see: inv play --help"),
        ("play x y", 'play does not take "y"; see: inv play --help'),
        ("play x --limit", "the option --limit needs a value; see: inv play --help"),
        ("play x --start-at-task", "the option --start-at-task needs a value; see: inv play --help"),
        ("play", "play needs NAME; see: inv play --help"),
    ],
)
def test_what_is_wrong_and_what_may_be_meant(words, said, capsys):
    """In one sentence, as wrong input."""
    with pytest.raises(SystemExit) as ended:
        Inv(name="cleanslate", binary="inv", version="0", namespace=namespace).run(["inv", *words.split()])
    assert 64 == ended.value.code
    assert f"error: {said}\n1 mistake; no host was contacted\n" == capsys.readouterr().err
