"""patch_config: one value is one line, links are copied on write, and whatever is odd is said before it is touched."""

import hashlib
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from cleanslate.errors import InputError
from cleanslate.model import Status
from cleanslate.remote import backups, config
from cleanslate.steps.registry import step_type
from tests.steps.harness import Context, DirectTarget, run_step

TEXT = '{\n  "architectures": ["LlamaForCausalLMEagle3"],\n  "max_position_embeddings": 131072,\n  "eps": 1e-05\n}\n'
PATCHED = TEXT.replace("131072", "262144")
SET = {"expect": {"max_position_embeddings": [131072, 262144]}, "set": {"max_position_embeddings": 262144}}
OLD, NEW = "a" * 40, "b" * 40


@pytest.fixture
def plain(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(TEXT)
    return path


@pytest.fixture
def hub(tmp_path):
    """Case 5: a Hugging Face cache where two snapshots link to one blob; gives the repository's folder."""
    repository = tmp_path / "hub" / "models--lab--eagle3-draft"
    digest = hashlib.sha1(TEXT.encode()).hexdigest()
    blob = repository / "blobs" / digest
    blob.parent.mkdir(parents=True)
    blob.write_text(TEXT)
    blob.chmod(0o640)
    for commit in (OLD, NEW):
        folder = repository / "snapshots" / commit
        folder.mkdir(parents=True)
        (folder / "config.json").symlink_to(f"../../blobs/{digest}")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(NEW)
    return repository


def link(hub, commit=NEW):
    return hub / "snapshots" / commit / "config.json"


def blob(hub):
    return next((hub / "blobs").iterdir())


def everything(folder):
    """Each path below a folder with what it is, for "nothing was touched"."""
    found = {}
    for path in sorted(folder.rglob("*")):
        info = path.lstat()
        content = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path)] = (stat.filemode(info.st_mode), info.st_uid, info.st_mtime_ns, content)
    return found


def test_one_value_is_one_line_of_diff_and_the_rest_stays_byte_for_byte(plain):
    plain.chmod(0o604)
    applied = run_step("patch_config", {"path": str(plain), **SET})
    assert Status.CHANGED == applied.result.status
    assert PATCHED == plain.read_text()
    assert 0o604 == stat.S_IMODE(plain.stat().st_mode)
    (diff,) = applied.result.diffs
    assert (TEXT, PATCHED) == (diff.before, diff.after)
    data = applied.result.data
    assert [{"path": "max_position_embeddings", "before": 131072, "after": 262144}] == data["patched"]
    assert hashlib.sha256(PATCHED.encode()).hexdigest() == data["digest"]


def test_a_second_run_is_unchanged_and_makes_no_backup(plain):
    run_step("patch_config", {"path": str(plain), **SET})
    before = everything(plain.parent)
    applied = run_step("patch_config", {"path": str(plain), **SET})
    assert (Status.OK, None) == (applied.result.status, applied.result.data["backup"])
    assert before == everything(plain.parent)


def test_check_mode_foretells_the_diff_and_the_digest_and_writes_nothing(plain):
    before = everything(plain.parent)
    foretold = run_step("patch_config", {"path": str(plain), **SET}, check=True)
    assert before == everything(plain.parent)
    done = run_step("patch_config", {"path": str(plain), **SET})
    assert (foretold.result.status, foretold.result.diffs) == (done.result.status, done.result.diffs)
    assert foretold.result.data["digest"] == done.result.data["digest"]


def test_only_the_chosen_snapshot_sees_the_change(hub):
    before = everything(hub)
    applied = run_step("patch_config", {"path": str(link(hub)), **SET})
    after = everything(hub)
    made = applied.result.data["backup"]
    assert {str(link(hub)), made} == {path for path in after if before.get(path) != after[path]} - {
        str(link(hub).parent)
    }
    assert PATCHED == link(hub).read_text()
    assert not link(hub).is_symlink()
    assert (TEXT, TEXT) == (link(hub, OLD).read_text(), blob(hub).read_text())
    assert 0o640 == stat.S_IMODE(link(hub).stat().st_mode)
    assert "replaced" == applied.result.data["link"]
    told = applied.result.data["hub"]
    assert ("lab/eagle3-draft", NEW, [OLD]) == (told["name"], told["commit"], told["shared_with"])
    assert "stays as it was" in applied.result.data["msg"]


def test_a_snapshot_outside_of_a_cache_is_known_by_its_blobs(hub):
    other = hub.rename(hub.with_name("eagle3-draft"))
    applied = run_step("patch_config", {"path": str(link(other)), **SET})
    assert ("eagle3-draft", NEW) == (applied.result.data["hub"]["name"], applied.result.data["hub"]["commit"])


def test_the_backup_of_a_link_brings_the_link_back(hub):
    before = everything(hub)
    made = run_step("patch_config", {"path": str(link(hub)), **SET}).result.data["backup"]
    applied = run_step("restore_file", {"path": str(link(hub))})
    assert Status.CHANGED == applied.result.status
    after = everything(hub)
    assert before[str(link(hub))][3] == str(link(hub).readlink())
    assert {made} == after.keys() - before.keys()
    assert Status.OK == run_step("restore_file", {"path": str(link(hub))}).result.status


def test_follow_changes_the_blob_for_every_snapshot_and_says_so(hub):
    applied = run_step("patch_config", {"path": str(link(hub)), "follow": True, **SET})
    assert link(hub).is_symlink()
    assert (PATCHED, PATCHED) == (link(hub).read_text(), link(hub, OLD).read_text())
    assert "seen by 2 snapshots" in applied.result.data["msg"]
    kept = link(hub).parent / Path(applied.result.data["backup"]).name
    assert (TEXT, False) == (kept.read_text(), kept.is_symlink())
    assert [blob(hub).name] == [entry.name for entry in (hub / "blobs").iterdir()]


def test_a_blob_that_is_read_only_is_not_followed_but_copied(hub):
    blob(hub).chmod(0o444)
    before = everything(hub)
    refused = run_step("patch_config", {"path": str(link(hub)), "follow": True, **SET})
    assert "is read-only (0444)" in refused.result.data["msg"]
    assert before == everything(hub)
    applied = run_step("patch_config", {"path": str(link(hub)), **SET})
    assert (Status.CHANGED, TEXT) == (applied.result.status, blob(hub).read_text())
    assert 0o444 == stat.S_IMODE(link(hub).stat().st_mode)


def test_a_dangling_link_is_named_with_what_it_leads_to(hub):
    blob(hub).unlink()
    before = everything(hub)
    applied = run_step("patch_config", {"path": str(link(hub)), **SET})
    assert (Status.FAILED, "dangling") == (applied.result.status, applied.result.data["kind"])
    assert "is a link to ../../blobs/" in applied.result.data["msg"]
    assert before == everything(hub)


def test_a_snapshot_that_main_no_longer_means_is_warned_about(hub):
    target = DirectTarget()
    context = Context(target)
    arguments = step_type("patch_config").arguments.model_validate({"path": str(link(hub, OLD)), **SET})
    behaviour = step_type("patch_config").behave(arguments, context)
    next(behaviour)
    behaviour.close()
    assert [f"main of lab/eagle3-draft means commit {NEW[:12]} now"] == [
        warning.partition(",")[0] for warning in context.warnings
    ]


def test_a_patched_file_that_was_downloaded_anew_is_warned_about(hub):
    run_step("patch_config", {"path": str(link(hub)), **SET})
    link(hub).unlink()
    link(hub).symlink_to(f"../../blobs/{blob(hub).name}")
    context = Context(DirectTarget())
    arguments = step_type("patch_config").arguments.model_validate({"path": str(link(hub)), **SET})
    behaviour = step_type("patch_config").behave(arguments, context)
    next(behaviour)
    behaviour.close()
    assert any("downloaded anew" in warning for warning in context.warnings)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"set": {"max_position_embedding": 1}}, 'the file has no "max_position_embedding"'),
        ({"expect": {"max_position_embeddings": 4096}}, '"max_position_embeddings" is 131072, expected 4096'),
        ({"expect": {"max_position_embeddings": {"type": "text"}}}, "expected a value of type text"),
        ({"expect": {"max_position_embeddings": {"min": 200000}}}, "expected 200000 or more"),
        ({"expect": {"eps": {"absent": True}}}, "expected no such key"),
        ({"expect": {"nothing": 1}}, '"nothing" is missing, expected 1'),
        ({"expect": {"eps": [1, 2], "architectures": "x"}}, 'expected 1 or 2; "architectures" is ["Llama'),
    ],
)
def test_what_is_not_as_expected_fails_and_changes_nothing(plain, more, said):
    before = everything(plain.parent)
    applied = run_step("patch_config", {"path": str(plain), "set": {"eps": 2}, **more})
    assert Status.FAILED == applied.result.status
    assert said in applied.result.data["msg"]
    assert before == everything(plain.parent)


@pytest.mark.parametrize(
    "expect",
    [
        {"max_position_embeddings": 131072},
        {"max_position_embeddings": {"in": [1, 131072]}},
        {"max_position_embeddings": {"type": "integer", "min": 1}},
        {"eps": {"type": "number", "max": 1}},
        {"architectures": ["LlamaForCausalLMEagle3"]},
        {"nothing": {"absent": True}},
    ],
)
def test_what_is_as_expected_lets_the_change_through(plain, expect):
    applied = run_step("patch_config", {"path": str(plain), "set": {"eps": 1}, "expect": expect})
    assert Status.CHANGED == applied.result.status


def test_a_value_that_set_wants_already_is_as_expected(plain):
    arguments = {"path": str(plain), "expect": {"max_position_embeddings": 131072}, "set": SET["set"]}
    assert ["changed", "ok"] == [run_step("patch_config", arguments).result.status.value for _ in range(2)]


def test_a_missing_key_is_added_only_with_create(plain):
    arguments = {"path": str(plain), "set": {"rope_scaling.factor": 2.0}}
    assert Status.FAILED == run_step("patch_config", arguments).result.status
    assert Status.CHANGED == run_step("patch_config", {**arguments, "create": True}).result.status
    assert TEXT[:-3] + ',\n  "rope_scaling": {\n    "factor": 2.0\n  }\n}\n' == plain.read_text()


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("server.yaml", "port: 30000  # http\n", "port: 30001  # http\n"),
        ("server.toml", "port = 30000  # http\n", "port = 30001  # http\n"),
        ("server.ini", "port = 30000\n", "port = 30001\n"),
        ("server.env", "export port=30000 # http\n", "export port=30001 # http\n"),
    ],
)
def test_each_format_is_known_by_its_name(tmp_path, name, before, after):
    path = tmp_path / name
    path.write_text(before)
    arguments = {"path": str(path), "set": {"port": 30001}}
    assert ["changed", "ok"] == [run_step("patch_config", arguments).result.status.value for _ in range(2)]
    assert after == path.read_text()


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"\xff\xfe{}", "is not UTF-8 text: byte 0"), (b'{"a": }', "line 1, column"), (b"", "this is not JSON")],
)
def test_a_file_that_cannot_be_read_as_its_format_is_refused(tmp_path, content, said):
    path = tmp_path / "config.json"
    path.write_bytes(content)
    applied = run_step("patch_config", {"path": str(path), "set": {"a": 1}})
    assert said in applied.result.data["msg"]
    assert content == path.read_bytes()


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("nowhere/else/config.json", "there is no {tmp}/nowhere"),
        ("folder.json", "is a folder"),
        ("x.bin", "its format"),
    ],
)
def test_a_path_that_is_no_configuration_file_is_named(tmp_path, path, said):
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "x.bin").write_text("{}")
    applied = run_step("patch_config", {"path": str(tmp_path / path), "set": {"a": 1}})
    assert said.format(tmp=tmp_path) in applied.result.data["msg"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"set": {"a..b": 1}}, "is not a path"),
        ({"set": {"a": 1}, "format": "xml"}, 'no format is called "xml"'),
        ({"set": {"a": 1}, "expect": {"a": {"type": "integr"}}}, '"integr" is no type'),
        ({"set": {"a": 1}, "keep": 0}, "greater than or equal to 1"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments, said):
    with pytest.raises(InputError) as refused:
        run_step("patch_config", {"path": "x.json", **arguments})
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("literal", "argument"),
    [
        ({"path": "a.json", "set": {"a..b": 1}}, "set"),
        ({"path": "a.json", "format": "yml"}, "format"),
        ({"path": "config"}, "path"),
    ],
)
def test_mistakes_are_found_before_a_host_is_touched(literal, argument):
    assert [argument] == [found[0] for found in step_type("patch_config").check(literal)]


def test_backups_are_kept_up_to_a_number(plain):
    for value in range(4):
        run_step("patch_config", {"path": str(plain), "set": {"eps": value}, "keep": 2})
    kept = [Path(each["path"]).read_text() for each in backups.found(str(plain))]
    assert [TEXT.replace("1e-05", "1"), TEXT.replace("1e-05", "2")] == kept


def test_no_backup_is_made_when_none_is_wanted(plain):
    applied = run_step("patch_config", {"path": str(plain), "backup": False, **SET})
    assert (None, [plain]) == (applied.result.data["backup"], list(plain.parent.iterdir()))


class Meddler(DirectTarget):
    """Somebody who changes the file between our look and our write, so often."""

    def __init__(self, path, times):
        super().__init__()
        self.path, self.times = path, times

    def call(self, name, *args, **kwargs):
        if name == "config.write" and self.times:
            self.times -= 1
            self.path.write_text(self.path.read_text() + "\n")
        return super().call(name, *args, **kwargs)


def test_a_file_that_somebody_changed_meanwhile_is_read_again_and_keeps_that_change(plain):
    applied = run_step("patch_config", {"path": str(plain), **SET}, target=Meddler(plain, 1))
    assert (Status.CHANGED, PATCHED + "\n") == (applied.result.status, plain.read_text())


def test_a_file_that_somebody_changes_again_and_again_is_left_to_them(plain):
    applied = run_step("patch_config", {"path": str(plain), **SET}, target=Meddler(plain, 99))
    assert (Status.FAILED, "changed") == (applied.result.status, applied.result.data["kind"])
    assert [plain] == list(plain.parent.iterdir())
    assert TEXT == plain.read_text().rstrip("\n") + "\n"


def test_a_file_of_another_owner_is_refused_where_the_owner_could_not_be_kept(plain, monkeypatch):
    monkeypatch.setattr(config.os, "geteuid", lambda: plain.stat().st_uid + 1234)
    before = everything(plain.parent)
    foretold = run_step("patch_config", {"path": str(plain), **SET}, check=True)
    applied = run_step("patch_config", {"path": str(plain), **SET})
    assert (Status.FAILED, Status.FAILED) == (foretold.result.status, applied.result.status)
    assert "cannot keep it so; use become" in applied.result.data["msg"]
    assert before == everything(plain.parent)


def test_a_container_says_that_the_owner_is_the_hypervisors(plain):
    """In a user namespace a stranger's file shows as nobody's: to write it there would give it away."""
    os.chown(plain, 54321, 54321) if os.geteuid() == 0 else None
    code = (
        "from cleanslate.remote import config; from cleanslate.remote.registry import Call\n"
        f"print(config.read(Call(), {str(plain)!r})[0]['obstacle'])"
    )
    argv = ["unshare", "--user", "--map-root-user", sys.executable, "-c", code]
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    expected = "does not exist in this container" if os.geteuid() == 0 else "None"
    assert expected in said


def test_hard_links_are_copied_on_write_too(plain):
    other = plain.with_name("other.json")
    os.link(plain, other)
    applied = run_step("patch_config", {"path": str(plain), **SET})
    assert (PATCHED, TEXT) == (plain.read_text(), other.read_text())
    assert "it had 2 hard links" in applied.result.data["msg"]
