"""Runs every case with ansible-core and writes what it gives into outcomes/, or tells where that has changed.

    python -m tests.steps.against_ansible ANSIBLE_PYTHON [STEP...]            compare with what is written there
    python -m tests.steps.against_ansible ANSIBLE_PYTHON --write [STEP...]    write it anew

ANSIBLE_PYTHON is the interpreter of an environment that holds ansible-core 2.19. The tests then need no Ansible:
test_outcomes.py holds the same cases against the written outcomes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import yaml

from tests.steps import recorded, web


def record(step: str, ansible: str, root: Path) -> dict:
    cases = recorded.cases_of(step)
    with web.serve() as address:
        tasks, places = [], []
        for number, case in enumerate(cases):
            here = {}
            for phase in ("check", "apply"):
                folder = root / str(number) / phase / "workdir"
                recorded.plant(folder, case.get("tree") or {})
                here[phase] = {"workdir": str(folder), "web": address}
            sources = root / str(number) / "sources"
            recorded.plant(sources, case.get("sources") or {})
            for phase in ("check", "apply", "again"):
                known = here["check" if phase == "check" else "apply"]
                known["sources"] = str(sources)
                tasks.append(task(step, case, phase, number, known))
            places.append(here)
        result = play(ansible, root, tasks, len(cases))
    return {case["case"]: outcome(result[str(n)], places[n]) for n, case in enumerate(cases)}


def task(step: str, case: dict, phase: str, number: int, places: dict) -> dict:
    made = {
        "name": f"{case['case']} ({phase})",
        f"ansible.builtin.{step}": recorded.fill(case.get("args") or {}, places),
        "register": f"r_{number}_{phase}",
        "ignore_errors": True,
        "diff": True,
        "check_mode": phase == "check",
    }
    if "environment" in case:
        made["environment"] = recorded.fill(case["environment"], places)
    if "vars" in case:
        made["vars"] = case["vars"]
    return made


def play(ansible: str, root: Path, tasks: list[dict], count: int) -> dict:
    pairs = ", ".join(
        f"'{n}': {{{', '.join(f'{p!r}: r_{n}_{p}' for p in ('check', 'apply', 'again'))}}}" for n in range(count)
    )
    out = root / "results.json"
    tasks.append({"ansible.builtin.copy": {"dest": str(out), "content": "{{ {" + pairs + "} | to_json }}"}})
    playbook = root / "playbook.yml"
    hosts = {"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}
    playbook.write_text(yaml.safe_dump([hosts], sort_keys=False))
    environment = {
        **os.environ,
        "ANSIBLE_LOCALHOST_WARNING": "0",
        "ANSIBLE_INVENTORY_UNPARSED_WARNING": "0",
        "ANSIBLE_PIPELINING": "1",
    }
    done = subprocess.run([ansible, str(playbook)], env=environment, cwd=root, capture_output=True, text=True)
    assert out.exists(), done.stdout[-3000:] + done.stderr[-3000:]
    return json.loads(out.read_text())


def outcome(result: dict, places: dict) -> dict:
    kept = {}
    for phase in ("check", "apply", "again"):
        known = dict(places["check" if phase == "check" else "apply"])
        diff = result[phase].pop("diff", None)
        kept[phase] = recorded.plain(result[phase], known)
        if phase != "again":
            diffs = recorded.plain(recorded.texts(diff), known)
            if diffs:
                kept[phase]["diff"] = diffs
    kept["tree"] = recorded.plain(recorded.snapshot(Path(places["apply"]["workdir"])), places["apply"])
    return kept


def comparable(outcome: dict) -> dict:
    """An outcome without what is different each time: folders' names, and the words of a failure."""
    text = re.sub(r"/[^\s\"']*/outcomes[^/]+/\d+/(check|apply)/workdir", "HERE", json.dumps(outcome))
    made = json.loads(text)
    for phase in ("check", "apply", "again"):
        if made.get(phase, {}).get("failed"):
            made[phase] = {name: value for name, value in made[phase].items() if name in recorded.OF_A_FAILURE}
    return made


def main() -> int:
    python, *steps = [word for word in sys.argv[1:] if word != "--write"]
    ansible = str(Path(python).with_name("ansible-playbook"))
    others = 0

    def recorded_now(step: str) -> dict:
        with tempfile.TemporaryDirectory(prefix="outcomes") as root:
            return record(step, ansible, Path(root))

    chosen = steps or recorded.steps_with_cases()
    with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        everything = list(zip(chosen, pool.map(recorded_now, chosen), strict=True))
    for step, found in everything:
        if "--write" not in sys.argv:
            kept = recorded.outcomes_of(step)
            now = recorded.plain(found, {})
            other = [case for case in now if comparable(now[case]) != comparable(kept.get(case) or {})]
            others += len(other)
            print(step, len(found), "cases,", ", ".join(other) or "all as they were kept")
        else:
            recorded.outcomes_path(step).write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
            print(step, len(found))
    return 1 if others else 0


if __name__ == "__main__":
    sys.exit(main())
