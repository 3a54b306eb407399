"""Templates and conditions give what ansible-core 2.19 gave for the same text and variables."""

import json

import pytest

from cleanslate.errors import RenderError
from cleanslate.model import SourceText
from cleanslate.render import OMIT, Renderer, Variables
from cleanslate.yamlfile import load_yaml
from tests.render.against_ansible import CASES, ENVIRONMENT, outcome_of

CHUNK = 30


def _table(path):
    table = load_yaml(path)
    texts = [(kind, text) for kind in ("templates", "conditions") for text in table.get(kind) or []]
    outcomes = json.loads(path.with_suffix(".json").read_text())
    assert len(texts) == len(outcomes), f"{path.name}: run against_ansible.py --write"
    rows = [(kind, text, outcome) for (kind, text), outcome in zip(texts, outcomes, strict=True)]
    for start in range(0, len(rows), CHUNK):
        line = rows[start][1].origin.line if isinstance(rows[start][1], SourceText) else start
        yield pytest.param(table.get("vars") or {}, rows[start : start + CHUNK], id=f"{path.name}, line {line} and on")


TABLES = [chunk for path in sorted(CASES.glob("*.yml")) for chunk in _table(path)]


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


def _here(kind):
    return [CASES / kind, CASES]


def _outcome(layer, kind, text):
    renderer = Renderer(lookup_paths=_here)
    variables = Variables([layer], renderer)
    try:
        value = renderer.render(text, variables) if kind == "templates" else renderer.condition(text, variables)
    except RenderError:
        return {"error": True}
    return {"omit": True} if value is OMIT else json.loads(json.dumps(outcome_of(value)))


@pytest.mark.parametrize(("layer", "rows"), TABLES)
def test_expressions_give_what_ansible_gives(layer, rows):
    expected = {str(text): _typed(outcome) for _, text, outcome in rows}
    assert expected == {str(text): _typed(_outcome(layer, kind, text)) for kind, text, _ in rows}


def _typed(value):
    """The value with the types inside, as 1, 1.0 and True are equal."""
    if isinstance(value, dict):
        return {key: _typed(item) for key, item in value.items()}
    return [_typed(item) for item in value] if isinstance(value, list) else (type(value).__name__, value)


def test_the_tables_are_large_enough_to_mean_something():
    assert sum(len(chunk.values[1]) for chunk in TABLES) > 1000
