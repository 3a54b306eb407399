"""What a record costs: a play of 1,000 quick steps with and without one, a run's start, a list of 10,000 runs.

python benchmarks/recording.py            (about a minute)
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from cleanslate.cli.loading import PlayOptions, load
from cleanslate.cli.settings import Settings
from cleanslate.connect.connections import RunConnections
from cleanslate.record import RunRecord, Wanted, list_runs
from cleanslate.record.collecting import Collector
from cleanslate.record.git import read_checkout
from cleanslate.record.provenance import provenance
from cleanslate.record.writing import facts_text
from cleanslate.runner.run import run_playbook
from cleanslate.runner.settings import RunSettings

STEPS = 1000
ROUNDS = 3
RUNS = 10_000


def repository(folder: Path) -> Settings:
    """A repository with one playbook of many quick steps."""
    (folder / "playbooks").mkdir()
    for kind, what in {"debug": "debug: {msg: 'is {{ n }}'}", "command": "command: 'true'"}.items():
        steps = "".join(f"    - name: step {number}\n      {what}\n" for number in range(STEPS))
        text = f"- hosts: all\n  gather_facts: false\n  tasks:\n{steps}"
        (folder / "playbooks" / f"{kind}.yml").write_text(text)
    (folder / "hosts.ini").write_text("[all]\nalpha ansible_connection=local n=1\n")
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return Settings(folder, [str(folder / "hosts.ini")], folder / ".runs", 5, False)


def seconds(settings: Settings, kind: str, number: int, *, recorded: bool) -> tuple[float, float]:
    """How long a run takes: by the clock, and of this process's computing time."""
    options = PlayOptions(kind)
    loaded = load(options, settings)
    listeners, more, extra, closing = [], {}, {}, []
    clock, computing = time.perf_counter(), time.process_time()
    if recorded:
        known = provenance(
            settings.root, loaded.playbook, loaded.inventory, {}, loaded.secrets, asdict(options), settings.inventory
        )
        record = RunRecord(
            settings.runs, f"{kind}{number}", {"playbook": "quick.yml", "started_at": 1.0, **known.facts}
        )
        collector = Collector(record, known, loaded.secrets)
        listeners, more, extra = [collector, record], {"used": collector.used}, {"watch": collector.watch}
        closing = [collector.close, record.close]
    connections = RunConnections()
    run_playbook(
        loaded.playbook,
        loaded.inventory,
        RunSettings(base=settings.root, **more),
        connections,
        secrets=loaded.secrets,
        listeners=listeners,
        run_id="x",
        **extra,
    )
    connections.close()
    for close in closing:
        close()
    return time.perf_counter() - clock, time.process_time() - computing


def many_runs(folder: Path, like: Path) -> None:
    """Copies of one record, as if made over months."""
    facts = json.loads((like / "run.json").read_text())
    facts.pop("summary")
    for number in range(RUNS):
        at = 1.79e9 + number * 600
        run_id = time.strftime("%Y%m%d-%H%M%S", time.localtime(at)) + f"-restart-eagle3-{number:04x}"
        (folder / run_id).mkdir(parents=True)
        outcome = "failed" if number % 50 == 0 else "ok"
        text = facts_text({**facts, "id": run_id, "started_at": at, "outcome": outcome})
        (folder / run_id / "run.json").write_text(text)


def main() -> None:
    """Measure, and print."""
    with tempfile.TemporaryDirectory() as name:
        settings = repository(Path(name))
        for kind in ("debug", "command"):
            pairs = [
                (seconds(settings, kind, n, recorded=False), seconds(settings, kind, n, recorded=True))
                for n in range(ROUNDS)
            ]
            for word, which in (("wall", 0), ("computing", 1)):
                bare, kept = (statistics.median(pair[side][which] for pair in pairs) for side in (0, 1))
                more = f"{(kept - bare) / STEPS * 1e6:.0f} us a step, {(kept / bare - 1) * 100:+.1f} %"
                print(f"{STEPS} {kind} steps, {word}: {bare:.3f} s, recorded {kept:.3f} s: {more}")
        loaded = load(PlayOptions("debug"), settings)
        begun = time.perf_counter()
        read_checkout(settings.root)
        git = time.perf_counter() - begun
        begun = time.perf_counter()
        provenance(settings.root, loaded.playbook, loaded.inventory, {}, loaded.secrets, {}, settings.inventory)
        print(f"the start of a record: {(time.perf_counter() - begun) * 1000:.1f} ms, of which git {git * 1000:.1f} ms")
        many = Path(name) / "many"
        many_runs(many, settings.runs / "debug0")
        for words, wanted, count in (
            ("all", Wanted(), None),
            ("failed", Wanted(outcome="failed"), None),
            ("20", Wanted(), 20),
        ):
            begun = time.perf_counter()
            found = len(list_runs(many, wanted, count=count))
            print(f"{words} of {RUNS} runs: {found} in {(time.perf_counter() - begun) * 1000:.0f} ms")
        command = [sys.executable, "-m", "cleanslate.cli", "runs", "--outcome", "failed", "--count", "0"]
        (Path(name) / "invoke.yaml").write_text("cleanslate: {runs: many}\n")
        begun = time.perf_counter()
        subprocess.run(command, cwd=name, check=True, stdout=subprocess.DEVNULL)
        print(f"inv runs --outcome failed: {(time.perf_counter() - begun) * 1000:.0f} ms")


if __name__ == "__main__":
    main()
