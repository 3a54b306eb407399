"""Waits on the target: for ports, paths, texts, and connections to end."""

import os
import socket
import threading
import time

import pytest

from cleanslate.remote import net
from cleanslate.remote.registry import Call, Failed

STATES = ["ESTABLISHED", "FIN_WAIT1", "FIN_WAIT2", "SYN_RECV", "SYN_SENT", "TIME_WAIT"]


def wait(state="started", timeout=5.0, call=None, **options):
    given = {
        "host": "127.0.0.1", "port": None, "path": None, "search_regex": None, "connect_timeout": 1.0, "sleep": 0.01,
        "exclude_hosts": None, "states": STATES, "text": "waiting", **options,
    }  # fmt: skip
    return net.wait_for(call or Call(), state, timeout, **given)


@pytest.fixture
def listener():
    with socket.socket() as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(("127.0.0.1", 0))
        yield made


def port_of(listener):
    return listener.getsockname()[1]


def later(what, seconds=0.05):
    thread = threading.Timer(seconds, what)
    thread.start()
    return thread


def test_a_port_that_opens_ends_the_wait(listener):
    opening = later(listener.listen)
    found = wait(port=port_of(listener))
    opening.join()
    assert (found["met"], found["elapsed"] < 1) == (True, True)


def test_a_port_that_closes_ends_the_wait(listener):
    listener.listen()
    closing = later(listener.close)
    found = wait("stopped", port=port_of(listener))
    closing.join()
    assert found["met"]


def test_a_port_must_say_what_is_searched(listener):
    listener.listen()

    def greet():
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"220 ma")
            time.sleep(0.02)
            connection.sendall(b"il.example ready\r\n")

    greeting = threading.Thread(target=greet)
    greeting.start()
    found = wait(port=port_of(listener), search_regex=r"^220 (\S+) (?P<word>\w+)")
    greeting.join()
    assert (found["match_groups"], found["match_groupdict"]) == (["mail.example", "ready"], {"word": "ready"})


def test_a_port_that_says_something_else_is_waited_for_until_the_end(listener):
    listener.listen()
    ended = threading.Event()

    def greet():
        listener.settimeout(0.05)
        while not ended.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                continue
            with connection:
                connection.sendall(b"no\n")

    greeting = threading.Thread(target=greet)
    greeting.start()
    found = wait(port=port_of(listener), search_regex="yes", timeout=0.2)
    ended.set()
    greeting.join()
    assert not found["met"]


def test_connections_are_counted_until_the_last_has_left_time_wait(listener):
    """Who closes first keeps the connection in TIME_WAIT: that is not drained, unless it is not to be counted."""
    listener.listen()
    client = socket.create_connection(("127.0.0.1", port_of(listener)))
    served, _ = listener.accept()
    open_now = wait("drained", port=port_of(listener), timeout=0.05)
    served.close()
    client.close()
    in_time_wait = wait("drained", port=port_of(listener), timeout=0.05)
    others = wait("drained", port=port_of(listener), timeout=0.05, states=["ESTABLISHED"])
    left_out = wait("drained", port=port_of(listener), timeout=0.05, exclude_hosts=["127.0.0.1"])
    assert [one["met"] for one in (open_now, in_time_wait, others, left_out)] == [False, False, True, True]
    assert (open_now["connections"], in_time_wait["connections"]) == (1, 1)


def test_a_path_that_appears_and_one_that_goes(tmp_path):
    path = tmp_path / "f"
    making = later(path.touch)
    there = wait("present", path=str(path))
    making.join()
    removing = later(path.unlink)
    gone = wait("absent", path=str(path))
    removing.join()
    assert there["met"] and gone["met"]


def test_a_text_that_is_written_at_last(tmp_path):
    path = tmp_path / "log"
    path.write_text("loading\n")

    def write():
        with path.open("a") as file:
            file.write("ready on 30000\n")

    writing = later(write)
    found = wait(path=str(path), search_regex=r"ready on (\d+)")
    writing.join()
    assert found["match_groups"] == ["30000"]


def test_it_tells_how_long_it_has_waited_and_less_often_the_longer_it_takes(tmp_path, monkeypatch):
    """Of fifty hosts that wait, each report is work for the controller; that they still wait it knows."""
    monkeypatch.setattr(net, "_TOLD", 0.02)
    call, told = Call(), []
    call.progress = lambda **facts: told.append(facts)
    wait(path=str(tmp_path / "never"), timeout=0.1, call=call)
    assert told[0]["text"] == "waiting"
    assert [one["of"] for one in told] == [0.1] * len(told)
    assert 1 <= len(told) <= 2


def test_a_call_that_is_cancelled_stops_waiting(tmp_path):
    call = Call()
    cancelling = later(call.cancelled.set)
    found = wait(path=str(tmp_path / "never"), timeout=60, call=call)
    cancelling.join()
    assert (found["met"], found["elapsed"] < 5) == (False, True)


def test_the_deadline_of_the_call_ends_the_wait(tmp_path):
    assert not wait(path=str(tmp_path / "never"), timeout=60, call=Call(left=0))["met"]


@pytest.mark.parametrize(
    ("options", "words"), [({"search_regex": "("}, "regular"), ({"host": "no such"}, "no host name")]
)
def test_what_cannot_be_waited_for_is_refused(options, words):
    with pytest.raises(Failed, match=words):
        wait("drained", port=1, **options)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0100007F", "127.0.0.1"),
        ("0000000000000000FFFF00000100007F", "127.0.0.1"),
        ("00000000000000000000000001000000", "::1"),
        ("000080FE00000000FF00FC020100FEFF", "fe80::2fc:ff:fffe:1"),
    ],
)
def test_an_address_of_the_kernels_table_is_read(text, expected):
    assert os.sys.byteorder == "little"
    assert net._address(text) == expected
