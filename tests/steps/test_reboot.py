"""reboot and wait_for_connection: only another start of the machine counts, and one that answers."""

from __future__ import annotations

import pytest

from cleanslate.errors import CallFailed, OutcomeUnknown, Unreachable
from cleanslate.model import Answer, Status
from cleanslate.steps import reboot
from tests.steps.harness import DirectTarget, run_step


class Machine(DirectTarget):
    """A machine that is scripted: what each call of a name answers, in turn; the last answer stays."""

    def __init__(self, **script):
        super().__init__()
        self.script = {name.replace("_", ".", 1): list(answers) for name, answers in script.items()}

    def call(self, name, arguments, **options):
        self.calls.append(name)
        answers = self.script[name]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return Answer(answer)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(reboot, "_FIRST_PAUSE", 0.001)
    monkeypatch.setattr(reboot, "_LONGEST_PAUSE", 0.001)


GONE = Unreachable("no route to host")
LOST = OutcomeUnknown("the connection was lost")


def machine(boots, rebooting=None, works=None):
    return Machine(
        power_boot=[each if isinstance(each, Exception) else {"boot": each} for each in boots],
        power_reboot=rebooting or [{"command": ["shutdown"]}],
        power_works=works or [{"output": "root"}],
    )


@pytest.mark.parametrize(
    ("boots", "rebooting"),
    [
        (["a", "b"], None),
        (["a", "a", GONE, GONE, "b"], None),
        (["a", LOST, GONE, "b"], [LOST]),
    ],
)
def test_it_waits_until_the_machine_has_started_anew(boots, rebooting):
    """It may answer for a while before it goes down, and the order itself may get lost on the way."""
    target = machine(boots, rebooting)
    result = run_step("reboot", {}, target=target).result
    assert (result.status, result.data["rebooted"], target.calls[-1]) == (Status.CHANGED, True, "power.works")


def test_a_machine_that_only_lost_its_connection_has_not_restarted():
    target = machine(["a", GONE, "a"])
    result = run_step("reboot", {"reboot_timeout": 0.05}, target=target).result
    assert (result.data["failed"], result.data["rebooted"]) == (True, False)
    assert "it has not restarted yet" in result.data["msg"]


def test_it_waits_until_the_test_command_works():
    target = machine(["a", "b"], works=[CallFailed("failed", "starting"), GONE, {"output": "root"}])
    assert run_step("reboot", {}, target=target).result.data["rebooted"] is True
    assert target.calls.count("power.works") == 3


def test_a_machine_that_does_not_become_ready_is_told():
    target = machine(["a", "b"], works=[CallFailed("failed", "degraded")])
    result = run_step("reboot", {"reboot_timeout": 0.02}, target=target).result
    assert (result.data["rebooted"], result.data["msg"].endswith("does not become ready: degraded")) == (True, True)


def test_check_mode_foretells_it_and_restarts_nothing():
    target = machine(["a"])
    result = run_step("reboot", {}, target=target, check=True).result
    assert (result.status, target.calls) == (Status.CHANGED, ["power.boot"])


def test_the_controllers_own_machine_is_not_restarted():
    result = run_step("reboot", {}).result
    assert (result.data["msg"], result.data["changed"]) == (
        "the target runs on this very machine, which would be restarted",
        False,
    )


def test_a_machine_without_shutdown_is_told():
    result = run_step("reboot", {"boot_time_command": "echo 1", "search_paths": ["/nowhere"]}).result
    assert result.data["msg"] == "there is no shutdown in /nowhere; give reboot_command"


@pytest.mark.parametrize("answers", [[{"data": ""}], [GONE, LOST, {"data": ""}]])
def test_the_wait_ends_with_the_first_answer(answers):
    target = Machine(facts_echo=answers)
    result = run_step("wait_for_connection", {"sleep": "1ms"}, target=target).result
    assert (result.status, len(target.calls)) == (Status.OK, len(answers))


def test_a_target_that_never_answers_is_told_with_the_last_reason():
    given = {"timeout": "20ms", "sleep": "1ms"}
    result = run_step("wait_for_connection", given, target=Machine(facts_echo=[GONE])).result
    assert (result.data["failed"], result.data["elapsed"]) == (True, 0)
    assert result.data["msg"] == "after 0.02 s here cannot be reached: no route to host"
