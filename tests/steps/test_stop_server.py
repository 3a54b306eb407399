"""stop_server against real processes, each test in a PID namespace of its own."""

from __future__ import annotations

import os
import time

import pytest

from cleanslate.model import Status
from tests.steps.harness import run_step

QUICK = {"name": "eagle3", "grace": 0.15, "kill_within": 10}


def titles(entries):
    return sorted(entry["title"].split(" --ready")[0] for entry in entries)


def how(result):
    return {entry["pid"]: entry["how"] for entry in result.data["stopped"]}


def workers(room, count=8, *options):
    """Workers as they are left when their launcher was killed: double-forked, renamed, holding memory."""
    return [
        room.act("--leave", "--title", f"sglang::scheduler_TP{n}", "--map", room.device(n), str(76 << 30), *options)[0]
        for n in range(count)
    ]


@pytest.mark.slow
def test_workers_that_left_the_tree_are_found_and_the_following_assertion_passes(room):
    """Eight renamed orphans hold the GPUs; an editor carries the engine's name in its arguments and lives."""
    room.smi(live=True)
    launcher = room.act("--session", "--title", "python -m sglang.launch_server")[0]
    room.launched("eagle3", launcher)
    pids = workers(room)
    room.kill(launcher)
    editor = room.act("--", "vim", "sglang/launch_server.py", "sglang::scheduler_TP0")[0]
    result = run_step("stop_server", QUICK, target=room).result
    assert (Status.CHANGED, sorted(pids)) == (result.status, sorted(result.data["pids"]))
    assert [f"sglang::scheduler_TP{n}" for n in range(8)] == titles(result.data["stopped"])
    assert [True] == room.alive(editor)
    after = run_step("assert_gpus", {"count": 8, "used_mib": 0, "within": 5}, target=room).result
    assert (Status.OK, 8) == (after.status, after.data["count"])


def test_check_lists_exactly_what_apply_ends_and_touches_nothing(room):
    pids = workers(room, 3)
    foretold = run_step("stop_server", QUICK, target=room, check=True).result
    assert (Status.CHANGED, pids) == (foretold.status, foretold.data["pids"])
    lines = foretold.diffs[0].before.splitlines()
    assert [f"{pid} sglang::scheduler_TP{n} (sglang: title sglang::)" for n, pid in enumerate(pids)] == lines
    assert [True] * 3 == room.alive(*pids)
    done = run_step("stop_server", QUICK, target=room).result
    assert pids == done.data["pids"]


def test_nothing_running_is_ok_and_a_second_stop_changes_nothing(room):
    workers(room, 1)
    room.act("--", "less", "sglang.log")
    assert [Status.CHANGED, Status.OK] == [run_step("stop_server", QUICK, target=room).result.status for _ in range(2)]


@pytest.mark.parametrize(
    ("options", "signal"),
    [
        pytest.param(["--ignore-term"], "KILL", id="ignores TERM"),
        pytest.param(["--stop"], "TERM", id="was stopped: gets CONT with its TERM"),
        pytest.param(["--stop", "--ignore-term"], "KILL", id="was stopped and ignores TERM"),
        pytest.param(["--leave"], "TERM", id="re-parented"),
        pytest.param(["--linger", "100"], "TERM", id="takes its time"),
        pytest.param(["--thread-only"], "TERM", id="its first thread has ended and another lives on"),
    ],
)
def test_each_kind_of_process_is_ended_by_what_it_takes(room, options, signal):
    pid = room.act("--title", "VLLM::EngineCore", *options)[0]
    result = run_step("stop_server", QUICK, target=room).result
    assert ({pid: signal}, [False]) == (how(result), room.alive(pid))


def test_what_is_forked_while_dying_is_ended_too(room):
    """On TERM the worker forks three children that ignore it, and exits."""
    ready = room.folder / "forked"
    room.spawn(
        room.actor_file, "--session", "--ready", ready, "--title", "sglang::scheduler_TP0", "--fork-on-term", "3"
    )
    room.told(ready, 1)
    result = run_step("stop_server", QUICK, target=room).result
    forked = room.told(ready, 4)
    assert sorted(forked) == sorted(result.data["pids"])
    assert [False] * 4 == room.alive(*forked)


def test_one_that_forks_itself_away_for_ever_is_caught(room):
    ready = room.folder / "chain"
    room.spawn(room.actor_file, "--ready", ready, "--title", "sglang::scheduler_TP0", "--fork-for-ever")
    room.told(ready, 1)
    result = run_step("stop_server", QUICK, target=room).result
    assert (Status.CHANGED, []) == (result.status, result.data["remaining"])
    assert [False] == room.alive(room.told(ready, 1)[-1])


def test_a_zombie_is_named_with_its_parent_and_is_no_failure(room):
    """A dead worker that nobody reaps holds no memory and cannot be killed: the step is ok and says whose it is."""
    parent, dead = room.act("--comm", "sglang::zombie", "--zombie", tells=2, prefix=("env",))
    result = run_step("stop_server", {**QUICK, "protect": [str(parent), str(dead)]}, target=room).result
    assert (Status.OK, []) == (result.status, result.data["pids"])
    # told in either order: the parent and its child write the same file
    parents = {entry["pid"]: entry["parent"]["pid"] for entry in result.data["zombies"]}
    assert [{parent, dead}] == [{child, above} for child, above in parents.items()]


def test_a_stranger_that_got_the_pid_is_not_signalled_nor_its_group(room):
    """The state file names a pid whose start time is another's: nothing of that number is believed."""
    stranger, child = sorted(room.act("--session", "--children", "1", tells=2))
    room.launched("eagle3", stranger, more={"start": room.look(stranger)["start"] - 1000})
    result = run_step("stop_server", QUICK, target=room).result
    assert (Status.OK, [True, True]) == (result.status, room.alive(stranger, child))


@pytest.mark.parametrize("fact", [{"boot_id": "another"}, {"pid_namespace": "pid:[1]"}])
def test_a_state_file_of_another_boot_or_namespace_is_not_believed(room, fact):
    stranger = room.act("--session")[0]
    room.launched("eagle3", stranger, more=fact)
    assert (Status.OK, [True]) == (run_step("stop_server", QUICK, target=room).result.status, room.alive(stranger))


def test_the_launch_group_is_ended_when_its_leader_is_gone(room):
    """No title, no tree, no port: only the recorded process group says that they belong to the server."""
    leader, *children = sorted(room.act("--session", "--children", "2", tells=3))
    room.launched("eagle3", leader)
    room.kill(leader)
    while room.look(leader):
        time.sleep(0.005)
    result = run_step("stop_server", QUICK, target=room).result
    assert children == result.data["pids"]
    assert {"in the process group of the launch"} == {entry["why"] for entry in result.data["stopped"]}


def test_what_the_keeper_of_the_launch_took_in_is_ended_and_the_keeper_is_not_signalled(room):
    """A worker that left group and session, and whose parents have died, is the keeper's child."""
    ready = room.folder / "kept"
    room.spawn("/bin/sh", "-c", f"{room.actor_file} --session --ready {ready}; kill -STOP $$")
    worker = room.told(ready, 1)[0]
    keeper = room.look(worker)["ppid"]
    stranger = room.act("--children", "1", tells=2)
    gone = {"pid": 999999, "start": 1}
    room.launched("eagle3", worker, more={**gone, "keeper": {"pid": keeper, "start": room.look(keeper)["start"]}})
    result = run_step("stop_server", QUICK, target=room).result
    assert {worker: "below the keeper of the launch"} == {e["pid"]: e["why"] for e in result.data["stopped"]}
    room.launched("eagle3", keeper, more={**gone, "keeper": {"pid": min(stranger), "start": 1}})
    assert Status.OK == run_step("stop_server", QUICK, target=room).result.status
    assert [True] * 3 == room.alive(keeper, *stranger)


def test_a_group_that_the_launch_did_not_make_is_not_taken_whole(room):
    """The server was started in a shell's group: the shell's other jobs live."""
    shell, job, server = sorted(room.act("--session", "--children", "2", tells=3))
    state = room.launched("eagle3", server)
    result = run_step("stop_server", QUICK, target=room).result
    assert shell == state["pgid"] or state["pgid"] != server
    assert ([server], [True, True]) == (result.data["pids"], room.alive(shell, job))


def test_the_main_process_is_asked_before_the_rest(room):
    """Children of a main process that drains get their TERM only when it has gone."""
    main, *children = sorted(room.act("--session", "--linger", "50", "--children", "2", tells=3))
    room.launched("eagle3", main)
    result = run_step("stop_server", {**QUICK, "grace": 5}, target=room).result
    ended = {entry["pid"]: entry["seconds"] for entry in result.data["stopped"]}
    assert {main: "TERM", children[0]: "TERM", children[1]: "TERM"} == how(result)
    assert [True, True] == [ended[main] <= ended[child] for child in children]
    assert ["TERM to the main process", "TERM to the rest of it"] == list(
        dict.fromkeys(told["phase"] for told in room.progress)
    ) or room.progress[0]["phase"] == "TERM to the main process"


def test_graceful_false_kills_at_once(room):
    pid = room.act("--title", "sglang::scheduler_TP0", "--linger", "60000")[0]
    result = run_step("stop_server", {**QUICK, "graceful": False}, target=room).result
    assert {pid: "KILL"} == how(result)


def test_the_listener_of_the_port_is_part_of_it_unless_it_is_the_machines_own(room):
    port, other = 20000 + os.getpid() % 20000, 40001 + os.getpid() % 20000
    tokenizer = room.act("--listen", str(port))[0]
    proxy = room.act("--title", "nginx: master process", "--comm", "nginx", "--listen", str(other))[0]
    result = run_step("stop_server", {**QUICK, "port": port}, target=room).result
    assert {tokenizer: f"listens on port {port}"} == {e["pid"]: e["why"] for e in result.data["stopped"]}
    result = run_step("stop_server", {**QUICK, "port": other}, target=room).result
    assert (Status.OK, ["protected: nginx"]) == (result.status, [e["spared"] for e in result.data["spared"]])
    assert [True] == room.alive(proxy)


def test_holders_in_the_container_are_part_of_it_and_can_be_limited(room):
    """Old workers show only `spawn_main`: no title, no launch, but they map the device."""
    held = [room.act("--leave", "--map", room.device(n), "4096", "--", "python", "spawn_main")[0] for n in range(3)]
    watcher = room.act("--open", room.device(0))[0]
    none = run_step("stop_server", {**QUICK, "holders": False}, target=room).result
    some = run_step("stop_server", {**QUICK, "gpus": [1]}, target=room).result
    rest = run_step("stop_server", QUICK, target=room).result
    assert ([], held[1:2], [held[0], held[2]]) == tuple(each.data["pids"] for each in (none, some, rest))
    assert {"holds GPU 0", "holds GPU 2"} == {entry["why"] for entry in rest.data["stopped"]}
    assert [True] == room.alive(watcher)


def test_protected_names_other_servers_and_namespaces_below_are_spared(room):
    jupyter = room.act("--comm", "jupyter-lab", "--children", "1", "--map", room.device(0), "4096", tells=2)
    other = room.act("--session", "--title", "sglang::scheduler_TP1")
    room.launched("other", other[0])
    inner = room.act("--title", "sglang::scheduler_TP2", prefix=("unshare", "--pid", "--fork", "--kill-child"))
    mine = room.act("--title", "sglang::scheduler_TP0")
    result = run_step("stop_server", {**QUICK, "protect": ["jupyter-lab"]}, target=room).result
    assert mine == result.data["pids"]
    reasons = {entry["spared"] for entry in result.data["spared"]}
    assert {"protected by name", "belongs to the server other"} == reasons
    assert [True] * 3 == room.alive(*jupyter, *other)
    assert inner == [1]


def test_patterns_of_ones_own_and_no_engine_at_all(room):
    mine = room.act("--title", "my-engine::rank0")
    theirs = room.act("--title", "sglang::scheduler_TP0")
    arguments = {**QUICK, "engine": "none", "match": {"titles": "my-engine::"}}
    result = run_step("stop_server", arguments, target=room).result
    assert (mine, [True]) == (result.data["pids"], room.alive(*theirs))


def test_ray_is_only_looked_for_when_it_is_named(room):
    pids = room.act("--title", "ray::IDLE")
    default = run_step("stop_server", QUICK, target=room).result
    named = run_step("stop_server", {**QUICK, "engine": ["ray"]}, target=room).result
    assert ([], pids) == (default.data["pids"], named.data["pids"])


def test_the_state_file_says_that_the_end_was_asked_for(room):
    pid = room.act("--session", "--ignore-term")[0]
    room.launched("eagle3", pid)
    run_step("stop_server", {**QUICK, "graceful": False}, target=room)
    state = room.call("server_state.show", {"name": "eagle3"}, deadline=5, read_only=True)["state"]
    assert (pid, True) == (state["pid"], state["stopped_at"] > state["launched_at"])


@pytest.mark.slow
def test_what_is_started_again_and_again_fails_with_who_does_it(room):
    """A supervisor that is no part of the server restarts it as often as it is ended."""
    loop = f"while :; do {room.actor_file} --title sglang::scheduler_TP0; done"
    room.spawn("/bin/sh", "-c", loop)
    time.sleep(0.05)
    result = run_step("stop_server", {**QUICK, "graceful": False, "kill_within": 3}, target=room).result
    assert (Status.FAILED, 2) == (result.status, result.exit_code)
    assert "it is started again by pid" in result.data["msg"] and "/bin/sh -c while" in result.data["msg"]


@pytest.mark.slow
def test_diagnose_saves_what_each_was_doing_before_it_is_ended(room):
    log = room.folder / "server.log"
    log.write_text("loading\r 50%\r100%\nready\n")
    room.smi(count=1)
    waiting = room.act("--title", "sglang::scheduler_TP0")[0]
    busy = room.act("--title", "sglang::scheduler_TP1", "--spin", "--ignore-term")[0]
    arguments = {**QUICK, "diagnose": True, "log": str(log)}
    foretold = run_step("stop_server", arguments, target=room, check=True).result
    result = run_step("stop_server", arguments, target=room).result
    found = {entry["pid"]: entry["verdict"].partition(",")[0] for entry in result.data["diagnosis"]["processes"]}
    assert {waiting: "waits", busy: "uses CPU"} == found
    assert ["loading", " 50%", "100%", "ready"] == result.data["diagnosis"]["log"]
    assert [75.12] == [gpu["power_w"] for gpu in result.data["diagnosis"]["gpus"]]
    assert "processes" not in foretold.data["diagnosis"]


def test_one_that_stays_in_the_kernel_after_kill_is_the_verdict_wedged(room, freezer):
    pid = room.act("--title", "sglang::scheduler_TP3")[0]
    freezer.freeze(room, pid)
    result = run_step("stop_server", {**QUICK, "kill_within": 0.3}, target=room).result
    assert (Status.FAILED, 6) == (result.status, result.exit_code)
    assert f"{pid} sglang::scheduler_TP3 cannot be ended" in result.data["msg"]
    left = result.data["remaining"][0]
    assert (pid, "D", True) == (left["pid"], left["state"], left["kill_pending"])


@pytest.mark.parametrize("engine", ["sglagn", ["vllm", "trition"]])
def test_an_unknown_engine_is_refused_before_a_host_is_touched(engine):
    from cleanslate.steps.stop_server import STEP

    problems = STEP.check({"engine": engine})
    assert [("engine", True)] == [(name, "did you mean" in fix) for name, _, fix in problems]


@pytest.mark.slow
def test_processes_that_cannot_be_looked_into_are_said(rooms):
    """Without the right to look, "nothing holds a GPU" would be a guess."""
    from cleanslate.runner.apply import apply_step, validate
    from cleanslate.steps.stop_server import STEP
    from tests.steps.harness import Context

    drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    room = rooms(before=["/bin/sh", "-c", 'sleep 600 & exec "$@"', "sh", *drop])
    context = Context(room)
    apply_step(STEP, validate(STEP, QUICK), context, room, check=False)
    assert ["whether 1 processes of other users hold a GPU is unknown without `become: true`"] == context.warnings


def test_the_engines_that_the_step_knows_are_those_of_the_target():
    from cleanslate.remote.engines import ENGINES
    from cleanslate.steps.stop_server import STEP

    assert [] == STEP.check({"engine": [*ENGINES, "none"]})
