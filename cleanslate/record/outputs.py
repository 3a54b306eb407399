"""Text too long for a line of events.jsonl lies in files of its own, and comes back when events are read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LONG = 64 * 1024
"""Characters; a text with more is kept in a file."""
_MARK = "__output__"
_TAIL = 2000


class Outputs:
    """Takes long texts out of events, each once, into `outputs/<n>.txt` of a record."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "outputs"
        self._known: dict[bytes, str] = {}

    def taken_out(self, value: Any) -> Any:
        """The value with each long text, and each list of lines that is long, replaced by where it is now."""
        if isinstance(value, str):
            return self._kept(value, lines=False) if len(value) > LONG else value
        if isinstance(value, Mapping):
            return {key: self.taken_out(item) for key, item in value.items()}
        if isinstance(value, list):
            if all(isinstance(item, str) and "\n" not in item for item in value) and sum(map(len, value)) > LONG:
                return self._kept("\n".join(value), lines=True)
            return [self.taken_out(item) for item in value]
        return value

    def _kept(self, text: str, *, lines: bool) -> dict[str, Any]:
        data = text.encode("utf-8", "surrogatepass")
        digest = hashlib.sha256(data).digest()
        if digest not in self._known:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            name = f"{len(self._known) + 1}.txt"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            with os.fdopen(os.open(self._folder / name, flags, 0o600), "wb") as file:
                file.write(data)
            self._known[digest] = name
        place = f"outputs/{self._known[digest]}"
        return {_MARK: place, "lines": lines, "characters": len(text), "tail": text[-_TAIL:]}


def put_back(value: Any, folder: Path) -> Any:
    """The value as it was before long texts were taken out; where a file is gone, its tail stands for it."""
    if isinstance(value, Mapping):
        if isinstance(value.get(_MARK), str):
            return _text(value, folder)
        return {key: put_back(item, folder) for key, item in value.items()}
    if isinstance(value, list):
        return [put_back(item, folder) for item in value]
    return value


def _text(kept: Mapping[str, Any], folder: Path) -> str | list[str]:
    name = Path(kept[_MARK]).name  # whatever a foreign record says, only its own folder is read
    try:
        text = (folder / "outputs" / name).read_bytes().decode("utf-8", "surrogatepass")
    except (OSError, UnicodeDecodeError):
        text = f"({kept.get('characters')} characters, kept in {kept[_MARK]}, which is gone)\n{kept.get('tail', '')}"
    return text.split("\n") if kept.get("lines") else text
