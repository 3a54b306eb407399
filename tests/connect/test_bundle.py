"""Which modules go to a target with a call."""

import ast
from pathlib import Path

import pytest

import cleanslate.remote
from cleanslate.connect import bundle

FOLDER = Path(cleanslate.remote.__file__).parent
MODULES = sorted(file.stem for file in FOLDER.glob("*.py") if file.stem != "__init__")


@pytest.mark.parametrize("module", MODULES)
def test_imports_are_those_that_parsing_finds(module):
    """They are looked for line by line, which is quicker; whatever Python itself sees must be among them."""
    assert parsed((FOLDER / f"{module}.py").read_text()) == set(bundle._imports(f"cleanslate.remote.{module}"))


def parsed(source):
    """Every module of ours, and pynvml, that a source imports."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "cleanslate.remote":
            found |= {f"cleanslate.remote.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module)
    return {name for name in found if name == "pynvml" or name.startswith("cleanslate.remote.")}
