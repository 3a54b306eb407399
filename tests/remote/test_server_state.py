"""The state file of a launched server: written whole, read by anybody who may, and never believed about strangers."""

import os
import subprocess
import sys

import pytest

from cleanslate.remote import processes, server_state
from cleanslate.remote.registry import Call, Failed


@pytest.fixture(autouse=True)
def state_home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def state_of(pid, **more):
    now = processes.look(pid)
    known = {"boot_id": server_state.boot_id(), "pid_namespace": server_state.pid_namespace()}
    return {"name": "eagle3", "pid": pid, "start": now.start, "pgid": now.pgid, **known, **more}


def test_what_is_written_is_read_back(state_home):
    state = state_of(os.getpid(), argv=["python", "-m", "sglang"], unknown_key={"kept": True})
    written = server_state.write(state)
    assert state_home / "cleanslate" / "servers" / "eagle3.json" == written
    assert state == server_state.read("eagle3")
    assert ["eagle3"] == server_state.names()
    assert 0o600 == written.stat().st_mode & 0o777


def test_a_server_nobody_launched_is_none_and_not_an_error():
    assert server_state.read("nobody") is None
    assert [] == server_state.names()


def test_a_second_write_replaces_the_first_and_leaves_nothing_beside_it(state_home):
    server_state.write(state_of(os.getpid(), port=1))
    server_state.write(state_of(os.getpid(), port=2))
    assert 2 == server_state.read("eagle3")["port"]
    assert ["eagle3.json"] == [entry.name for entry in (state_home / "cleanslate" / "servers").iterdir()]


def test_removing_says_whether_there_was_one():
    server_state.write(state_of(os.getpid()))
    assert [True, False] == [server_state.remove("eagle3"), server_state.remove("eagle3")]


@pytest.mark.parametrize("name", ["", "../etc/passwd", "a/b", ".hidden", "x" * 101, None])
def test_a_name_that_could_leave_the_folder_is_refused(name):
    with pytest.raises(Failed) as refused:
        server_state.path(name)
    assert "wrong" == refused.value.kind


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": "eagle3"}'])
def test_a_damaged_state_file_is_named_and_not_taken_for_absent(text):
    place = server_state.path("eagle3")
    place.parent.mkdir(parents=True)
    place.write_text(text)
    with pytest.raises(Failed) as refused:
        server_state.read("eagle3")
    assert str(place) in refused.value.message


def test_our_own_process_is_alive_by_its_state():
    assert server_state.alive(state_of(os.getpid()))


@pytest.mark.parametrize(
    "lie", [{"start": 1}, {"boot_id": "another-boot"}, {"pid_namespace": "pid:[1]"}], ids=lambda lie: next(iter(lie))
)
def test_a_pid_that_now_belongs_to_a_stranger_is_not_alive(lie):
    assert not server_state.alive({**state_of(os.getpid()), **lie})


def test_a_zombie_is_not_alive():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    state = state_of(child.pid)
    before = server_state.alive(state)
    child.stdin.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert (True, False) == (before, server_state.alive(state))
    child.wait()


def test_the_call_shows_state_and_life_together():
    server_state.write(state_of(os.getpid()))
    shown = server_state.show(Call(), name="eagle3")
    assert (True, True, os.getpid()) == (shown["exists"], shown["alive"], shown["state"]["pid"])
    absent = server_state.show(Call(), name="other")
    assert (False, False, None) == (absent["exists"], absent["alive"], absent["state"])
