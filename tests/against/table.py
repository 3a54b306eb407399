"""Each word of the playbook language, with the cases whose outcome was taken from ansible-core.

    python -m tests.against.table            print the table, what has no case first

A case is a project (tests/projects), an expression or loop (tests/render), or a step (tests/steps): all of them keep
what ansible-core gave, and `inv test --against-ansible` asks it again.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.render import test_registry as names

TESTS = Path(__file__).parent.parent
PROJECTS = TESTS / "projects/playbooks"
SHIPPED = ("ansible.builtin.", "ansible.legacy.")

PLAYS = """
    hosts import_playbook vars vars_files vars_prompt pre_tasks tasks post_tasks roles handlers force_handlers serial
    max_fail_percentage any_errors_fatal strategy order throttle gather_facts gather_subset module_defaults environment
    become become_user collections tags name ignore_errors check_mode diff run_once connection no_log timeout port
    remote_user become_method
"""
ROLES = "role when tags vars dependencies allow_duplicates argument_specs"
STEPS = """
    when loop loop_control register until retries delay changed_when failed_when ignore_errors ignore_unreachable block
    rescue always delegate_to delegate_facts run_once async poll tags args vars no_log check_mode diff timeout notify
    listen become become_user environment module_defaults throttle any_errors_fatal local_action action name
    connection collections
"""
LOOPS = """
    items list dict nested together sequence subelements indexed_items lines ini fileglob first_found file env
    inventory_hostnames random_choice template pipe varnames vars csvfile password
"""
LOOP_CONTROL = "loop_var index_var label pause extended break_when"
TAGS = "always never tagged untagged all"
META = """
    flush_handlers end_play end_host end_batch clear_facts clear_host_errors noop refresh_inventory reset_connection
    end_role
"""
MAGIC = """
    hostvars groups group_names inventory_hostname inventory_hostname_short play_hosts ansible_play_hosts
    ansible_play_hosts_all ansible_play_batch ansible_play_name role_path role_name playbook_dir omit vars
    ansible_check_mode ansible_facts ansible_failed_task ansible_failed_result inventory_dir
"""
TYPES = """
    command shell raw script copy template file lineinfile blockinfile replace assemble stat find slurp fetch tempfile
    unarchive get_url uri wait_for wait_for_connection pause debug assert fail set_fact set_stats setup gather_facts
    ping async_status add_host group_by include_vars meta validate_argument_spec import_tasks include_tasks import_role
    include_role service systemd package reboot
"""
ELSEWHERE = {
    ("step type", "service"): "needs systemd: tests/steps/test_services.py holds it against its documentation",
    ("step type", "systemd"): "needs systemd: tests/steps/test_services.py holds it against its documentation",
    ("step type", "package"): "is Ansible's own module here: tests/modules runs Ansible's code",
    ("step type", "reboot"): "restarts the machine: tests/steps/test_reboot.py",
    ("lookup", "config"): "is refused: there is no ansible.cfg here (tests/render/test_lookups.py)",
}
"""What cannot be run by ansible-core in a test, and why; everything else has a case."""


def wanted() -> Iterator[tuple[str, str]]:
    """Every (kind, word) of the language."""
    lists = {
        "play keyword": PLAYS,
        "role keyword": ROLES,
        "step keyword": STEPS,
        "loop": LOOPS,
        "loop_control": LOOP_CONTROL,
        "tag": TAGS,
        "meta": META,
        "variable": MAGIC,
        "step type": TYPES,
        "filter": names.ANSIBLE_FILTERS + names.JINJA_FILTERS,
        "test": names.ANSIBLE_TESTS + names.JINJA_TESTS,
        "lookup": names.ANSIBLE_LOOKUPS,
    }
    for kind, words in lists.items():
        for word in words.split():
            yield kind, word


@cache
def cases() -> dict[tuple[str, str], list[str]]:
    """(kind, word) -> where its cases are."""
    found: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for kind, word, where in (*_of_projects(), *_of_expressions(), *_of_loops(), *_of_steps()):
        found[kind, word][where] = None
    return {key: list(places) for key, places in found.items()}


# ---------------------------------------------------------------------- projects


def _of_projects() -> Iterator[tuple[str, str, str]]:
    for folder in sorted(PROJECTS.iterdir()):
        if not (folder / "expect.yml").is_file():
            continue
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".yml", ".yaml") and path.name != "expect.yml" and path.is_file():
                for kind, word in _of_document(path):
                    yield kind, word, folder.name
        for kind, word in _of_texts(folder):
            yield kind, word, folder.name
        for run in yaml.safe_load((folder / "expect.yml").read_text())["runs"]:
            for text in [*run.get("tags", ()), *run.get("skip_tags", ())] if isinstance(run.get("tags"), list) else ():
                yield "tag", text, folder.name
            said = json.dumps(run)
            for word in TAGS.split():
                if re.search(rf"tags[^\]}}]*\b{word}\b", said):
                    yield "tag", word, folder.name


def _of_document(path: Path) -> Iterator[tuple[str, str]]:
    try:
        document = yaml.load(path.read_text(), Loader=_Any)
    except (yaml.YAMLError, UnicodeDecodeError):
        return  # a vault, or a mistake on purpose
    if path.parent.name == "meta" and isinstance(document, dict):
        yield from (("role keyword", word) for word in document)
        yield from _roles(document.get("dependencies"))
    elif isinstance(document, list):
        for entry in document:
            yield from _of_entry(entry)


def _of_entry(entry: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(entry, dict):
        return
    words = {_short(key): value for key, value in entry.items() if isinstance(key, str)}
    if "hosts" in words or "import_playbook" in words:
        yield from (("play keyword", word) for word in words)
        yield from _roles(words.get("roles"))
        yield from _tags(words.get("tags"))
        for part in ("tasks", "pre_tasks", "post_tasks", "handlers"):
            for inner in words.get(part) or ():
                yield from _of_entry(inner)
        return
    yield from _of_step(words)
    for part in ("block", "rescue", "always"):
        for inner in words.get(part) or ():
            yield from _of_entry(inner)


def _of_step(words: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for word, value in words.items():
        yield "step keyword", word
        yield "step type", word
        if word.startswith("with_"):
            yield "loop", word.removeprefix("with_")
        if word == "loop_control" and isinstance(value, dict):
            yield from (("loop_control", key) for key in value)
        if word == "meta":
            yield "meta", str(value.get("_raw_params", value) if isinstance(value, dict) else value)
        if word in ("action", "local_action"):
            name = value.get("module", "") if isinstance(value, dict) else str(value).split(" ")[0]
            yield "step type", _short(name)
    yield from _tags(words.get("tags"))


def _tags(value: Any) -> Iterator[tuple[str, str]]:
    for text in value if isinstance(value, list) else [value]:
        yield "tag", str(text)


def _roles(value: Any) -> Iterator[tuple[str, str]]:
    for entry in value if isinstance(value, list) else ():
        yield from (("role keyword", word) for word in (entry if isinstance(entry, dict) else ["role"]))


def _short(word: str) -> str:
    for prefix in SHIPPED:
        word = word.removeprefix(prefix)
    return word


# ---------------------------------------------------------------------- expressions


def _of_texts(folder: Path) -> Iterator[tuple[str, str]]:
    """The variables that a project's files name."""
    for path in folder.rglob("*"):
        if path.suffix in (".yml", ".yaml", ".j2") and path.name != "expect.yml" and path.is_file():
            text = path.read_text(errors="replace")
            for word in MAGIC.split():
                if re.search(rf"(?<![\w.'\"]){word}\b(?!:)", text):
                    yield "variable", word


def _of_expressions() -> Iterator[tuple[str, str, str]]:
    for path in sorted((TESTS / "render/cases").glob("*.yml")):
        table = yaml.load(path.read_text(), Loader=_Any)
        outcomes = json.loads(path.with_suffix(".json").read_text())
        texts = [*(table.get("templates") or ()), *(table.get("conditions") or ())]
        for number, (text, outcome) in enumerate(zip(texts, outcomes, strict=True)):
            if "error" not in outcome:
                for kind, word in _used(text if isinstance(text, str) else json.dumps(text)):
                    yield kind, word, f"{path.name}#{number + 1}"


def _used(text: str) -> Iterator[tuple[str, str]]:
    """The filters, tests and lookups in an expression, also those that are named for map and select."""
    for word in re.findall(r"\|\s*(?:ansible\.(?:builtin|legacy)\.)?(\w+)", text):
        yield "filter", word
    for word in re.findall(r"\bis\s+(?:not\s+)?(?:ansible\.(?:builtin|legacy)\.)?(\w+)", text):
        yield "test", word
    for word in re.findall(r"(?:select|reject|selectattr|rejectattr)\([^)]*?['\"](\w+)['\"]", text):
        yield "test", word
    for word in re.findall(r"(?:selectattr|rejectattr)\(['\"][^'\"]+['\"],\s*['\"](\w+)['\"]", text):
        yield "test", word
    for word in re.findall(r"map\(['\"](\w+)['\"]", text):
        yield "filter", word
    for word in re.findall(r"\b(?:lookup|query|q)\(\s*['\"](?:ansible\.(?:builtin|legacy)\.)?(\w+)['\"]", text):
        yield "lookup", word
    for word, sign in (
        ("in", r"\bin\b"),
        ("eq", "=="),
        ("ne", "!="),
        ("gt", ">"),
        ("lt", "<"),
        ("ge", ">="),
        ("le", "<="),
    ):
        if word in ("in",) and re.search(rf"is {sign}", text):
            yield "test", word


def _of_loops() -> Iterator[tuple[str, str, str]]:
    path = TESTS / "render/loops/loops.yml"
    outcomes = json.loads(path.with_suffix(".json").read_text())
    for number, (entry, outcome) in enumerate(zip(yaml.safe_load(path.read_text())["loops"], outcomes, strict=True)):
        if "error" not in outcome:
            yield "loop", next(iter(entry)), f"{path.name}#{number + 1}"


def _of_steps() -> Iterator[tuple[str, str, str]]:
    for path in sorted((TESTS / "steps/outcomes").glob("*.json")):
        yield "step type", path.stem, f"steps/cases/{path.stem}.yml"


class _Any(yaml.SafeLoader):
    """Takes every tag for text."""


_Any.add_multi_constructor("!", lambda loader, _suffix, node: loader.construct_scalar(node))


def missing() -> list[str]:
    """The words that have no case and no reason why."""
    return [
        f"{kind} {word}" for kind, word in wanted() if not cases().get((kind, word)) and (kind, word) not in ELSEWHERE
    ]


def main() -> None:
    """Print the table."""
    for line in missing():
        print(f"{line}: NO CASE")
    for kind, word in wanted():
        places = cases().get((kind, word)) or [ELSEWHERE.get((kind, word), "")]
        print(f"{kind:14} {word:22} {len(places):3}  {', '.join(places[:3])}")


if __name__ == "__main__":
    main()
