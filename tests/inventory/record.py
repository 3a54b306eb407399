"""Writes `expected.json` anew: `python -m tests.inventory.record PYTHON-WITH-ANSIBLE-CORE`; review the diff."""

import json
import subprocess
import sys
from pathlib import Path

from tests.inventory.cases import CASES

HERE = Path(__file__).parent


def main() -> None:
    command = [sys.argv[1], str(HERE / "reference.py")]
    done = subprocess.run(command, input=json.dumps(CASES), stdout=subprocess.PIPE, text=True, check=True)
    (HERE / "expected.json").write_text(done.stdout + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
