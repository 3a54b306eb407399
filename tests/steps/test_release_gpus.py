"""release_gpus on a hypervisor: containers are PID namespaces below it, `lxc-info` tells their first process."""

from __future__ import annotations

import threading

import pytest

from cleanslate.errors import InputError
from cleanslate.model import Status
from tests.steps.harness import run_step

QUICK = {"container": "101", "grace": 0.15, "within": 10, "settle": 0.3}


class Container:
    """A container of the room: its own PID and mount namespaces, holders that are its own processes."""

    def __init__(self, room, vmid):
        self.room, self.vmid = room, vmid
        self.first = room.act("--comm", "init", prefix=self._enter(), inside=True)[0]

    @staticmethod
    def _enter():
        return ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")

    def act(self, *options):
        """An actor inside; gives its pid as the hypervisor sees it."""
        enter = ("nsenter", "-t", str(self.first), "-p", "-m", "--")
        return self.room.act(*options, prefix=enter, inside=True)[0]


@pytest.fixture
def hypervisor(room):
    """A room with `lxc-info` and a driver that lists who maps its devices."""
    room.smi(live=True)
    room.program("lxc-info", '#!/bin/sh\n[ "$1 $3 $4" = "-n -p -H" ] && cat "$(dirname "$0")/../lxc-$2" 2>/dev/null\n')
    return room


@pytest.fixture
def containers(hypervisor):
    """Make containers by vmid."""

    def make(vmid):
        made = Container(hypervisor, vmid)
        (hypervisor.folder / f"lxc-{vmid}").write_text(f"{made.first}\n")
        return made

    return make


def spared(result):
    return {entry["pid"]: entry["spared"] for entry in result.data["spared"]}


def released(result):
    return {entry["pid"]: entry["how"] for entry in result.data["released"]}


DAEMONS = ["nvidia-persistenced", "dcgm-exporter", "nv-fabricmanager", "Xorg"]


@pytest.fixture
def daemons(hypervisor):
    """The driver's daemons and a display server, each with the devices open."""
    device = hypervisor.device(0)
    return {name: hypervisor.act("--title", name, "--open", device, "--ignore-term")[0] for name in DAEMONS}


@pytest.mark.slow
def test_only_the_containers_orphans_are_ended_and_the_daemons_live(hypervisor, containers, daemons):
    """What `fuser -k` would kill: four daemons, a watcher, a neighbour, this run. Only the two orphans go."""
    mine, theirs = containers(101), containers(102)
    orphans = [mine.act("--leave", "--map", hypervisor.device(n), str(76 << 30)) for n in (0, 1)]
    neighbour = theirs.act("--map", hypervisor.device(1), str(1 << 30))
    watcher = mine.act("--open", hypervisor.device(0))
    foretold = run_step("release_gpus", QUICK, target=hypervisor, check=True).result
    result = run_step("release_gpus", QUICK, target=hypervisor).result
    assert (Status.CHANGED, dict.fromkeys(orphans, "TERM")) == (result.status, released(result))
    assert orphans == [entry["pid"] for entry in foretold.data["released"]]
    assert spared(foretold) == spared(result)
    expected = {pid: f"protected: {name}" for name, pid in daemons.items()}
    assert expected == {pid: why for pid, why in spared(result).items() if pid in expected}
    assert "only watches" == spared(result)[watcher]
    assert spared(result)[neighbour].startswith("belongs to namespace pid:[")
    assert [True] * 6 == hypervisor.alive(*daemons.values(), neighbour, watcher)
    assert dict.fromkeys(DAEMONS[:3], "alive") == {each["name"]: each["now"] for each in result.data["daemons"]}
    again = run_step("release_gpus", QUICK, target=hypervisor).result
    assert Status.OK == again.status


def test_an_allowed_daemon_gets_term_and_never_kill(hypervisor, containers, daemons):
    containers(101)
    stubborn = run_step("release_gpus", {**QUICK, "allow": "dcgm-exporter"}, target=hypervisor)
    assert [True] == hypervisor.alive(daemons["dcgm-exporter"])
    assert {"dcgm-exporter": False} == {e["title"]: e["ended"] for e in stubborn.result.data["daemons_stopped"]}


def test_an_allowed_daemon_that_obeys_is_told_as_stopped(hypervisor, containers):
    containers(101)
    exporter = hypervisor.act("--title", "dcgm-exporter", "--open", hypervisor.device(0))[0]
    result = run_step("release_gpus", {**QUICK, "allow": ["dcgm-exporter"]}, target=hypervisor).result
    assert [(exporter, "TERM", True)] == [(e["pid"], e["how"], e["ended"]) for e in result.data["daemons_stopped"]]
    assert [("dcgm-exporter", "stopped")] == [(each["name"], each["now"]) for each in result.data["daemons"]]


def test_an_orphan_outside_the_containers_pids_is_found_by_its_mounts(hypervisor, containers):
    """It lives in the hypervisor's PID namespace, where the container cannot see it, with the container's mounts."""
    mine = containers(101)
    enter = ("nsenter", "-t", str(mine.first), "-m", "--")
    orphan = hypervisor.act("--map", hypervisor.device(3), "4096", prefix=enter)[0]
    host = hypervisor.act("--map", hypervisor.device(3), "4096")[0]
    result = run_step("release_gpus", QUICK, target=hypervisor).result
    assert ({orphan: "TERM"}, "belongs to this machine") == (released(result), spared(result)[host])


def test_only_the_named_gpus_are_freed(hypervisor, containers):
    mine = containers(101)
    first, second = (mine.act("--map", hypervisor.device(n), str(1 << 30)) for n in (0, 5))
    result = run_step("release_gpus", {**QUICK, "gpus": ["GPU-0000-5"]}, target=hypervisor).result
    assert ({second: "TERM"}, "holds GPU 0, which is not named") == (released(result), spared(result)[first])


def test_scope_host_is_everybodys_and_must_be_said(hypervisor, containers):
    one = containers(101).act("--map", hypervisor.device(0), "4096", "--ignore-term")
    two = hypervisor.act("--map", hypervisor.device(1), "4096")[0]
    guarded = hypervisor.act("--comm", "training", "--map", hypervisor.device(1), "4096")[0]
    arguments = {"scope": "host", "grace": 0.1, "settle": 0.2, "protect_also": ["training"]}
    result = run_step("release_gpus", arguments, target=hypervisor).result
    assert ({one: "KILL", two: "TERM"}, [True]) == (released(result), hypervisor.alive(guarded))
    with pytest.raises(InputError, match="whose holders"):
        run_step("release_gpus", {}, target=hypervisor)


def test_memory_that_nobody_holds_is_told_apart(hypervisor, containers):
    """The driver says 700 MiB, no process maps the device: nothing is ended, nothing is looped on."""
    containers(101)
    hypervisor.smi(live=True, gpus={"4": {"memory.used": "700"}})
    result = run_step("release_gpus", QUICK, target=hypervisor).result
    expected = [{"index": 4, "uuid": "GPU-0000-4", "used_mib": 700}]
    assert (Status.OK, expected) == (result.status, result.data["memory_without_holder"])


def test_memory_that_comes_back_slowly_is_waited_for_and_not_reset(hypervisor, containers):
    """The holder is gone already; the driver needs a moment. That is no memory without a holder."""
    containers(101)
    hypervisor.smi(live=True, gpus={"4": {"memory.used": "700"}})
    timer = threading.Timer(0.3, hypervisor.smi, kwargs={"live": True})
    timer.start()
    result = run_step("release_gpus", {**QUICK, "settle": 20, "reset": True}, target=hypervisor).result
    timer.join()
    assert (Status.OK, [], []) == (
        result.status,
        result.data["memory_without_holder"],
        [line for line in hypervisor.smi_asked() if "reset" in line],
    )


def test_a_driver_that_cannot_be_read_leaves_the_devices_to_tell(hypervisor, containers):
    holder = containers(101).act("--map", hypervisor.device(2), "4096")
    hypervisor.smi(text="NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", rc=9)
    result = run_step("release_gpus", {**QUICK, "gpus": [2]}, target=hypervisor).result
    assert {holder: "TERM"} == released(result)


def test_a_pid_that_the_driver_names_is_not_trusted_without_the_device(hypervisor, containers):
    """In a container the driver's pids are the host's: the process that has such a number here is somebody else."""
    bystander = containers(101).act("--comm", "postgres")
    hypervisor.smi(live=True, apps=[f"GPU-0000-0, {bystander}, 1000, python", "GPU-0000-1, 999999, 1000, python"])
    result = run_step("release_gpus", QUICK, target=hypervisor).result
    assert (Status.OK, [True]) == (result.status, hypervisor.alive(bystander))


def test_a_user_who_may_not_look_gets_unknown_and_never_nobody(rooms):
    """Without the right to look into other processes, and without the driver's list, nothing is known."""
    room = rooms(before=["setpriv", "--bounding-set=-all", "--inh-caps=-all"])
    room.smi(text="Failed to initialize NVML: Unknown Error\n", rc=255)
    result = run_step("release_gpus", QUICK, target=room).result
    assert (Status.FAILED, True) == (result.status, result.data["msg"].startswith("unknown who holds the GPUs"))
    assert "become: true" in result.fix


def test_hidden_processes_are_unknown_too(rooms):
    """With hidepid another user's processes are not even listed."""
    hide = 'mount -o remount,hidepid=2 /proc && exec setpriv --regid=65534 --clear-groups --bounding-set=-all "$@"'
    room = rooms(before=["/bin/sh", "-c", hide, "sh"])
    result = run_step("release_gpus", QUICK, target=room).result
    assert (Status.FAILED, True) == (result.status, "hidepid" in result.data["msg"])


def test_a_container_that_does_not_run_here_is_said(hypervisor):
    from cleanslate.runner.apply import apply_step, validate
    from cleanslate.steps.release_gpus import STEP
    from tests.steps.harness import Context

    context = Context(hypervisor)
    applied = apply_step(STEP, validate(STEP, {**QUICK, "container": "999"}), context, hypervisor, check=False)
    assert (Status.OK, ["no process here belongs to container 999: does it run on this machine?"]) == (
        applied.result.status,
        context.warnings,
    )


def reset(room, **more):
    return run_step("release_gpus", {**QUICK, "reset": True, **more}, target=room).result


def test_a_reset_restores_persistence_and_is_not_repeated(hypervisor, containers):
    containers(101)
    hypervisor.smi(live=True, gpus={"4": {"memory.used": "700"}})
    result = reset(hypervisor)
    asked = [line for line in hypervisor.smi_asked() if not line.startswith("--query")]
    assert ["-i GPU-0000-4 -pm 0", "--gpu-reset -i GPU-0000-4", "-i GPU-0000-4 -pm 1"] == asked
    assert (Status.CHANGED, [True]) == (result.status, [each["ok"] for each in result.data["reset"]])
    hypervisor.smi(live=True)
    assert Status.OK == reset(hypervisor).status


def test_a_reset_is_refused_while_anything_is_attached_or_with_an_nvswitch(hypervisor, containers):
    containers(101)
    hypervisor.smi(live=True, gpus={"4": {"memory.used": "700"}})
    watcher = hypervisor.act("--open", hypervisor.device(4))[0]
    attached = reset(hypervisor)
    assert f"something is attached: pid {watcher}" in attached.data["msg"]
    hypervisor.kill(watcher)
    while hypervisor.look(watcher):
        pass
    hypervisor.act("--title", "nv-fabricmanager")
    switched = reset(hypervisor)
    assert "share an NVSwitch" in switched.data["msg"]
    assert [] == [line for line in hypervisor.smi_asked() if "reset" in line]
