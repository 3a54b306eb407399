"""Each word of the language has a case whose outcome was taken from ansible-core, or a reason why not."""

import pytest

from tests.against import table


def test_every_word_has_a_case():
    """Keywords, step types, filters, tests, lookups, loops, tags and variables."""
    assert [] == table.missing()


def test_no_reason_stands_where_there_is_a_case():
    """What can be compared is compared."""
    assert [] == [key for key in table.ELSEWHERE if table.cases().get(key)]


@pytest.mark.parametrize(
    ("kind", "word", "place"),
    [
        ("filter", "combine", "filters.yml"),
        ("test", "version", "tests.yml"),
        ("lookup", "csvfile", "lookups.yml"),
        ("loop", "subelements", "loops.yml"),
        ("step type", "lineinfile", "steps/cases/lineinfile.yml"),
        ("step keyword", "until", "38-until-retries"),
        ("meta", "end_batch", "45-meta"),
    ],
)
def test_the_table_finds_them_where_they_are(kind, word, place):
    """It looks into what is compared, not at lists of its own."""
    assert any(one.startswith(place) for one in table.cases()[kind, word])


def test_a_word_without_a_case_is_told(monkeypatch):
    """The table can fail."""
    monkeypatch.setattr(table, "wanted", lambda: iter([("filter", "combine"), ("filter", "no_such_filter")]))
    assert ["filter no_such_filter"] == table.missing()
