"""Evaluates the tables in `cases/` with ansible-core and writes what it gives beside them, as JSON.

    python tests/render/against_ansible.py ANSIBLE_PYTHON            compare with what is written there
    python tests/render/against_ansible.py ANSIBLE_PYTHON --write    write it anew

ANSIBLE_PYTHON is the interpreter of an environment that holds ansible-core 2.19. The tests then need no Ansible:
they hold the same tables against the written outcomes.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

CASES = Path(__file__).parent / "cases"
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
    differing = 0
    for path in sorted(CASES.glob("*.yml")):
        done = subprocess.run(
            [interpreter, __file__, "--inside", str(path)],
            env={**os.environ, **ENVIRONMENT},
            capture_output=True,
            text=True,
        )
        lines = [line for line in done.stdout.splitlines() if line.startswith("OUTCOMES ")]
        if not lines:
            sys.exit(f"{path.name}: {done.stderr[-2000:]}")
        outcomes = json.loads(lines[0].removeprefix("OUTCOMES "))
        text = "[\n" + ",\n".join(json.dumps(outcome, ensure_ascii=False) for outcome in outcomes) + "\n]\n"
        beside = path.with_suffix(".json")
        if write:
            beside.write_text(text, encoding="utf-8")
        elif beside.read_text(encoding="utf-8") != text:
            differing += 1
            print(f"{path.name} differs from ansible-core")
    return differing


if __name__ == "__main__":
    if sys.argv[1] == "--inside":
        main_with_ansible(sys.argv[2])
    else:
        sys.exit(main(sys.argv[1], "--write" in sys.argv))
