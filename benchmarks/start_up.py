"""Starting: a listing, and a play without steps, beside Invoke's own import: python -m benchmarks.start_up."""

from __future__ import annotations

from benchmarks import peers
from benchmarks.figures import Figure, tell
from benchmarks.measuring import Command, take_turns
from benchmarks.room import Room, python


def main() -> None:
    """Measure, and tell."""
    with Room() as room:
        book = room.playbook("empty", "- name: Nothing\n  hosts: all\n  gather_facts: false\n  tasks: []\n")
        hosts = str(room.inventory(1))
        syntax = [peers.program("ansible-playbook"), "--syntax-check", "-i", hosts, str(book)]
        taken = take_turns(
            {
                "invoke": Command([python(), "-c", "import invoke"], times=11),
                "plays": Command(room.ours("plays"), cwd=room.root, times=11),
                "check": Command(room.ours("play", "empty", "--check", "-i", hosts), cwd=room.root, times=11),
                "ansible": Command(syntax, environment=room.ansible_environment(), times=5),
            }
        )
    importing = 'python -c "import invoke"'
    figures = []
    for name, what in (("plays", "`inv plays`"), ("check", "`inv play X --check`, an empty play")):
        ours = taken[name].seconds
        figures.append(Figure(what, ours, importing, taken["invoke"].seconds, 1.6))
        figures.append(Figure(what, ours, "`ansible-playbook --syntax-check`", taken["ansible"].seconds, 0.35))
    tell("start-up", figures)


if __name__ == "__main__":
    main()
