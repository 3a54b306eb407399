"""Where leases lie, whom they exclude, and what is not believed."""

from __future__ import annotations

import json
import os

import pytest

from cleanslate.remote import journal, lease_places, leases
from cleanslate.remote.registry import Call, Failed

WISH = {"who": "ann", "from": "here", "playbook": "p", "step": "s", "since": 1.0, "resources": ["host"], "wait": 0}


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    """The machine's places, in a folder of the test's own that everybody may enter."""
    monkeypatch.delenv("CLEANSLATE_LEASES")
    tmp_path.chmod(0o755)
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    for parent in tmp_path.parents[:3]:
        parent.chmod(parent.stat().st_mode | 0o011)
    monkeypatch.setattr(lease_places, "_ROOT", str(tmp_path / "run"))
    monkeypatch.setattr(lease_places, "_OTHERS", str(shared / "leases-"))
    monkeypatch.setattr(journal, "_ROOT", str(tmp_path / "journal"))
    monkeypatch.setenv("XDG_STATE_HOME", str(shared))
    yield tmp_path
    leases.let_go("ok")


def elsewhere(run: str, *, uid: int | None = None, **wish) -> str:
    """What another process is told that wants a lease: `held`, or the kind of its refusal with the holder's run."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if uid is not None:
                os.setgid(uid)
                os.setuid(uid)
            leases.hold(Call(), {**WISH, "run": run, **wish})
            said = "held"
        except Failed as failure:
            said = f"{failure.kind} {(failure.details.get('holder') or {}).get('run')}"
        except BaseException as error:  # noqa: BLE001 - a child of a test tells everything
            said = repr(error)
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        text = told.read()
    os.waitpid(child, 0)
    return text


def test_one_run_at_a_time_and_its_own_agents_together():
    leases.hold(Call(), {**WISH, "run": "one"})
    assert ["held one", "held"] == [elsewhere("two"), elsewhere("one")]
    leases.let_go("ok")
    assert "held" == elsewhere("two")


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user takes root; CI is root")
def test_users_exclude_each_other_both_ways():
    leases.hold(Call(), {**WISH, "run": "roots"})
    assert "held roots" == elsewhere("users", uid=65534)
    leases.let_go("ok")
    assert "held" == elsewhere("users", uid=65534)


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user takes root; CI is root")
def test_a_folder_that_somebody_else_has_put_there_is_not_used(places):
    """Neither a link nor a folder that others may write; and what lies in such a folder holds up nobody."""
    target = places / "elsewhere"
    target.mkdir()
    (places / "shared" / "leases-65534").symlink_to(target)
    assert "wrong None" == elsewhere("users", uid=65534)
    assert [] == list(target.iterdir())
    (places / "shared" / "leases-65534").unlink()
    (places / "shared" / "leases-65534").mkdir()  # root's, in the place of the user's
    assert "wrong None" == elsewhere("users", uid=65534)
    assert "held" == elsewhere("roots")


def test_a_link_in_the_place_of_a_lease_is_neither_read_nor_removed(places):
    (places / "run").mkdir()
    secret = places / "secret"
    secret.write_text("precious")
    (places / "run" / "x.lease").symlink_to(secret)
    assert "held" == elsewhere("one")
    assert "precious" == secret.read_text()


def test_what_a_dead_agent_left_is_cleared_away(places):
    assert "held" == elsewhere("dead")
    assert 1 == len(list((places / "run").glob("*.lease")))
    leases.hold(Call(), {**WISH, "run": "next"})
    assert ["next"] == [one["run"] for one in leases.show(Call())["leases"]]
    assert 1 == len(list((places / "run").glob("*.lease")))


def test_the_robbed_is_told_by_whom(places):
    leases.hold(Call(), {**WISH, "run": "one"})
    leases.steal(Call(), "bob", "there")
    with pytest.raises(Failed) as refusal:
        leases.hold(Call(), {"step": "next"})
    assert ("robbed", "bob") == (refusal.value.kind, refusal.value.details["robber"]["by"])


def test_the_step_is_told_to_others():
    leases.hold(Call(), {**WISH, "run": "one"})
    leases.hold(Call(), {"step": "a much longer name of a step than the one before it"})
    leases.hold(Call(), {"step": "short"})
    assert ["short"] == [one["step"] for one in leases.show(Call())["leases"]]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (["host"], ["gpu:1"], True),
        (["gpu:0-3"], ["gpu:3,9"], True),
        (["gpu:0-3"], ["gpu:4-7"], False),
        (["gpu:1"], ["container:1"], False),
        (["container:101"], ["container:101", "gpu:2"], True),
        (["port:a"], ["port:a"], True),
        (["gpu:0-99999999999"], ["gpu:7"], True),
    ],
)
def test_what_overlaps(one, other, same):
    assert same == lease_places.overlap(one, other) == lease_places.overlap(other, one)


def test_the_journal_is_bounded_and_read_across_its_two_files(places, monkeypatch):
    monkeypatch.setattr(journal, "_SIZE", 2000)
    for number in range(50):
        journal.note("began", {"run": str(number), "who": "ann"})
    files = sorted(places.glob("journal*"))
    assert 2 == len(files)
    assert all(2400 > file.stat().st_size for file in files)
    assert [str(n) for n in range(46, 50)] == [entry["run"] for entry in journal.last(4)]
    assert all(json.loads(line) for line in files[0].read_text().splitlines())
