"""The lab's command line, and what it tells people."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Any

from cleanslate.lab import life
from cleanslate.lab.faults import FAULTS
from cleanslate.lab.hardware import Hardware, find_real


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        """End with 64, as all of cleanslate does for wrong input."""
        self.print_usage(sys.stderr)
        self.exit(64, f"{self.prog}: {message}\n")


def _parser(default_root: str) -> argparse.ArgumentParser:
    parser = _Parser("cleanslate.lab", description="The practice machine room: two machines, eight pretend GPUs.")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    known = "\n".join(f"  {name:<22} {text}" for name, text in FAULTS.items())
    about = {
        "up": "start it, as the story begins; nothing happens when it is up",
        "down": "end it; nothing of it survives",
        "status": "say what it is like now",
        "break": "ask for a fault; `none` takes all back",
    }
    for name, text in about.items():
        command = commands.add_parser(
            name, help=text, description=text, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        command.add_argument("--root", type=Path, default=Path(default_root), help="the lab's folder (default: .lab)")
        if name == "break":
            command.epilog = f"faults:\n{known}\n  {'none':<22} no fault any more"
            command.add_argument("faults", nargs="+", metavar="FAULT", choices=[*FAULTS, "none"])
        if name == "up":
            command.add_argument("--gpu", choices=["pretend", "real"], default="pretend", help="whose GPUs it has")
            command.add_argument("--held", type=float, help="real: GiB on each GPU that the stuck server has (70 %%)")
            command.add_argument("--pinned", type=float, default=0, help="real: GiB of host memory that it has pinned")
            command.add_argument(
                "--pace", type=float, default=1, help="how long a start takes: 0.1 is ten times as fast"
            )
            command.add_argument("--torch", action="store_true", help="real: the stuck server takes it with PyTorch")
            command.add_argument("--nodes", default="/dev", help="real: the folder of the device files (default: /dev)")
        if name == "down":
            command.add_argument("--keep", action="store_true", help="leave the files, for a look at the logs")
        if name == "status":
            command.add_argument("--json", action="store_true", help="for programs")
    return parser


def status_text(status: dict[str, Any]) -> str:
    """What `status` says to people."""
    if not status["up"]:
        return f"down  {status['root']}\n"
    lines = [f"up    {status['root']}"]
    for name, machine in status["machines"].items():
        config = shlex.quote(f"{status['root']}/ssh_config")
        lines.append(f"{name:<12} ssh -F {config} {name}    (port {machine['port']})")
    isolation = status["isolation"]
    if isolation["pid"]:
        own = [name for name in ("user", "pid", "network") if isolation[name]]
        lines.append(f"namespaces   {', '.join(own)}, mount, cgroup, uts, ipc")
    else:
        lines.append(f"namespaces   none: the kernel refused ({isolation['reason']}); the container sees all processes")
    lines.append(f"this computer's files are read-only in there: {status['protected']}")
    lines.append(f"faults       {', '.join(status['faults']) or 'none'}")
    for gpu in status["gpus"]:
        holders = ", ".join(f"{title} ({pid})" for pid, title, _ in gpu["holders"])
        lines.append(f"GPU {gpu['index']}  {gpu['used_mib']:>7} MiB  {holders}".rstrip())
    return "\n".join(lines) + "\n"


def run(words: list[str], default_root: str) -> int:
    """Run one command; gives the exit code."""
    asked = _parser(default_root).parse_args(words)
    try:
        if asked.command == "up":
            real = asked.gpu == "real"
            pretend = Hardware(pace=asked.pace)
            found = partial(find_real, asked.held, asked.pinned, asked.nodes, with_torch=asked.torch)
            life.up(asked.root, found if real else lambda: pretend)
        elif asked.command == "down":
            life.down(asked.root, keep=asked.keep)
        elif asked.command == "status":
            status = life.status(asked.root)
            sys.stdout.write(json.dumps(status) + "\n" if asked.json else status_text(status))
        else:
            now = life.break_(asked.root, asked.faults)
            sys.stdout.write(f"faults now: {', '.join(now) or 'none'}\n")
    except life.LabError as error:
        sys.stderr.write(f"lab: {error}\n")
        return 1
    return 0
