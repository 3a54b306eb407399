"""launch_server: looks first, launches apart from us, knows the same from another, and tells how a launch ended."""

import json
import os
import pwd
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from cleanslate.errors import InputError
from cleanslate.model import Status
from cleanslate.remote import launch_spec, processes, server_state
from cleanslate.runner.apply import apply_step, validate
from cleanslate.steps.registry import step_type
from tests.steps.harness import Context, DirectTarget, run_step
from tests.steps.server_fixtures import wait_until

SLEEP = ["/bin/sleep", "60"]


def launch(serving, **more):
    return serving.launch(**{"argv": SLEEP, "engine": None, "settle": 0, **more})


def said(serving, code, **more):
    """What a Python program says in the log of its launch, as JSON."""
    text = f"import json, os, sys\nprint(json.dumps({code}), flush=True)\nimport time; time.sleep(60)"
    assert Status.CHANGED == launch(serving, argv=[sys.executable, "-c", text], **more).status
    assert wait_until(lambda: serving.log.read_text().endswith("\n"))
    return json.loads(serving.log.read_text())


def warnings_of(serving, *, check=True, **arguments):
    """The warnings that launch_server gives."""
    given = {"name": "eagle3", "log": str(serving.log), "settle": 0, **arguments}
    context = Context(DirectTarget())
    found = step_type("launch_server")
    apply_step(found, validate(found, given), context, context.target, check=check)
    return context.warnings


def test_it_runs_apart_from_us_with_its_streams_away_from_the_channel(serving):
    result = launch(serving)
    assert Status.CHANGED == result.status
    pid = result.data["pid"]
    server = processes.look(pid)
    assert (pid, pid) == (server.pgid, server.sid)
    assert os.getsid(0) not in (server.sid, processes.look(server.ppid).sid)
    streams = {entry.name: str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()}
    assert {"0": "/dev/null", "1": result.data["log"], "2": result.data["log"]} == streams


def test_the_state_file_says_everything_that_stopping_needs(serving):
    result = launch(serving, port=31999)
    state = serving.state()
    assert (result.data["pid"], processes.look(state["pid"]).start) == (state["pid"], state["start"])
    assert (state["pid"], state["pid"], SLEEP, 31999) == (state["pgid"], state["sid"], state["argv"], state["port"])
    assert result.data["log"] == state["log"]
    assert server_state.alive(state)


def test_the_same_again_is_ok_and_unchanged(serving):
    first = launch(serving, env={"A": "1"})
    again = launch(serving, env={"A": "1"})
    assert (Status.OK, first.data["pid"]) == (again.status, again.data["pid"])


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"argv": ["/bin/sleep", "61"]}, "program: /bin/sleep 60 -> /bin/sleep 61"),
        ({"env": {"A": "2"}}, "environment: A has another value"),
        ({"env": {"A": "1", "B": "2"}}, "environment: B is new"),
        ({"env": {}}, "environment: A is gone"),
        ({"chdir": "/"}, "chdir: "),
        ({"nice": 3}, "nice: 0 -> 3"),
    ],
)
def test_a_different_one_is_refused_and_says_what_differs(serving, change, difference):
    first = launch(serving, env={"A": "1"})
    other = launch(serving, **{"env": {"A": "1"}, **change})
    assert (Status.FAILED, "running") == (other.status, other.data["kind"])
    assert difference in other.data["msg"]
    assert "replace: true" in other.fix
    assert server_state.alive(serving.state()), first


def test_options_differ_by_name_and_keys_stay_hidden():
    before = ["python", "-m", "sglang.launch_server", "--tp", "8", "--context-length", "131072", "--api-key", "abc"]
    after = ["python", "-m", "sglang.launch_server", "--tp", "8", "--context-length=262144", "--api-key", "def", "--x"]
    found = launch_spec.differences({"identity": {"argv": before}}, {"argv": after})
    expected = ["--api-key: (hidden) -> (hidden)", "--context-length: 131072 -> 262144", "--x: not there -> there"]
    assert expected == found


@pytest.mark.slow
def test_one_that_something_else_started_under_this_name_is_not_taken_for_the_same(serving):
    launch(serving)
    state = serving.state()
    del state["identity"]
    server_state.write(state)
    result = launch(serving)
    assert (Status.FAILED, "running") == (result.status, result.data["kind"])
    assert "started by something else" in result.data["msg"]
    assert Status.CHANGED == launch(serving, replace=True).status


@pytest.mark.slow
def test_replace_ends_the_old_one_first_and_lets_it_drain(serving):
    serving.launch("--fault", "drains")
    assert wait_until(lambda: "fired up" in serving.log.read_text())
    old_log = Path(serving.state()["log"])
    result = launch(serving, replace=True)
    assert Status.CHANGED == result.status, result
    assert "SIGTERM received, draining" in old_log.read_text()
    assert SLEEP == serving.state()["argv"]
    assert {"TERM"} >= {each["how"] for each in result.data["replaced"] if each["main"]}
    assert all(processes.look(each["pid"]) is None for each in result.data["replaced"])


@pytest.mark.slow
def test_it_outlives_the_process_that_launched_it_and_that_ones_group(serving):
    """The launching process is killed with its whole group, as sshd does with what a lost connection leaves."""
    code = (
        "import os, signal; from tests.steps.harness import run_step\n"
        f"run_step('launch_server', {{'name': 'eagle3', 'argv': {SLEEP!r}, 'settle': 0}})\n"
        "os.killpg(0, signal.SIGKILL)"
    )
    repository = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=repository, start_new_session=True, check=False)
    assert -signal.SIGKILL == done.returncode
    assert server_state.alive(serving.state())


@pytest.mark.slow
def test_its_keeper_takes_in_what_leaves_the_tree_and_ends_with_the_last_of_it(serving):
    orphan = "import os, time\nif os.fork(): os._exit(5)\nos.setsid(); print(os.getpid(), flush=True); time.sleep(60)"
    result = launch(serving, argv=[sys.executable, "-c", orphan])
    pid = result.data["pid"]
    assert wait_until(lambda: processes.look(pid) is None and serving.log.read_text().strip())
    keeper = serving.state()["keeper"]["pid"]
    left = int(serving.log.read_text())
    assert keeper == processes.look(left).ppid
    written = serving.folder / "cleanslate" / "servers" / "eagle3.end"
    assert wait_until(written.exists)
    end = json.loads(written.read_text())
    assert (5, pid) == (end["code"], end["pid"])
    os.kill(left, signal.SIGKILL)
    assert wait_until(lambda: processes.look(keeper) is None)


@pytest.mark.parametrize(
    ("command", "message", "fix"),
    [
        ("echo hello; echo 'no such model' >&2; exit 3", "ended with exit code 3", None),
        ("kill -BUS $$", "signal 7 (SIGBUS)", "/dev/shm"),
        ("exit 139", "exit code 139 (128 + 11, SIGSEGV)", "native code"),
        ("nowhere-to-be-found", "exit code 127", "not found"),
        ("sglang --no-such-flag; exit 2", "exit code 2", "wrong option"),
    ],
)
def test_dying_in_the_first_moment_fails_the_step_with_exit_code_and_log(serving, command, message, fix):
    result = launch(serving, argv=None, command=command, settle=10)
    assert (Status.FAILED, "died") == (result.status, result.data["kind"])
    assert message in result.data["msg"]
    assert fix is None or fix in result.fix
    if "hello" in command:
        assert ["hello", "no such model"] == result.data["log_tail"]


def test_what_cannot_be_executed_is_told_by_the_child_that_tried(serving):
    place = serving.folder / "not-a-program"
    place.write_bytes(b"\x00\x01")
    place.chmod(0o755)
    result = launch(serving, argv=[str(place)])
    assert (Status.FAILED, "started") == (result.status, result.data["kind"])
    assert "Exec format error" in result.data["msg"]
    assert serving.state() is None


def test_check_mode_starts_nothing_and_writes_nothing(serving):
    result = launch(serving, check=True)
    assert (Status.CHANGED, None) == (result.status, result.data["pid"])
    assert [] == list(serving.folder.iterdir())
    assert "/bin/sleep\n60\n" in result.diffs[0].after


def test_the_diff_shows_what_changes_and_no_secrets(serving):
    launch(serving, argv=["/bin/sleep", "60"], env={"HF_TOKEN": "hf_abc", "NCCL_DEBUG": "WARN"})
    argv = ["/bin/sleep", "61", "--api-key", "sesame"]
    env = {"HF_TOKEN": "hf_abc", "NCCL_DEBUG": "INFO"}
    diff = launch(serving, check=True, argv=argv, env=env, replace=True).diffs[0]
    assert ["NCCL_DEBUG=(another value)", "NCCL_DEBUG=INFO"] == [
        line for text in (diff.before, diff.after) for line in text.splitlines() if line.startswith("NCCL")
    ]
    assert not {"hf_abc", "sesame"} & set(diff.before.split() + diff.after.split())


# --------------------------------------------------------------------------- what it gives the server


def test_the_environment_is_explicit_and_free_of_the_session(serving, monkeypatch):
    monkeypatch.setenv("SSH_CONNECTION", "1.2.3.4")
    monkeypatch.setenv("KEPT_BY_LOGIN", "yes")
    env = said(serving, "dict(os.environ)", env={"NCCL_DEBUG": "INFO", "NUMBER": 5})
    given = {name: env.get(name) for name in ("NCCL_DEBUG", "NUMBER", "PYTHONUNBUFFERED", "KEPT_BY_LOGIN")}
    assert {"NCCL_DEBUG": "INFO", "NUMBER": "5", "PYTHONUNBUFFERED": "1", "KEPT_BY_LOGIN": "yes"} == given
    assert "SSH_CONNECTION" not in env


def test_the_steps_environment_lies_under_env(serving):
    given = {"name": "eagle3", "argv": SLEEP, "env": {"A": "own"}, "settle": 0}
    run_step("launch_server", given, environment={"A": "step", "B": "step"})
    environ = Path(f"/proc/{serving.state()['pid']}/environ").read_bytes().split(b"\0")
    assert {b"A=own", b"B=step"} <= set(environ)


@pytest.mark.slow
def test_folder_niceness_limits_and_signals_are_set(serving):
    code = (
        "[os.getcwd(), os.nice(0), __import__('resource').getrlimit(7)[0], "
        "__import__('signal').getsignal(13).name, __import__('signal').getsignal(1).name]"
    )
    folder = str(serving.folder)
    told = said(serving, code, chdir=folder, nice=os.nice(0) + 2, limits={"nofile": 123})
    assert [folder, os.nice(0) + 2, 123] == told[:3]
    assert "SIG_DFL" == told[4]


def test_another_user_is_for_root_alone(serving):
    other = "nobody" if os.geteuid() == 0 else "root"
    result = launch(serving, argv=["/bin/sh", "-c", "id -un; echo $HOME; exec sleep 60"], user=other, chdir="/")
    if os.geteuid() == 0:
        assert wait_until(lambda: serving.log.read_text().count("\n") == 2)
        assert ["nobody", pwd.getpwnam("nobody").pw_dir] == serving.log.read_text().split()
    else:
        assert "only root can launch as root" in result.data["msg"]


@pytest.mark.slow
def test_each_launch_has_its_own_log_and_the_newest_is_linked(serving):
    serving.log.parent.mkdir()
    serving.log.write_text("from before\n")
    given = {"replace": True, "keep_logs": 3}
    names = [launch(serving, argv=["/bin/sleep", f"{60 + number}"], **given).data["log"] for number in range(4)]
    assert names[-1] == str(serving.log.resolve())
    assert sorted([*names[-3:], str(serving.log)]) == sorted(str(path) for path in serving.log.parent.iterdir())


# --------------------------------------------------------------------------- what it looks at first


def test_a_taken_port_names_its_holder_and_nothing_is_bound(serving):
    with socket.create_server(("127.0.0.1", serving.port)):
        result = launch(serving, port=serving.port)
    assert (Status.FAILED, "preflight") == (result.status, result.data["kind"])
    assert f"port {serving.port} is taken by pid {os.getpid()} (" in result.data["msg"]
    assert serving.state() is None


def test_a_port_that_the_command_contradicts_is_refused(serving):
    result = serving.launch(port=serving.port + 1)
    assert f"port is {serving.port + 1}, and the command says {serving.port}" in result.data["msg"]


def test_secrets_on_the_command_line_are_redacted_from_then_on(serving):
    context = Context(DirectTarget())
    env = {"HF_TOKEN": "hf_abcdefgh", "TOKENIZERS_PARALLELISM": "falsefalse", "X_KEY": "short"}
    argv = ["/bin/true", "--api-key", "sesame-open", "--hf-token=hf_12345678", "--tokenizer-path", "/models/long"]
    arguments = step_type("launch_server").arguments.model_validate({"name": "x", "argv": argv, "env": env})
    next(step_type("launch_server").behave(arguments, context))
    assert ["hf_abcdefgh", "sesame-open", "hf_12345678"] == context.secrets


def test_a_connection_in_time_wait_does_not_take_the_port(serving):
    with socket.create_server(("127.0.0.1", serving.port)) as door:
        client = socket.create_connection(door.getsockname())
        accepted, _ = door.accept()
        accepted.close()
        client.close()
    assert Status.CHANGED == launch(serving, port=serving.port).status


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ({"argv": ["/nowhere/python"]}, "program", "/nowhere/python does not exist"),
        ({"argv": ["no-such-command"]}, "program", "there is no command no-such-command in "),
        ({"argv": ["{tmp}/plain"]}, "program", "{tmp}/plain may not be executed"),
        ({"argv": ["{tmp}/moved"]}, "program", "begins with #!/gone/bin/python3, which does not exist"),
        ({"chdir": "{tmp}/nowhere"}, "chdir", "there is no folder {tmp}/nowhere to start in"),
        ({"log": "{tmp}/plain/x.log"}, "log", "{tmp}/plain is no folder"),
        ({"log": "{tmp}"}, "log", "is a folder"),
        ({"preflight": {"shm_mib": 1 << 40}}, "shm", "/dev/shm has only"),
        ({"preflight": {"disk_mib": 1 << 40}}, "disk", "MiB are free for the log"),
    ],
)
def test_what_would_fail_later_is_refused_before_the_fork(serving, arguments, code, message):
    (serving.folder / "plain").write_text("text")
    moved = serving.folder / "moved"
    moved.write_text("#!/gone/bin/python3\n")
    moved.chmod(0o755)
    filled = json.loads(json.dumps(arguments).replace("{tmp}", str(serving.folder)))
    result = launch(serving, **filled)
    assert (Status.FAILED, [code]) == (result.status, [each["code"] for each in result.data["findings"]])
    assert message.replace("{tmp}", str(serving.folder)) in result.data["msg"]
    assert serving.state() is None


def test_check_mode_turns_what_stands_in_the_way_into_warnings(serving):
    """An earlier step may well remove it, and check mode cannot know."""
    with socket.create_server(("127.0.0.1", serving.port)):
        warned = warnings_of(serving, argv=SLEEP, port=serving.port)
    assert [True] == [f"port {serving.port} is taken" in text for text in warned]


def test_check_mode_foretells_a_launch_where_the_running_one_would_have_been_stopped(serving):
    """The same server runs now; whether it will depends on what the steps before were foretold to do."""
    launch(serving)
    found = step_type("launch_server")
    given = {"name": "eagle3", "log": str(serving.log), "settle": 0, "argv": SLEEP}
    told = {}
    for before in ("patch_config", "stop_server"):
        context = Context(DirectTarget())
        context.foretold = {before}
        told[before] = apply_step(found, validate(found, given), context, context.target, check=True).result.status
    assert {"patch_config": Status.OK, "stop_server": Status.CHANGED} == told


def test_workers_that_outlived_their_launcher_stand_in_the_way(serving):
    """The launcher is killed; its worker, in its group, lives on and would keep the GPUs (vllm#55510)."""
    code = "import os, time\npid = os.fork()\ntime.sleep(60)"
    launch(serving, argv=[sys.executable, "-c", code])
    state = serving.state()
    assert wait_until(lambda: [each for each in processes.table().values() if each.ppid == state["pid"]])
    os.kill(state["pid"], signal.SIGKILL)
    assert wait_until(lambda: processes.look(state["pid"]) is None)
    result = launch(serving, argv=[*SLEEP])
    assert ["leftovers"] == [each["code"] for each in result.data["findings"]]
    assert "live on without it" in result.data["msg"]


def test_two_launches_of_one_name_at_once_are_told_apart(serving):
    import fcntl

    place = server_state.path("eagle3").with_suffix(".lock")
    place.parent.mkdir(parents=True)
    with place.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = launch(serving)
    assert (Status.FAILED, "busy") == (result.status, result.data["kind"])


def test_the_sitecustomize_that_really_wins_is_told(serving):
    (serving.folder / "sitecustomize.py").write_text("")
    argv = [sys.executable, "-c", "import time; time.sleep(60)"]
    result = launch(serving, argv=argv, env={"PYTHONPATH": str(serving.folder)})
    assert str(serving.folder / "sitecustomize.py") == result.data["python"]["sitecustomize"]
    assert ".".join(map(str, sys.version_info[:3])) == result.data["python"]["version"]


@pytest.mark.slow
def test_many_launches_in_a_day_are_told_as_no_repair(serving):
    for number in range(2):
        launch(serving, argv=["/bin/sleep", f"{60 + number}"], replace=True)
    warned = warnings_of(serving, check=False, argv=SLEEP, replace=True)
    assert ["this is launch 3 of eagle3 in 24 hours: a restart is not a repair"] == warned


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "../x"}, "letters, digits, dots and dashes"),
        ({"engine": "vlm"}, 'did you mean "vllm"?'),
        ({"limits": {"nofiles": 1}}, 'did you mean "nofile"?'),
        ({"argv": []}, "at least 1 item"),
        ({"via": "tmux"}, "'setsid'"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments, message):
    with pytest.raises(InputError) as refused:
        run_step("launch_server", {"name": "x", "argv": SLEEP, **arguments})
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("literal", "argument"),
    [({"name": "a b"}, "name"), ({"engine": "x"}, "engine"), ({"argv": "python -m x"}, "argv")],
)
def test_mistakes_are_found_before_a_host_is_touched(literal, argument):
    assert [argument] == [found[0] for found in step_type("launch_server").check(literal)]


@pytest.mark.slow
def test_the_last_good_specification_is_launched_again(serving):
    """Command, environment and log of the last launch that served, though another has failed since."""
    serving.launch("--tp", 1, env={"NOTE": "good", "HF_TOKEN": "hf_not_for_others"})
    serving.wait()
    good = serving.state()
    serving.end()
    died = serving.launch("--fault", "dies-in-load", "--tp", 1, replace=True, settle=3)
    back = run_step("launch_server", {"name": "eagle3", "specification": "last-good", "settle": 0.05})
    state = serving.state()
    environ = Path(f"/proc/{state['pid']}/environ").read_bytes().split(b"\0")
    assert (Status.FAILED, Status.CHANGED) == (died.status, back.result.status)
    assert (good["argv"], good["identity"], good["log_link"]) == (state["argv"], state["identity"], state["log_link"])
    assert {b"NOTE=good", b"HF_TOKEN=hf_not_for_others"} <= set(environ)
    assert "hf_not_for_others" not in str(back.result)
    again = run_step("launch_server", {"name": "eagle3", "specification": "last-good"}).result
    assert Status.OK == again.status


def test_without_a_launch_that_served_there_is_no_way_back(serving):
    """Launched is not served; and check mode says so as well."""
    serving.launch("--fault", "no-http")
    serving.end()
    given = {"name": "eagle3", "specification": "last-good"}
    results = [run_step("launch_server", given, check=check).result for check in (True, False)]
    assert [(Status.FAILED, "unknown")] * 2 == [(result.status, result.data["kind"]) for result in results]


def test_what_specifications_are_kept_is_for_nobody_else_to_read(serving):
    serving.launch(env={"HF_TOKEN": "hf_not_for_others"})
    place = serving.folder / "cleanslate" / "servers" / "eagle3.specs"
    assert (True, 0o600) == ("hf_not_for_others" in place.read_text(), place.stat().st_mode & 0o777)


def test_the_last_good_specification_takes_nothing_beside_it():
    with pytest.raises(InputError, match="env: the last good specification has its own"):
        run_step("launch_server", {"name": "x", "specification": "last-good", "env": {"A": "b"}})
