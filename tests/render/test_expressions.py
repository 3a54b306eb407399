"""Templates and conditions give what ansible-core 2.19 gave for the same text and variables."""

import json
from pathlib import Path

import pytest

from cleanslate.errors import RenderError
from cleanslate.render import OMIT, Renderer, Variables
from cleanslate.yamlfile import load_yaml
from tests.render.against_ansible import CASES, ENVIRONMENT, outcome_of


def _table(path):
    table = load_yaml(path)
    texts = [(kind, text) for kind in ("templates", "conditions") for text in table.get(kind) or []]
    outcomes = json.loads(path.with_suffix(".json").read_text())
    assert len(texts) == len(outcomes), f"{path.name}: run against_ansible.py --write"
    return [
        (table.get("vars") or {}, kind, text, outcome) for (kind, text), outcome in zip(texts, outcomes, strict=True)
    ]


ROWS = [
    pytest.param(*row, id=f"{path.stem}: {row[2]}"[:90]) for path in sorted(CASES.glob("*.yml")) for row in _table(path)
]


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


def _here(kind):
    return [CASES / kind, CASES]


@pytest.mark.parametrize(("layer", "kind", "text", "expected"), ROWS)
def test_an_expression_gives_what_ansible_gives(layer, kind, text, expected):
    renderer = Renderer(lookup_paths=_here)
    variables = Variables([layer], renderer)
    if "error" in expected:
        with pytest.raises(RenderError):
            renderer.render(text, variables) if kind == "templates" else renderer.condition(text, variables)
        return
    actual = renderer.render(text, variables) if kind == "templates" else renderer.condition(text, variables)
    actual = {"omit": True} if actual is OMIT else json.loads(json.dumps(outcome_of(actual)))
    assert expected == actual
    assert _types(expected) == _types(actual)


def _types(value):
    """The types inside, as 1, 1.0 and True are equal."""
    if isinstance(value, dict):
        return {key: _types(item) for key, item in value.items()}
    return [_types(item) for item in value] if isinstance(value, list) else type(value).__name__


def test_the_tables_are_large_enough_to_mean_something():
    assert len(ROWS) > 500
    assert Path(CASES / "filters.yml").exists()
