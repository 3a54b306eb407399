"""One host, twenty steps of /bin/true, as whole processes: python -m benchmarks.one_host."""

from __future__ import annotations

from benchmarks import contest
from benchmarks.figures import Figure, tell
from benchmarks.measuring import take_turns
from benchmarks.room import Room


def main() -> None:
    """Measure, and tell."""
    with Room() as room:
        taken = take_turns(
            {
                "ours": contest.ours(room, 1, 20),
                "ssh": contest.control_master(room, 1, 20),
                "pyinfra": contest.pyinfra(room, 1, 20),
                "fabric": contest.fabric(room, 1, 20),
                "ansible": contest.ansible(room, 1, 20, times=2),
                "mitogen": contest.ansible(room, 1, 20, times=2, mitogen=True),
            }
        )
    ours = taken["ours"].seconds
    what = "1 host, 20 `command` steps"
    tell(
        "one-host",
        [
            Figure(what, ours, "`ssh` with ControlMaster, a process for each step", taken["ssh"].seconds, 1.0),
            Figure(what, ours, "pyinfra", taken["pyinfra"].seconds, 0.4),
            Figure(what, ours, "Ansible, pipelining", taken["ansible"].seconds, 0.06),
            Figure(what, ours, "Ansible with mitogen", taken["mitogen"].seconds),
            Figure(what, ours, "fabric alone", taken["fabric"].seconds),
            Figure("the same, processor seconds of the controller", taken["ours"].processor, "fabric alone",
                   taken["fabric"].processor),
        ],
    )  # fmt: skip


if __name__ == "__main__":
    main()
