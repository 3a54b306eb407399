"""The documentation of the step types, from the step types themselves: `inv steps`, the schema, the reference."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cleanslate.errors import InputError, Problems, suggest
from cleanslate.steps.contract import StepType, with_descriptions
from cleanslate.steps.registry import canonical, step_names, step_type

_REFERENCE = "docs/steps"


def show_steps(name: str, root: Path, *, as_json: bool) -> int:
    """List the step types, or show one: a built-in one, the repository's own, or one of Ansible's modules."""
    if name:
        step = _find(name, root)
        print(json.dumps(described(step), indent=2) if as_json else page(step))
        return 0
    own = _own(root)
    types = [*own, *(step_type(one) for one in step_names())]
    if as_json:
        print(json.dumps([described(step) for step in types], indent=2))
        return 0
    width = max(len(step.name) for step in types)
    parts = {
        "Step types of this repository": own,
        "Step types of our own": [step for step in types if step.ansible_name is None and step not in own],
        "Step types shared with Ansible": [step for step in types if step.ansible_name is not None],
    }
    for title, steps in parts.items():
        if steps:
            print(f"{title}:")
            for step in steps:
                print(f"  {step.name:<{width}}  {step.summary}")
            print()
    print("inv steps NAME shows one with its arguments, results and an example, also one of Ansible's (apt).")
    return 0


def _own(root: Path) -> list[StepType]:
    """The repository's own step types; InputError tells every file that is broken."""
    from cleanslate.playbook.own import own_files, own_type

    found: list[StepType] = []
    problems = Problems()
    for name in own_files(root / "playbooks"):
        try:
            step = own_type(name, root / "playbooks")
            found += [step[0]] if step else []
        except InputError as error:
            problems.include(error)
    problems.raise_if_any()
    return found


def _find(name: str, root: Path) -> StepType:
    found = canonical(name)
    if found is not None:
        return step_type(found)
    from cleanslate.modules import Places, Refused, find_module, module_type, package_type
    from cleanslate.playbook.own import own_files, own_type
    from cleanslate.playbook.types import unknown_name

    own = own_type(name, root / "playbooks")
    if own is not None:
        return own[0]
    module = package_type(name) or find_module(name, Places((root / "playbooks", root)))
    if isinstance(module, StepType):
        return module
    if isinstance(module, Refused):
        raise InputError(module.what, fix=module.fix)
    if module is None:
        what, fix = unknown_name(name)
        raise InputError(what, fix=suggest(name, own_files(root / "playbooks")) or fix)
    return module_type(module)


def described(step: StepType) -> dict[str, Any]:
    """Everything about a step type as JSON types."""
    return {
        "name": step.name,
        "summary": step.summary,
        "notes": step.notes,
        "arguments": {
            name: {"type": kind, "required": required, "default": default, "about": about}
            for name, kind, required, default, about in arguments_of(step)
        },
        "returns": dict(step.returns),
        "example": step.example,
        "free_form": step.free_form,
    }


def arguments_of(step: StepType) -> Iterator[tuple[str, str, bool, Any, str]]:
    """Each argument: name, type in words, required, default, what it is for; those of the type's own first."""
    if step.options is not None:
        for name, option in step.options.items():
            kind = " or ".join(json.dumps(choice) for choice in option.choices) or option.kind
            yield name, kind, option.required, option.default, " ".join(option.about.split())
        return
    schema = with_descriptions(step.arguments).model_json_schema(by_alias=False)
    required = set(schema.get("required", ()))
    own = step.arguments.__annotations__
    for name, entry in sorted(schema.get("properties", {}).items(), key=lambda item: item[0] not in own):
        about = " ".join(str(entry.get("description", "")).split())
        yield name.rstrip("_"), _kind(entry, schema), name in required, entry.get("default"), about


def _kind(entry: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """A JSON schema's type in a few words."""
    if "$ref" in entry:
        return _kind(schema["$defs"][entry["$ref"].rpartition("/")[2]], schema)
    if "enum" in entry:
        return " or ".join(json.dumps(value) for value in entry["enum"])
    if "const" in entry:
        return json.dumps(entry["const"])
    if "anyOf" in entry:
        return " or ".join(dict.fromkeys(_kind(part, schema) for part in entry["anyOf"] if part.get("type") != "null"))
    words = {"string": "text", "boolean": "yes/no", "integer": "number", "number": "number", "object": "mapping"}
    if entry.get("type") == "array":
        inner = _kind(entry.get("items", {}), schema)
        return f"list of {inner}" if inner != "anything" else "list"
    return words.get(str(entry.get("type", "")), "anything")


def page(step: StepType) -> str:
    """A step type's page in Markdown, the same for the terminal and for docs/."""
    lines = [f"# {step.name}", "", step.summary, ""]
    if step.notes:
        lines += [step.notes.strip(), ""]
    arguments = list(arguments_of(step))
    if arguments:
        lines += ["## Arguments", ""]
        for name, kind, required, default, about in arguments:
            extra = (
                ", required" if required else f", default {json.dumps(default)}" if default not in (None, []) else ""
            )
            free = ", or as free text" if name == step.free_form else ""
            lines.append(f"- **{name}** ({kind}{extra}{free}): {about}")
        lines += ["", *_rules(step)]
    if step.returns:
        lines += ["## Results", "", *(f"- **{name}**: {about}" for name, about in step.returns.items()), ""]
    lines += ["## In check mode", "", _check_mode(step), ""]
    if step.example:
        lines += ["## Example", "", "```yaml", step.example.rstrip(), "```", ""]
    return "\n".join(lines)


def _rules(step: StepType) -> list[str]:
    rules = [(step.exclusive, "At most one of"), (step.one_of, "Exactly one of"), (step.any_of, "At least one of")]
    rules.append((step.together, "All or none of"))
    found = [f"{words} {', '.join(names)}." for groups, words in rules for names in groups]
    return [*found, ""] if found else []


def _check_mode(step: StepType) -> str:
    if not step.on_target:
        return "Runs as always: it touches no host."
    if step.observes:
        return (
            "Looks as always; not run, and reported as unknown, once earlier steps have foretold changes on the host."
        )
    if step.options is not None:
        return "The module itself foretells what it would change; one that cannot is reported as unknown."
    if not step.foretells:
        return "Cannot be foretold: reported as unknown."
    return "Foretells what it would change, and changes nothing."


def print_schema() -> int:
    """Print the JSON schema of playbooks."""
    from cleanslate.playbook import playbook_schema

    print(json.dumps(playbook_schema(), indent=2))
    return 0


def write_reference(root: Path, *, only_check: bool) -> int:
    """Write docs/steps/*.md; with only_check, say which are stale and give 1."""
    wanted = {f"{name}.md": page(step_type(name)) for name in step_names()}
    wanted["README.md"] = _index()
    folder = root / _REFERENCE
    present = {path.name: path.read_text("utf-8") for path in folder.glob("*.md")} if folder.is_dir() else {}
    stale = sorted(name for name in {*wanted, *present} if wanted.get(name) != present.get(name))
    if only_check:
        for name in stale:
            print(f"{_REFERENCE}/{name} is stale; run: inv docs")
        return 1 if stale else 0
    folder.mkdir(parents=True, exist_ok=True)
    for name in stale:
        if name in wanted:
            (folder / name).write_text(wanted[name], "utf-8")
        else:
            (folder / name).unlink()
    print(f"{len(stale)} pages written, {len(wanted) - len(stale)} were fresh")
    return 0


def _index() -> str:
    lines = [
        "# Step types",
        "",
        "Written by `inv docs` from the step types themselves; `inv steps NAME` shows a page.",
        "",
    ]
    for title, ours in (("Our own", True), ("Shared with Ansible", False)):
        lines += [f"## {title}", ""]
        for name in step_names():
            step = step_type(name)
            if (step.ansible_name is None) == ours:
                lines.append(f"- [{name}]({name}.md): {step.summary}")
        lines.append("")
    return "\n".join(lines)
