"""copy and template: few round trips, honest diffs, nothing written that need not be."""

from __future__ import annotations

import json

import pytest

from cleanslate.model import Status
from tests.steps.harness import DirectTarget, run_step


def copy(arguments, check=False, folder="/", **context):
    target = DirectTarget()
    result = run_step("copy", arguments, target=target, check=check, folder=folder, **context).result
    return result, target.calls


def test_what_is_right_already_takes_one_call(tmp_path):
    (tmp_path / "f").write_text("text")
    result, calls = copy({"content": "text", "dest": str(tmp_path / "f")})
    assert (result.status, calls) == (Status.OK, ["files.survey"])


def test_what_differs_takes_two_calls(tmp_path):
    result, calls = copy({"content": "text", "dest": str(tmp_path / "f")})
    assert (result.status, calls) == (Status.CHANGED, ["files.survey", "files.write"])


def test_a_folder_of_many_files_takes_two_calls_and_then_one(tmp_path):
    for number in range(30):
        (tmp_path / "from" / f"d{number % 3}").mkdir(parents=True, exist_ok=True)
        (tmp_path / "from" / f"d{number % 3}" / f"f{number}").write_text(str(number))
    given = {"src": str(tmp_path / "from") + "/", "dest": str(tmp_path / "to")}
    first, second = copy(given), copy(given)
    assert (first[1], second[1]) == (["trees.survey", "trees.write"], ["trees.survey"])
    assert (first[0].status, second[0].status) == (Status.CHANGED, Status.OK)
    assert (tmp_path / "to" / "d2" / "f29").read_text() == "29"


def test_a_folder_larger_than_memory_should_hold_is_sent_from_a_file(tmp_path):
    (tmp_path / "from").mkdir()
    for name in "abc":
        (tmp_path / "from" / name).write_bytes(name.encode() * (4 << 20))
    copy({"src": str(tmp_path / "from") + "/", "dest": str(tmp_path / "to")})
    assert [(tmp_path / "to" / name).read_bytes() == name.encode() * (4 << 20) for name in "abc"] == [True] * 3


def test_only_the_files_that_differ_are_sent(tmp_path):
    for folder, texts in {"from": "ab", "to": "ax"}.items():
        (tmp_path / folder).mkdir()
        for name, text in zip("12", texts, strict=True):
            (tmp_path / folder / name).write_text(text)
    inode = (tmp_path / "to" / "1").stat().st_ino
    result, _ = copy({"src": str(tmp_path / "from") + "/", "dest": str(tmp_path / "to")})
    shown = [(diff.header, diff.before, diff.after) for diff in result.diffs]
    assert shown == [(str(tmp_path / "to" / "2"), "x", "b")]
    assert (tmp_path / "to" / "1").stat().st_ino == inode


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (None, b"new\n", (None, "new\n")),
        (b"old\n", b"new\n", ("old\n", "new\n")),
        (b"\0\1", b"new\n", ("(2 bytes, not text", "(4 bytes, text")),
        (b"caf\xe9", b"new\n", ("(4 bytes, not text", "(4 bytes, text")),
        (b"x" * 200_000, b"new\n", ("(200000 bytes, too large to show)", "(4 bytes, text")),
        (b"old\n", b"y" * 200_000, ("(4 bytes, text", "(200000 bytes, too large to show)")),
    ],
)
def test_a_diff_shows_text_and_names_the_rest(tmp_path, before, after, shown):
    source, dest = tmp_path / "source", tmp_path / "dest"
    source.write_bytes(after)
    if before is not None:
        dest.write_bytes(before)
    [diff] = copy({"src": str(source), "dest": str(dest)})[0].diffs
    matches = [said is None if want is None else (said or "").startswith(want) for said, want in
               zip((diff.before, diff.after), shown, strict=True)]  # fmt: skip
    assert matches == [True, True], diff


def test_content_and_mode_that_differ_are_shown_as_two(tmp_path):
    (tmp_path / "f").write_text("old")
    (tmp_path / "f").chmod(0o644)
    result, _ = copy({"content": "new", "dest": str(tmp_path / "f"), "mode": "0600"}, check=True)
    assert [(diff.before, diff.after) for diff in result.diffs] == [("old", "new"), ("mode: 0644\n", "mode: 0600\n")]


def test_an_encrypted_file_arrives_decrypted_unless_not_wanted(tmp_path):
    envelope = "$ANSIBLE_VAULT;1.1;AES256\n6162\n"
    (tmp_path / "secret").write_text(envelope)
    opened = {envelope: "token"}
    texts = []
    for decrypt in (True, False):
        given = {"src": "secret", "dest": str(tmp_path / "f"), "decrypt": decrypt}
        copy(given, folder=tmp_path, vault=opened.__getitem__)
        texts.append((tmp_path / "f").read_text())
    assert texts == ["token", envelope]


def test_encrypted_files_of_a_folder_arrive_decrypted(tmp_path):
    envelope = "$ANSIBLE_VAULT;1.1;AES256\n6162\n"
    (tmp_path / "from").mkdir()
    (tmp_path / "from" / "secret").write_text(envelope)
    (tmp_path / "from" / "plain").write_text("plain")
    copy({"src": f"{tmp_path}/from/", "dest": f"{tmp_path}/to"}, vault={envelope: "token"}.__getitem__)
    assert [(tmp_path / "to" / name).read_text() for name in ("plain", "secret")] == ["plain", "token"]


def test_a_file_of_any_size_is_streamed(tmp_path):
    (tmp_path / "big").write_bytes(b"0123456789abcdef" * 1_000_000)
    copy({"src": str(tmp_path / "big"), "dest": str(tmp_path / "copy")})
    assert (tmp_path / "copy").read_bytes() == (tmp_path / "big").read_bytes()


def test_a_backup_is_told(tmp_path):
    (tmp_path / "f").write_text("old")
    result, _ = copy({"content": "new", "dest": str(tmp_path / "f"), "backup": True})
    with open(result.data["backup_file"]) as kept:  # noqa: PTH123
        assert kept.read() == "old"


def test_a_source_that_cannot_be_read_is_told_as_the_controllers(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    result, _ = copy({"src": str(tmp_path / "loop"), "dest": str(tmp_path / "f")})
    assert result.data["failed"]


def test_links_of_a_folder_that_lead_round_are_followed_once(tmp_path):
    (tmp_path / "from" / "sub").mkdir(parents=True)
    (tmp_path / "from" / "f").write_text("x")
    (tmp_path / "from" / "sub" / "up").symlink_to("..")
    result, _ = copy({"src": f"{tmp_path}/from/", "dest": f"{tmp_path}/to"})
    assert (result.status, (tmp_path / "to" / "f").read_text()) == (Status.CHANGED, "x")


@pytest.mark.parametrize("content", [{"a": [1, None, "ö"]}, [1, {"b": True}]])
def test_data_is_written_as_json(tmp_path, content):
    copy({"content": content, "dest": str(tmp_path / "f")})
    assert json.loads((tmp_path / "f").read_text()) == content


def test_a_template_is_rendered_with_its_own_place_and_put_in_two_calls(tmp_path):
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "t.j2").write_text("{{ who }} {{ template_destpath }}\n")
    target, dest = DirectTarget(), str(tmp_path / "out")
    context = {"target": target, "folder": tmp_path, "variables": {"who": "me"}}
    result = run_step("template", {"src": "t.j2", "dest": dest}, **context).result
    assert ((tmp_path / "out").read_text(), target.calls) == (f"me {dest}\n", ["files.survey", "files.write"])
    assert result.data["src"] == str(tmp_path / "templates" / "t.j2")


def test_a_text_that_the_encoding_does_not_have_is_told(tmp_path):
    (tmp_path / "t.j2").write_text("€\n")
    given = {"src": "t.j2", "dest": str(tmp_path / "out"), "output_encoding": "latin-1"}
    result = run_step("template", given, folder=tmp_path).result
    assert (result.data["msg"], result.fix) == ("'€' cannot be written in latin-1", "use output_encoding: utf-8")


def test_links_where_files_of_a_folder_go_are_followed_only_if_asked_for(tmp_path):
    (tmp_path / "from").mkdir()
    (tmp_path / "from" / "f").write_text("new")
    found = []
    for follow in (True, False):
        to = tmp_path / f"to-{follow}"
        to.mkdir()
        (to / "real").write_text("old")
        (to / "f").symlink_to("real")
        copy({"src": f"{tmp_path}/from/", "dest": str(to), "follow": follow})
        found.append(((to / "real").read_text(), (to / "f").is_symlink(), (to / "f").read_text()))
    assert found == [("new", True, "new"), ("old", False, "new")]


def test_without_force_a_file_that_appears_meanwhile_is_left_alone(tmp_path):
    path = tmp_path / "f"

    class Quick(DirectTarget):
        def call(self, name, arguments, **options):
            if name == "files.write":
                path.write_text("theirs")
            return super().call(name, arguments, **options)

    given = {"content": "ours", "dest": str(path), "force": False}
    result = run_step("copy", given, target=Quick()).result
    assert (result.status, path.read_text()) == (Status.OK, "theirs")
