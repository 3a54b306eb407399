"""Every case of cases/ ends here as ansible-core ended it: the result's fields, the files, check mode, a second run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cleanslate.errors import InputError
from cleanslate.model import Status
from cleanslate.steps.registry import step_type
from tests.steps import recorded, web
from tests.steps.harness import run_step

CASES = [(step, case) for step in recorded.steps_with_cases() for case in recorded.cases_of(step)]
OUTCOMES = {step: recorded.outcomes_of(step) for step in recorded.steps_with_cases()}


@pytest.fixture(scope="module")
def address():
    with web.serve() as found:
        yield found


@pytest.fixture(autouse=True)
def usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


class Ours:
    """One case, planted twice: for check mode, and for two applies."""

    def __init__(self, step: str, case: dict, folder: Path, address: str):
        self.step, self.case = step, case
        self.folders = {"check": folder / "check" / "workdir", "apply": folder / "apply" / "workdir"}
        self.places = {}
        recorded.plant(folder / "sources", case.get("sources") or {})
        for phase, place in self.folders.items():
            recorded.plant(place, case.get("tree") or {})
            self.places[phase] = {"workdir": str(place), "sources": str(folder / "sources"), "web": address}

    def run(self, phase: str):
        places = self.places["check" if phase == "check" else "apply"]
        arguments = recorded.fill({**(self.case.get("args") or {}), **(self.case.get("ours") or {})}, places)
        found = step_type(self.step)
        if "_raw_params" in arguments:
            arguments[found.free_form] = arguments.pop("_raw_params")
        environment = recorded.fill(self.case.get("environment") or {}, places)
        context = {"environment": environment, "variables": self.case.get("vars") or {}, "folder": places["sources"]}
        if breaks_a_rule(found, set(arguments)):
            return InputError("refused before a host is touched")
        try:
            return run_step(self.step, arguments, check=phase == "check", **context).result
        except InputError as error:
            return error

    def data(self, phase: str, result) -> dict:
        if isinstance(result, InputError):
            return {"failed": True, "changed": False}
        places = self.places["check" if phase == "check" else "apply"]
        kept = recorded.owned(recorded.plain(result.data, places))
        if result.diffs:
            pairs = [[diff.before or "", diff.after or ""] for diff in result.diffs]
            kept["diff"] = recorded.plain(pairs, places)
        return kept

    def tree(self, phase: str) -> dict:
        return recorded.plain(recorded.snapshot(self.folders[phase]), self.places[phase])


def breaks_a_rule(found, given: set[str]) -> bool:
    """The rules on keys that the playbook's check applies."""
    count = [len(given & set(names)) for names in (*found.exclusive, *found.one_of)]
    least = [len(given & set(names)) for names in (*found.any_of, *found.one_of)]
    together = [given & set(names) for names in found.together]
    return (
        any(n > 1 for n in count)
        or any(n < 1 for n in least)
        or any(some and some != set(names) for some, names in zip(together, found.together, strict=True))
    )


def agrees(theirs: dict, ours: dict, differs: dict) -> None:
    """Every field of theirs is in ours, with the same value, except where we differ on purpose."""
    expected = {key: value for key, value in theirs.items() if key not in differs and key != "diff"}
    if theirs.get("failed"):  # what is said about a failure is our own
        expected = {key: value for key, value in expected.items() if key in recorded.OF_A_FAILURE}
    assert expected == {key: ours.get(key, "(no such field)") for key in expected}


@pytest.mark.parametrize(("step", "case"), CASES, ids=[f"{step}: {case['case']}" for step, case in CASES])
def test_a_case_ends_as_it_does_with_ansible_core(step, case, tmp_path, address):
    theirs, differs = OUTCOMES[step][case["case"]], case.get("differs") or {}
    ours = Ours(step, case, tmp_path, address)
    before = ours.tree("check")
    foretold = ours.run("check")
    assert ours.tree("check") == before, "check mode left a trace"
    applied = ours.run("apply")
    agrees(theirs["apply"], ours.data("apply", applied), differs)
    if "diff" in theirs["apply"] and "diff" not in differs and not theirs["apply"].get("failed"):
        shown = ours.data("apply", applied).get("diff")
        assert [pair for pair in theirs["apply"]["diff"] if pair not in shown] == [], shown
    if "again" not in differs:
        agrees(theirs["again"], ours.data("again", ours.run("again")), differs)
    if "tree" not in differs:
        assert theirs["tree"] == ours.tree("apply")
    if "check" not in differs:
        foretells(theirs["check"], foretold, applied, ours)


def foretells(theirs: dict, foretold, applied, ours: Ours) -> None:
    """Check mode says what apply did; where it cannot, Ansible could not either, and the same fields are registered."""
    if isinstance(foretold, InputError):
        assert isinstance(applied, InputError)
    elif foretold.status is Status.UNKNOWN:
        assert theirs.get("skipped") or not step_type(ours.step).foretells
        agrees({key: value for key, value in theirs.items() if key != "msg"}, ours.data("check", foretold), {})
    else:
        assert (foretold.data["failed"], foretold.data["changed"]) == (applied.data["failed"], applied.data["changed"])
        assert foretold.diffs == applied.diffs or applied.failed or _moved(foretold, ours) == _moved(applied, ours)


def _moved(result, ours: Ours) -> list:
    both = {"workdir": str(ours.folders["check"])}, {"workdir": str(ours.folders["apply"])}
    pairs = [[diff.header, diff.before, diff.after] for diff in result.diffs]
    return recorded.plain(recorded.plain(pairs, both[0]), both[1])
