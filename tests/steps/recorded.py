"""Cases whose right outcome was taken from ansible-core: their trees, what is compared, and where it is kept.

A case is an entry of `cases/STEP.yml`:

    - case: one sentence
      tree: {path: content, folder/: , link: "-> target", file: {content: text, mode: "0600"}}   # below the workdir
      sources: {...}                # the same, on the controller
      args: {...}                   # {{ workdir }} and {{ sources }} (and {{ web }}) are replaced as text
      ours: {...}                   # arguments that we are given besides (shorter waits)
      environment: {...}
      differs: {field: why}         # where we differ from Ansible on purpose; `check`, `again`, `tree`, `diff`, too

`python -m tests.steps.against_ansible` runs them with ansible-core and writes `outcomes/STEP.json`, which
test_outcomes.py compares with ours.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
# These are different in every run, or belong to how Ansible works and not to what it did.
VOLATILE = {
    "ansible_facts", "delta", "deprecations", "elapsed", "end", "exception", "extract_results",
    "failed_when_result", "invocation",
    "start", "warnings", "atime", "ctime", "mtime", "dev", "inode", "block_size", "blocks", "version",
    "_ansible_no_log", "_ansible_parsed", "date", "server", "last_modified",
}  # fmt: skip
# What conditions on a failed result ask for; its message and what else Ansible adds to it are not compared.
OF_A_FAILURE = {"failed", "changed", "rc", "cmd", "stdout", "stdout_lines", "stderr", "stderr_lines", "status", "json"}
WHO = {"uid": 0, "gid": 0, "owner": "root", "group": "root", "pw_name": "root", "gr_name": "root"}


def steps_with_cases() -> list[str]:
    return sorted(path.stem for path in (HERE / "cases").glob("*.yml"))


def cases_of(step: str) -> list[dict[str, Any]]:
    return yaml.load((HERE / "cases" / f"{step}.yml").read_text(), Loader=yaml.CSafeLoader)


def outcomes_path(step: str) -> Path:
    return HERE / "outcomes" / f"{step}.json"


def outcomes_of(step: str) -> dict[str, Any]:
    return plain(json.loads(outcomes_path(step).read_text()), {})


def plant(folder: Path, tree: dict[str, Any]) -> None:
    """Make a case's files; modes are exact, whatever the umask."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    later = []
    for name, what in tree.items():
        path = folder / name.rstrip("/")
        for parent in reversed(path.relative_to(folder).parents):
            if not (folder / parent).exists():
                (folder / parent).mkdir()
                (folder / parent).chmod(0o755)
        if name.endswith("/"):
            path.mkdir(exist_ok=True)
            path.chmod(int((what or {}).get("mode", "0755"), 8))
        elif isinstance(what, str) and what.startswith("-> "):
            path.symlink_to(what[3:])
        elif isinstance(what, str) and what.startswith("= "):
            later.append((path, folder / what[2:]))
        elif isinstance(what, dict) and "archive" in what:
            pack(path, what["archive"])
        else:
            given = what if isinstance(what, dict) else {"content": what}
            content = given.get("content", "")
            path.write_bytes(bytes.fromhex(given["hex"]) if "hex" in given else content.encode())
            path.chmod(int(given.get("mode", "0644"), 8))
            if "mtime" in given:
                os.utime(path, (given["mtime"], given["mtime"]))
    for path, target in later:
        os.link(target, path)


def pack(path: Path, tree: dict[str, Any]) -> None:
    """Make an archive (by its suffix) of a tree; the same tree gives the same members."""
    import tarfile
    import tempfile
    import zipfile

    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        plant(base, tree)
        paths = sorted(base.rglob("*"))
        for item in paths:
            os.utime(item, (1700000000, 1700000000), follow_symlinks=False)
        if path.suffix == ".zip":
            with zipfile.ZipFile(path, "w") as packed:
                for item in paths:
                    packed.write(item, item.relative_to(base))
        else:
            with tarfile.open(path, "w:gz" if path.suffix == ".tgz" else "w") as packed:
                for item in paths:
                    packed.add(item, item.relative_to(base), recursive=False)


def snapshot(folder: Path) -> dict[str, list[str]]:
    """Everything below a folder: kind, mode, and content (of a link: where it leads)."""
    found = {}
    for path in sorted(folder.rglob("*")):
        info = path.lstat()
        name, mode = str(path.relative_to(folder)), f"{stat.S_IMODE(info.st_mode):04o}"
        if stat.S_ISLNK(info.st_mode):
            found[name] = ["link", "", str(path.readlink())]
        elif stat.S_ISDIR(info.st_mode):
            found[name] = ["folder", mode, ""]
        else:
            found[name] = ["file", mode, path.read_bytes().decode("utf-8", "backslashreplace")]
    return found


def fill(value: Any, places: dict[str, str]) -> Any:
    """Replace {{ workdir }} and the like in every text, as text."""
    if isinstance(value, str):
        for name, place in places.items():
            value = value.replace("{{ " + name + " }}", place)
        return value
    if isinstance(value, list):
        return [fill(item, places) for item in value]
    if isinstance(value, dict):
        return {fill(key, places): fill(item, places) for key, item in value.items()}
    return value


def plain(value: Any, places: dict[str, str]) -> Any:
    """The comparable part of a result: places as {{ workdir }}, nothing volatile, no sizes of folders and links."""
    if isinstance(value, str):
        for name, place in places.items():
            value = value.replace(place, "{{ " + name + " }}")
        return value
    if isinstance(value, list):
        return [plain(item, places) for item in value]
    if isinstance(value, dict):
        folder = value.get("state") in ("directory", "link") or value.get("isdir") is True
        return {
            key: _ordered(plain(item, places))
            for key, item in value.items()
            if key not in VOLATILE
            and not (folder and key in ("size", "nlink"))
            and not (key == "src" and "/.ansible/tmp/" in str(item))
        }
    return value


def _ordered(value: Any) -> Any:
    """What find has found, by path: Ansible gives it as the folder happens to be ordered."""
    if isinstance(value, list) and value and all(isinstance(item, dict) and "path" in item for item in value):
        return sorted(value, key=lambda item: item["path"])
    return value


def owned(value: Any) -> Any:
    """The same result as if root had made it, for whoever runs the tests."""
    import grp
    import pwd

    me = {"uid": os.geteuid(), "gid": os.getegid()}
    me["owner"] = me["pw_name"] = pwd.getpwuid(me["uid"]).pw_name
    me["group"] = me["gr_name"] = grp.getgrgid(me["gid"]).gr_name
    if isinstance(value, list):
        return [owned(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {k: WHO[k] if k in WHO and v == me[k] else owned(v) for k, v in value.items()}


def texts(diffs: Any) -> list[list[str]]:
    """Ansible's diffs of content as [before, after]; those of attributes are left out."""
    found = [diffs] if isinstance(diffs, dict) else diffs or []
    pairs = [[diff.get("before"), diff.get("after")] for diff in found if isinstance(diff, dict)]
    return [pair for pair in pairs if all(isinstance(text, str) for text in pair) and pair[0] != pair[1]]
