"""Fill in what a project leaves behind, by running it with ansible-core: python record.py 20-web-stack ...

expect.yml says which runs there are; what each of them wrote, changed and removed is written into it, and its exit
status. Nothing here runs in the tests: it makes the expectations that they compare with.
"""

import argparse
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).parent))
import run as checker

HERE = Path(__file__).parent / "playbooks"
OURS = ("exit", "absent", "files", "dirs", "links")


def snapshot(root: Path) -> dict:
    """Every path below a folder with its kind, mode and content."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = ("link", "", str(path.readlink()))
        elif path.is_dir():
            found[name] = ("dir", f"{stat.S_IMODE(path.stat().st_mode):04o}", "")
        else:
            found[name] = (
                "file",
                f"{stat.S_IMODE(path.stat().st_mode):04o}",
                path.read_bytes().decode("utf-8", "replace"),
            )
    return found


def expectations(before: dict, now: dict, ports: dict, workdir: str) -> dict:
    """What a run is expected to leave, from what stood there before and after it."""

    def free(text: str) -> str:
        text = text.replace(workdir, "@workdir@")
        for name, port in ports.items():
            text = text.replace(str(port), f"@{name}@")
        return text

    made: dict = {}
    for name, (kind, mode, content) in now.items():
        if before.get(name) == (kind, mode, content):
            continue
        if kind == "link":
            made.setdefault("links", {})[name] = free(content)
        elif kind == "dir":
            made.setdefault("dirs", []).append(name if mode == "0755" else {"path": name, "mode": mode})
        else:
            spec = {"path": name, "content": free(content)}
            if mode != "0644":
                spec["mode"] = mode
            made.setdefault("files", []).append(spec)
    gone = [name for name in before if name not in now]
    if gone:
        made["absent"] = gone
    return made


def record(slug: str, ansible: str, *, keep: bool, log_folder: Path | None = None) -> None:
    """Run a project and write its expect.yml anew."""
    source = HERE / slug
    expect = yaml.safe_load((source / "expect.yml").read_text())
    root = Path(tempfile.mkdtemp(prefix=f"record-{slug}-")).resolve()
    project, workdir = root / "project", root / "work"
    shutil.copytree(source, project, symlinks=True, ignore=shutil.ignore_patterns("expect.yml", "__pycache__"))
    workdir.mkdir()
    (root / "ansible.cfg").write_text(f"[defaults]\ninterpreter_python = {sys.executable}\n")
    inventory = expect.get("inventory") or next(
        name for name in ("inventory.ini", "inventory.yml", "inventory") if (project / name).exists()
    )
    ports = checker.free_ports(expect.get("ports", []))
    since = checker.uptime() - 1
    before: dict = {}
    log = []
    for run in expect["runs"]:
        for key in OURS:
            run.pop(key, None)
        said = checker.sub(run, {**ports, "workdir": str(workdir)})
        argv = [ansible, str(project / "playbook.yml"), "-i", str(project / inventory), "-e", f"workdir={workdir}"]
        argv += checker.extra_args(said, ports, checker.FLAGS, str(project))
        env = {
            **os.environ,
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_PIPELINING": "1",
            "ANSIBLE_HOME": str(root / "ahome"),
            "ANSIBLE_ASYNC_DIR": str(root / "aasync"),
        }
        env |= {"ANSIBLE_LOCAL_TEMP": str(root / "alocal"), "ANSIBLE_REMOTE_TEMP": str(root / "aremote")}
        env |= {"ANSIBLE_CONFIG": str(root / "ansible.cfg")} | {k: str(v) for k, v in (said.get("env") or {}).items()}
        done = subprocess.run(
            argv, cwd=project, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        log.append(f"== {slug} [{run.get('name')}] exit {done.returncode}\n{done.stdout}{done.stderr}")
        now = snapshot(workdir)
        if done.returncode:
            run["exit"] = "nonzero"
        run.update(expectations(before, now, ports, str(workdir)))
        before = now
    checker.end_processes(str(root), since)
    text = yaml.safe_dump(expect, sort_keys=False, allow_unicode=True, width=120)
    (source / "expect.yml").write_text(text)
    if log_folder is not None:
        (log_folder / f"{slug}.log").write_text("\n".join(log))
    if not keep:
        shutil.rmtree(root, ignore_errors=True)
    print(slug, json.dumps({run.get("name"): run.get("exit", 0) for run in expect["runs"]}), flush=True)


def main() -> None:
    """Record the projects that the command line names."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("slugs", nargs="+")
    options.add_argument("--ansible", default="ansible-playbook")
    options.add_argument("--keep", action="store_true", help="keep the folders that it ran in")
    options.add_argument("--logs", type=Path, help="keep what ansible-playbook said in this folder")
    given = options.parse_args()
    for slug in given.slugs:
        record(slug, given.ansible, keep=given.keep, log_folder=given.logs)


if __name__ == "__main__":
    main()
