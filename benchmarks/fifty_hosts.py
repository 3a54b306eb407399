"""Fifty hosts, ten steps of /bin/true on each, as whole processes: python -m benchmarks.fifty_hosts."""

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
                "ours": contest.ours(room, 50, 10),
                "fabric": contest.fabric(room, 50, 10),
                "asyncssh": contest.asyncssh(room, 50, 10),
                "ssh": contest.control_master(room, 50, 10),
                "pyinfra": contest.pyinfra(room, 50, 10),
                "ansible": contest.ansible(room, 50, 10, times=1),
            }
        )
    ours = taken["ours"].seconds
    what = "50 hosts, 10 `command` steps each"
    tell(
        "fifty-hosts",
        [
            Figure(what, ours, "fabric alone, 50 threads", taken["fabric"].seconds, 1.0),
            Figure(what, ours, "pyinfra", taken["pyinfra"].seconds, 0.6),
            Figure(what, ours, "Ansible, pipelining (one run)", taken["ansible"].seconds, 0.03),
            Figure(what, ours, "asyncssh alone", taken["asyncssh"].seconds),
            Figure(what, ours, "`ssh` with ControlMaster, a process for each step", taken["ssh"].seconds),
            Figure("the same, processor seconds of the controller", taken["ours"].processor, "fabric alone",
                   taken["fabric"].processor),
        ],
    )  # fmt: skip


if __name__ == "__main__":
    main()
