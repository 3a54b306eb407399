"""Inventories written into a folder of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from cleanslate.errors import InputError
from cleanslate.inventory import load_inventory
from cleanslate.model import Inventory
from cleanslate.yamlfile import Decrypt
from tests.inventory.reference_files import lay_out


class Written:
    """A folder of inventory files, and what comes of reading them."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def load(self, *sources: str, files: dict[str, str] | None = None, vault: Decrypt | None = None) -> Inventory:
        """Write files, and load the sources; the only file when none is named."""
        lay_out(files or {}, self.root)
        return load_inventory(sources or list(files or {}), base=self.root, vault=vault)

    def mistakes(self, *sources: str, files: dict[str, str] | None = None) -> list[str]:
        """Load what must be refused; gives every mistake as people read it."""
        with pytest.raises(InputError) as told:
            self.load(*sources, files=files)
        return [str(problem) for problem in told.value.problems]


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Written:
    """An empty folder, which is the current one too."""
    monkeypatch.chdir(tmp_path)
    return Written(tmp_path)
