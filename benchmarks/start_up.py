"""Starting: a listing, a play without steps, and all that is checked of a long one: python -m benchmarks.start_up."""

from __future__ import annotations

from benchmarks import peers
from benchmarks.figures import Figure, tell
from benchmarks.measuring import Command, take_turns
from benchmarks.room import Room, python

STEPS, HOSTS = 1000, 100
_FIVE = """\
    - name: Folder {n}
      file: {{path: "/srv/{{{{ inventory_hostname }}}}/{n}", state: directory, mode: "0755"}}
    - name: File {n}
      copy: {{dest: /srv/{n}/motd, content: "{{{{ inventory_hostname }}}} {{{{ ansible_port | int + {n} }}}}\\n"}}
      register: made_{n}
    - name: Command {n}
      command: /bin/true --of {{{{ item }}}}
      loop: [a, b, c]
      when: made_{n} is changed
    - name: Line {n}
      lineinfile: {{path: /srv/{n}/env, regexp: ^PORT=, line: "PORT={{{{ ansible_port }}}}"}}
      tags: [settings]
    - name: Said {n}
      debug: {{msg: "{{{{ groups.all | length }}}} hosts, {{{{ made_{n}.checksum | default('none') }}}}"}}
"""


def _long() -> str:
    steps = "".join(_FIVE.format(n=number) for number in range(STEPS // 5))
    return f"- name: Long\n  hosts: all\n  gather_facts: false\n  tasks:\n{steps}"


def main() -> None:
    """Measure, and tell."""
    with Room() as room:
        book = room.playbook("empty", "- name: Nothing\n  hosts: all\n  gather_facts: false\n  tasks: []\n")
        hosts = str(room.inventory(1))
        syntax = [peers.program("ansible-playbook"), "--syntax-check", "-i", hosts, str(book)]
        long, many = str(room.playbook("long", _long())), str(room.inventory(HOSTS))
        long_syntax = [*syntax[:2], "-i", many, long]
        taken = take_turns(
            {
                "invoke": Command([python(), "-c", "import invoke"], times=11),
                "plays": Command(room.ours("plays"), cwd=room.root, times=11),
                "check": Command(room.ours("play", "empty", "--check", "-i", hosts), cwd=room.root, times=11),
                "ansible": Command(syntax, environment=room.ansible_environment(), times=5),
                "long": Command(room.ours("play", "long", "--syntax-check", "-i", many), cwd=room.root, times=3),
                "long-ansible": Command(long_syntax, environment=room.ansible_environment(), times=3),
            }
        )
    importing = 'python -c "import invoke"'
    figures = []
    for name, what in (("plays", "`inv plays`"), ("check", "`inv play X --check`, an empty play")):
        ours = taken[name].seconds
        figures.append(Figure(what, ours, importing, taken["invoke"].seconds, 1.6))
        figures.append(Figure(what, ours, "`ansible-playbook --syntax-check`", taken["ansible"].seconds, 0.35))
    what = f"`inv play X --syntax-check`, {STEPS} steps over {HOSTS} hosts"
    theirs = "`ansible-playbook --syntax-check` of the same"
    figures.append(Figure(what, taken["long"].seconds, theirs, taken["long-ansible"].seconds, 1.0))
    tell("start-up", figures)


if __name__ == "__main__":
    main()
