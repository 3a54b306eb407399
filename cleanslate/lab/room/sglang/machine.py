"""What the server finds in its machine: device files, the driver, and the faults that people asked for."""

import importlib.util
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def _facts() -> dict[str, str]:
    """What was written beside this package when the lab was built.

    {"devices", "run", "faults", "client"} are paths; {"gpus", "total", "weights", "pool", "held", "pinned"} numbers
    (GiB), {"pace"} how long a start takes, as a share of what it usually does. `smi` is the real nvidia-smi, or empty;
    `torch` the folder that PyTorch is imported from, or empty.
    """
    loaded = json.loads(Path(__file__).with_name("machine.json").read_text(encoding="utf-8"))
    return {str(key): str(value) for key, value in loaded.items()}


FACTS = _facts()
GPUS = int(FACTS["gpus"])
PACE = float(FACTS["pace"])


def faults() -> frozenset[str]:
    """The faults that are asked for at this moment."""
    try:
        return frozenset(Path(FACTS["faults"]).read_text(encoding="utf-8").split())
    except OSError:
        return frozenset()


def take_back(fault: str) -> None:
    """Ask for a fault no longer."""
    path = Path(FACTS["faults"])
    path.write_text("".join(f"{each}\n" for each in faults() - {fault}), encoding="utf-8")


def free_mib() -> list[int]:
    """The free memory of each GPU in MiB, as the driver says; RuntimeError without a driver."""
    asked = ["--query-gpu=memory.free", "--format=csv,noheader,nounits"]
    if FACTS["smi"]:
        done = subprocess.run([FACTS["smi"], *asked], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        return [int(line) for line in done.stdout.split()]
    spec = importlib.util.spec_from_file_location("smi_client", FACTS["client"])
    assert spec is not None and spec.loader is not None
    client: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(client)
    try:
        _, text = client.ask(FACTS["run"], ["smi", *asked])
        return [int(line) for line in text.decode().split()]
    except (OSError, ValueError):
        raise RuntimeError("No CUDA GPUs are available") from None


def log(text: str, rank: int | None = None) -> None:
    """Write one line as the server's logger does, with the tensor-parallel rank where a worker speaks."""
    who = "" if rank is None else f" TP{rank}"
    sys.stderr.write(f"[{time.strftime('%Y-%m-%d %H:%M:%S')}{who}] {text}\n")
    sys.stderr.flush()


def bar(text: str) -> None:
    """Draw a progress bar over the last one, as tqdm does: a carriage return first, no line end."""
    sys.stderr.write("\r" + text)
    sys.stderr.flush()
