"""The inventories of `cases.yml`, and the writing of their files."""

from pathlib import Path
from typing import Any

import yaml

from tests.inventory.reference_files import lay_out

CASES: dict[str, dict[str, Any]] = yaml.load(
    (Path(__file__).parent / "cases.yml").read_text(encoding="utf-8"), yaml.CSafeLoader
)

__all__ = ["CASES", "lay_out"]
