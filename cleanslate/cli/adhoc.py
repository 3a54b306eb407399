"""`inv run` and `inv gpus`: one step on hosts, without a playbook file, through the same runner."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cleanslate.cli.extra_vars import extra_variables
from cleanslate.cli.loading import PlayOptions
from cleanslate.cli.settings import Settings
from cleanslate.errors import InputError, Origin
from cleanslate.model import Event, Keywords, Play, Playbook, SourceMap, SourceText, Step
from cleanslate.redaction import Secrets


def run_command(pattern: str, options: PlayOptions, settings: Settings) -> int:
    """Run the command that stands after `--` on every host of the pattern; gives the exit code of the run."""
    if "--" not in sys.argv:
        raise InputError("there is no command", fix="write it after two dashes: inv run gpu -- nvidia-smi -L")
    words = sys.argv[sys.argv.index("--") + 1 :]
    if not words:
        raise InputError("there is no command after the two dashes")
    import shlex

    command = words[0] if len(words) == 1 else shlex.join(words)
    step = _step("shell", {"cmd": SourceText(command)}, command)
    with _StepRun(step, pattern, options, settings) as run:
        return run([_AdhocReport(options)])


def read_gpus(pattern: str, options: PlayOptions, settings: Settings, *, as_json: bool, once: bool) -> int:
    """Read the GPUs of every host of the pattern, and show them as a table or as JSON.

    On a terminal the table is drawn anew every second until Ctrl-C, over the same connections, unless `once`.
    """
    with _StepRun(_step("gpu_info", {}, "Read the GPUs"), pattern, options, settings) as run:
        found: dict[str, Mapping[str, Any]] = {host: {} for host in run.hosts}  # in the inventory's order

        def keep(event: Event) -> None:
            if event.kind == "host.finished":
                found[event.data["host"]] = event.data

        code = run([keep])
        if as_json:
            print(json.dumps({host: data.get("result", {}) for host, data in found.items()}, indent=2))
            return code
        from cleanslate.cli.gpu_table import print_gpus, watch_gpus

        if once or not sys.stdout.isatty():
            print_gpus(found)
            return code
        return watch_gpus(found, lambda: run([keep]), code)


def _step(type_name: str, arguments: dict[str, Any], title: str) -> Step:
    origin = Origin("command line")
    words = Keywords(changed_when=(False,)) if type_name == "gpu_info" else Keywords()
    return Step(type_name, SourceMap(arguments, origin), words, origin, name=SourceText(title[:100]))


class _StepRun:
    """One step on the hosts of a pattern, through the same runner as a playbook's; each call runs it once more.

    The connections stay between the calls, and are closed at the end of the `with`. Raises InputError for what cannot
    be run: an inventory with mistakes, a pattern that matches no host.
    """

    def __init__(self, step: Step, pattern: str, options: PlayOptions, settings: Settings) -> None:
        from cleanslate.connect.connections import RunConnections
        from cleanslate.inventory import load_inventory, match_hosts
        from cleanslate.runner.settings import RunSettings

        sources = [text if "," in text else str(Path(text).absolute()) for text in options.inventory]
        self._inventory = load_inventory(sources or list(settings.inventory), base=Path.cwd())
        self.hosts = [str(host) for host in match_hosts(pattern, self._inventory, limit=options.limit)]
        if not self.hosts:
            raise InputError(f'no host matches "{pattern}"')
        self._play = Play(
            SourceText(step.title),
            SourceText(pattern),
            step.origin,
            settings.root / "playbooks" / "adhoc.yml",
            gather_facts=False,
            tasks=(step,),
        )
        self._settings = RunSettings(
            base=settings.root,
            check=options.check,
            limit=options.limit,
            forks=options.forks or settings.forks,
            extra_vars=extra_variables(options.extra_vars),
            become=True if options.become else None,
            become_user=options.become_user,
            verbosity=options.verbose,
        )
        self._connections = RunConnections(accept_new_host_keys=settings.accept_new_host_keys, become_password=None)

    def __enter__(self) -> _StepRun:
        return self

    def __exit__(self, *error: object) -> None:
        self._connections.close()

    def __call__(self, listeners: list[Callable[[Event], None]]) -> int:
        """Run the step on every host; gives the exit code."""
        from cleanslate.runner.run import run_playbook

        outcome = run_playbook(
            Playbook(self._play.playbook, (self._play,)),
            self._inventory,
            self._settings,
            self._connections,
            secrets=Secrets(),
            listeners=listeners,
            run_id="adhoc",
        )
        return outcome.exit_code


class _AdhocReport:
    """What each host answered: its output as it is, under one line that names host, status and exit code."""

    def __init__(self, options: PlayOptions) -> None:
        from cleanslate.report import reporter

        self._whole = reporter(options.output, sys.stdout, verbosity=options.verbose) if _other(options) else None

    def __call__(self, event: Event) -> None:
        """Print what a host answered."""
        if self._whole is not None:
            self._whole(event)
            return
        if event.kind != "host.finished":
            return
        result = event.data["result"]
        code = f" rc={result['rc']}" if "rc" in result else ""
        status = "ok" if event.data["status"] == "changed" else event.data["status"]
        print(f"{event.data['host']} | {status}{code} | {event.data['seconds']:.2f}s")
        for stream in ("stdout", "stderr"):
            if result.get(stream):
                print(result[stream])
        if "rc" not in result and result.get("msg"):
            print(result["msg"])
        if event.data.get("fix"):
            print(f"  {event.data['fix']}")


def _other(options: PlayOptions) -> bool:
    return options.output != "console" or bool(options.verbose)
