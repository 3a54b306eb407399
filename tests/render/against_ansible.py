"""Evaluates the tables in `cases/` with ansible-core and writes what it gives beside them, as JSON.

    python tests/render/against_ansible.py ANSIBLE_PYTHON            compare with what is written there
    python tests/render/against_ansible.py ANSIBLE_PYTHON --write    write it anew

ANSIBLE_PYTHON is the interpreter of an environment that holds ansible-core 2.19. The tests then need no Ansible:
they hold the same tables against the written outcomes.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CASES = Path(__file__).parent / "cases"
LOOPS = Path(__file__).parent / "loops"
ENVIRONMENT = {"CASE_VAR": "from outside", "CASE_EMPTY": "", "TZ": "UTC", "HOME": "/home/case", "LC_ALL": "C.UTF-8"}


def outcome_of(value):
    """A value with its type, as JSON."""
    kind = type(value).__name__.removeprefix("_AnsibleTagged").lower()
    if kind in ("datetime", "date"):
        return {kind: value.isoformat()}
    if isinstance(value, bytes):
        return {"bytes": value.decode()}
    return {"value": _plain(value)}


def _plain(value):
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, bool):
        return value
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    return f"<{type(value).__name__.removeprefix('_AnsibleTagged')}> {value}"


def main_with_ansible(path):
    """Print the outcomes for one table; runs under the interpreter that has ansible-core."""
    import warnings

    warnings.simplefilter("ignore")
    from ansible.errors import AnsibleError, AnsibleValueOmittedError
    from ansible.parsing.dataloader import DataLoader
    from ansible.plugins.loader import init_plugin_loader
    from ansible.template import Templar

    init_plugin_loader([])
    loader = DataLoader()
    loader.set_basedir(str(CASES))
    table = loader.load_from_file(path, trusted_as_template=True)
    outcomes = []
    for kind in ("templates", "conditions"):
        for text in table.get(kind) or []:
            templar = Templar(loader, variables=dict(table.get("vars") or {}))
            try:
                value = templar.template(text) if kind == "templates" else templar.evaluate_conditional(text)
                outcome = outcome_of(value)
            except AnsibleValueOmittedError:
                outcome = {"omit": True} if kind == "templates" else {"error": True}
            except AnsibleError:
                outcome = {"error": True}
            outcomes.append(outcome)
    print("OUTCOMES " + json.dumps(outcomes))


def main(interpreter, write):
    """Compare or write every table; the number of those that differ."""
    differing = [
        path for path in sorted(CASES.glob("*.yml")) if not _same(path, _expressions(interpreter, path), write)
    ]
    loops = LOOPS / "loops.yml"
    differing += [] if _same(loops, _loops(interpreter, loops), write) else [loops]
    for path in differing:
        print(f"{path.name} differs from ansible-core")
    return len(differing)


def _same(path, outcomes, write):
    text = "[\n" + ",\n".join(json.dumps(outcome, ensure_ascii=False) for outcome in outcomes) + "\n]\n"
    beside = path.with_suffix(".json")
    if write:
        beside.write_text(text, encoding="utf-8")
    return beside.read_text(encoding="utf-8") == text


def _run(argv, **options):
    return subprocess.run(argv, env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True, **options)


def _expressions(interpreter, path):
    done = _run([interpreter, __file__, "--inside", str(path)])
    lines = [line for line in done.stdout.splitlines() if line.startswith("OUTCOMES ")]
    if not lines:
        sys.exit(f"{path.name}: {done.stderr[-2000:]}")
    return json.loads(lines[0].removeprefix("OUTCOMES "))


def _loops(interpreter, path):
    """Run each `with_*` loop of the table as a task of one real play; the items, or that it failed."""
    import yaml

    table = yaml.safe_load(path.read_text())
    tasks = []
    for number, entry in enumerate(table["loops"]):
        ((kind, terms),) = entry.items()
        tasks.append({"debug": {"msg": "x"}, f"with_{kind}": terms, "register": f"r{number}", "ignore_errors": True})
    with tempfile.TemporaryDirectory() as folder:
        place = Path(shutil.copytree(path.parent, Path(folder) / "play"))
        registered = ", ".join(f"r{number}" for number in range(len(tasks)))
        tasks.append({"copy": {"dest": str(place / "out.json"), "content": "{{ [" + registered + "] | to_json }}"}})
        play = {"hosts": "localhost", "gather_facts": False, "vars": table["vars"], "tasks": tasks}
        (place / "play.yml").write_text(yaml.safe_dump([play], sort_keys=False))
        done = _run([str(Path(interpreter).parent / "ansible-playbook"), "play.yml"], cwd=place)
        if not (place / "out.json").exists():
            sys.exit(f"{path.name}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        results = json.loads((place / "out.json").read_text().replace(str(place), "HERE"))
    return [
        {"items": _sorted(kind, [one["item"] for one in result["results"]])} if "results" in result else {"error": True}
        for result, (kind,) in zip(results, table["loops"], strict=True)
    ]


def _sorted(kind, items):
    """Ansible takes the files of a pattern as the file system gives them."""
    return sorted(items) if kind == "fileglob" else items


if __name__ == "__main__":
    if sys.argv[1] == "--inside":
        main_with_ansible(sys.argv[2])
    else:
        sys.exit(main(sys.argv[1], "--write" in sys.argv))
