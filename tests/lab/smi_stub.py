"""nvidia-smi beside the stub of libcuda: what is in use is what living processes have locked."""

import fcntl
import os
import sys
from pathlib import Path

FOLDER = Path(__file__).parent.parent
sys.path.insert(0, "REPOSITORY")

from cleanslate.lab import smi  # noqa: E402 - found through the line above


def used():
    """MiB in use on the one GPU; what dead processes left does not count."""
    found = 0
    for held in (FOLDER / "held").iterdir():
        try:
            handle = os.open(held, os.O_RDWR)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            found += int(held.name.split(".")[1])
        finally:
            os.close(handle)
    return found


code, text = smi.answer(sys.argv[1:], [smi.Reading(0, smi.uuid_of("stub", 0), used(), ())])
sys.stdout.write(text)
sys.exit(code)
