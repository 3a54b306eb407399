"""Every row, or those that are named, each in a process of its own: python -m benchmarks [ROW...]."""

from __future__ import annotations

import subprocess
import sys
import time

from benchmarks import peers
from benchmarks.room import HOME

ROWS = {
    "start-up": "start_up",
    "one-host": "one_host",
    "latency": "latency",
    "waiting": "waiting",
    "files": "files",
    "scale": "scale",
    "events": "events",
    "fifty-hosts": "fifty_hosts",
}


def main(wanted: list[str]) -> int:
    """Measure; 1 when a row could not be measured, 64 for a row that there is not."""
    unknown = [row for row in wanted if row not in ROWS]
    if unknown:
        print(f'there is no row "{unknown[0]}"; there are {", ".join(ROWS)}', file=sys.stderr)
        return 64
    print(f"beside {peers.versions()}", flush=True)
    failed = []
    for row in wanted or ROWS:
        began = time.monotonic()
        code = subprocess.run([sys.executable, "-m", f"benchmarks.{ROWS[row]}"], cwd=HOME, check=False).returncode
        print(f"── {row}: {'measured' if code == 0 else 'FAILED'} in {time.monotonic() - began:.0f} s\n", flush=True)
        if code:
            failed.append(row)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
