"""Events through every listener, and a play that is mostly templates, beside Ansible: python -m benchmarks.events."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from benchmarks import peers
from benchmarks.figures import Figure, tell
from benchmarks.measuring import Command, take_turns
from benchmarks.room import Room
from cleanslate.record import RunRecord
from cleanslate.redaction import Secrets
from cleanslate.report import reporter
from cleanslate.runner.bus import Bus

EVENTS, STEPS, ITEMS, HOSTS = 100_000, 1000, 100, 200


def main() -> None:
    """Measure, and tell."""
    rates = [_rate() for _ in range(3)]
    with Room() as room:
        book = room.playbook("templates", _templates())
        inventory = _inventory(room)
        environment = room.ansible_environment(ANSIBLE_LOCALHOST_WARNING="False")
        argv = [peers.program("ansible-playbook"), "-i", str(inventory), str(book)]
        taken = take_turns(
            {
                "ours": Command(room.ours("play", str(book), "-i", str(inventory)), cwd=room.root, times=3),
                "ansible": Command(argv, environment=environment, times=1),
            }
        )
    ours = taken["ours"].seconds
    what = f"{STEPS} steps of templates, loops of {ITEMS}, `hostvars` of {HOSTS} hosts"
    tell(
        "events",
        [
            Figure(f"seconds for {EVENTS:,} events through console, record and JSON", statistics.median(rates),
                   "20,000 a second", EVENTS / 20_000, 1.0),
            Figure(what, ours, "Ansible, connection local (one run)", taken["ansible"].seconds, 0.2),
        ],
    )  # fmt: skip


def _rate() -> float:
    """Seconds for all events of a long run, each redacted, shown, recorded and written as JSON."""
    secrets = Secrets()
    secrets.add("a-password-that-is-nowhere")
    with tempfile.TemporaryDirectory(prefix="cleanslate-bench-") as folder, Path("/dev/null").open("w") as sink:
        record = RunRecord(Path(folder), "measured", {"playbook": "x", "started_at": 0.0})
        bus = Bus(secrets, [record, reporter("plain", sink), reporter("json", sink)])
        began = time.perf_counter()
        bus.emit("play.started", play=0, name="measured", hosts=["h"], origin="x:1:1")
        for number in range(EVENTS // 2):
            if number % 25 == 0:
                said = {"name": f"step {number}", "type": "command", "origin": "x.yml:3:7", "role": None}
                said |= {"digest": "0" * 16, "section": "tasks", "handler": False}
                bus.emit("step.started", step=number, hosts=[f"h{n:02}" for n in range(50)], **said)
            result = {
                "changed": True,
                "rc": 0,
                "stdout": "done",
                "stderr": "",
                "cmd": ["/bin/true"],
                "delta": "0:00:00",
            }
            common = {"step": number - number % 25, "host": f"h{number % 50:02}"}
            bus.emit("host.progress", **common, text="still at it", facts={"n": number})
            bus.emit(
                "host.finished",
                **common,
                delegate=None,
                status="changed",
                ignored=False,
                seconds=0.01,
                result=result,
                diffs=[],
                changes=["run /bin/true"],
                fix=None,
                warnings=[],
                args={"argv": ["/bin/true"]},
                notified=[],
                position=[1, number // 25],
            )
        seconds = time.perf_counter() - began
        record.close()
    return seconds


def _templates() -> str:
    loops, looks = 10, 40
    lines = [
        "- name: Templates\n  hosts: one\n  gather_facts: false\n  connection: local\n  vars:",
        "    base: \"{{ inventory_hostname }}-{{ group_names | join('.') }}\"",
        "    wanted: \"{{ groups['many'] | map('extract', hostvars, 'number') | map('int') | sum }}\"",
        "  tasks:",
    ]
    looped = f'    - debug: {{msg: "{{{{ base }}}} {{{{ item }}}}"}}\n      loop: "{{{{ range({ITEMS}) | list }}}}"'
    for number in range(STEPS):
        if number % (STEPS // loops) == 0:
            lines.append(looped)
        elif number % (STEPS // looks) == 1:
            lines.append('    - debug: {msg: "{{ wanted }}"}')
        elif number % 3 == 0:
            lines.append(f'    - set_fact: {{fact_{number % 20}: "{{{{ base | upper }}}} {number}"}}')
        else:
            said = f"{number} {{{{ base }}}} {{{{ [1, 2, {number}] | sum }}}}"
            lines.append(f'    - debug: {{msg: "{said}"}}\n      when: {number} > 0')
    return "\n".join(lines) + "\n"


def _inventory(room: Room) -> Path:
    path = room.folder / "many.ini"
    many = "\n".join(f"m{number:03} number={number}" for number in range(HOSTS))
    path.write_text(
        f"[one]\nhere ansible_connection=local ansible_python_interpreter=/usr/bin/python3\n[many]\n{many}\n"
    )
    return path


if __name__ == "__main__":
    main()
