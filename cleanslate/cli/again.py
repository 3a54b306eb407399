"""How `inv rerun` tells the process that makes a run again what it is: by one environment variable, read once."""

from __future__ import annotations

import functools
import json
import os
from dataclasses import asdict

from cleanslate.dataclass import dataclass

VARIABLE = "CLEANSLATE_RERUN"


@dataclass(frozen=True)
class Again:
    """The run that is made again (`of`), where records go (`runs`), and the repository as it was then (`root`)."""

    of: str
    runs: str
    root: str

    def as_environment(self) -> dict[str, str]:
        """The variable to give to the process."""
        return {VARIABLE: json.dumps(asdict(self))}


@functools.lru_cache(maxsize=1)
def again() -> Again | None:
    """What this process makes again; taken out of the environment, so that commands of the run do not inherit it."""
    text = os.environ.pop(VARIABLE, None)
    return Again(**json.loads(text)) if text else None
