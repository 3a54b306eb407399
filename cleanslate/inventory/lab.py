"""The inventory of the practice machine room: starts it when it is down, and reads where its machines listen."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from cleanslate.errors import InputError, Origin
from cleanslate.inventory.plugins import PluginContext, check_options
from cleanslate.inventory.script import as_source
from cleanslate.lab.alive import running_pid
from cleanslate.model import SourceMap

_MOST_SECONDS = 120


def read(options: SourceMap, context: PluginContext) -> None:
    """Add the lab's hosts and groups. Option `root`: its folder, `.lab` of the repository when not given; `gpu: real`
    has it use the GPUs of this computer (in `.lab-gpu`).
    """
    if not check_options(options, ["root", "gpu"], context):
        return
    gpu = str(options.get("gpu", "pretend"))
    if gpu not in ("pretend", "real"):
        raise InputError(f'the lab has no "{gpu}" GPUs', origin=Origin(context.file), fix="gpu: real, or leave it out")
    root = (
        _repository(context) / str(options.get("root", ".lab" if gpu == "pretend" else ".lab-gpu"))
    ).resolve()  # a run made again links to it
    origin = Origin(context.file)
    found = root / "lab.json"
    if running_pid(str(root)) is None or not found.exists():
        start_lab(root, origin, gpu)
    try:
        data = as_source(json.loads(found.read_text(encoding="utf-8")), Origin(str(found)), None)
        groups, hosts = data["groups"].items(), data["hosts"].items()
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise InputError(
            f"{found} is not what a running lab writes: {error}", origin=origin, fix="inv lab down"
        ) from None
    assembly = context.assembly
    for name, members in groups:
        assembly.group(name, origin)
        for member in members:
            assembly.host(str(member), name, origin, context.path)
    for name, values in hosts:
        group = "ungrouped" if name not in assembly.inventory.hosts else assembly.inventory.hosts[name].groups[0]
        assembly.set_host_variables(assembly.host(name, group, origin, context.path), values)


def _repository(context: PluginContext) -> Path:
    """The folder that `inv lab` works in: the nearest above the file with an invoke.yaml or playbooks."""
    for folder in context.path.resolve().parents:
        if (folder / "invoke.yaml").is_file() or (folder / "playbooks").is_dir():
            return folder
    return context.base.resolve()


def start_lab(root: Path, origin: Origin, gpu: str = "pretend") -> None:
    """Run `lab up`. Raises InputError with what it said when it fails."""
    command = [sys.executable, "-m", "cleanslate.lab", "up", "--root", str(root)]
    if gpu != "pretend":
        command += ["--gpu", gpu]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_MOST_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise InputError(f"the lab did not start within {_MOST_SECONDS} s", origin=origin, fix="inv lab down") from None
    if done.returncode:
        said = "\n".join((done.stderr or done.stdout).strip().splitlines()[-5:])
        raise InputError(f"the lab did not start: {said}", origin=origin, fix="inv lab status says more")
