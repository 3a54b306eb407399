"""What the agent has in place of slow imports: the same as the library's, and nothing slow is imported at its start."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleanslate.remote import locks, quick_json

ROOT = Path(__file__).resolve().parents[2]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_both_ways_agree_with_the_library(value):
    text = quick_json.dumps(value)
    assert (value, value) == (json.loads(text), quick_json.loads(json.dumps(value).encode()))


@given(VALUES)
def test_the_fallback_writes_the_same(value):
    loads, dumps = quick_json._slow()
    assert (value, quick_json.dumps(value)) == (loads(dumps(value)), dumps(value))


@pytest.mark.parametrize("text", ["", "  ", "{", "nothing", "{} {}", '{"a" 1}', b"\xff"])
def test_what_is_no_json_is_a_value_error(text):
    with pytest.raises(ValueError):
        quick_json.loads(text)


def test_what_json_cannot_hold_is_refused_as_by_the_library():
    with pytest.raises(TypeError, match="Object of type set is not JSON serializable"):
        quick_json.dumps({"a": {1}})


def test_a_condition_wakes_all_who_wait():
    changed, woken = locks.Condition(), []
    held = False

    def wait(number):
        with changed:
            woken.append((number, changed.wait_for(lambda: held, 10)))

    threads = [threading.Thread(target=wait, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    with changed:
        held = True
        changed.notify_all()
    for thread in threads:
        thread.join(10)
    assert [(0, True), (1, True), (2, True)] == sorted(woken)


def test_waiting_for_what_does_not_come_ends():
    changed, event = locks.Condition(), locks.Event()
    with changed:
        told = (changed.wait(0.01), changed.wait(-1), changed.wait_for(lambda: False, 0.01))
    assert (False, False, False, False) == (*told, event.wait(0.01))


def test_an_event_that_has_happened_is_not_waited_for():
    event = locks.Event()
    locks.start(lambda: (time.sleep(0.02), event.set()))
    assert (True, True, True) == (event.wait(10), event.wait(), event.is_set())


def test_an_agent_that_runs_a_command_under_a_lease_imports_nothing_slow(tmp_path):
    """Each of these takes about as long to import as starting Python does."""
    text = (
        f"import sys, os; sys.path.insert(0, {str(ROOT)!r}); os.environ['CLEANSLATE_LEASES'] = {str(tmp_path)!r}\n"
        "from cleanslate.remote import agent, command, leases, presence\n"
        "from cleanslate.remote.registry import Call\n"
        "wish = dict(run='r', who='w', playbook='p', step='s', since=1.0, resources=['host'])\n"
        "leases.hold(Call(), dict(wish, **{'from': 'f'}))\n"
        "assert command.run(Call(), argv=['true'])['rc'] == 0\n"
        "presence.gpus(Call())\n"
        "leases.let_go('ok')\n"
        "slow = {'json', 'subprocess', 'threading', 'collections', 're', 'enum', 'signal', 'contextlib', 'shutil'}\n"
        "print(sorted(slow & sys.modules.keys()))\n"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", text], capture_output=True, text=True, check=True)
    assert "[]\n" == done.stdout
