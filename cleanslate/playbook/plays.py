"""Playbook files: plays, and the playbooks that they import."""

from __future__ import annotations

from dataclasses import field, replace
from pathlib import Path
from typing import Any

from cleanslate.dataclass import dataclass
from cleanslate.errors import Origin
from cleanslate.model import Keywords, Node, Play, SourceList, SourceMap
from cleanslate.playbook.entries import read_entries
from cleanslate.playbook.find import expanded, near_file
from cleanslate.playbook.inherit import NOTHING, merge, read_keywords
from cleanslate.playbook.keywords import (
    MISSING,
    PLAY_WORDS,
    SHARED,
    STEP,
    Place,
    all_words,
    collection_names,
    conditions,
    words,
)
from cleanslate.playbook.keywords import variables as read_variables
from cleanslate.playbook.loader import Loader, Scope, as_map, as_name
from cleanslate.playbook.roles import read_roles
from cleanslate.playbook.types import step_name
from cleanslate.playbook.values import as_text, copy_entry, did_you_mean, shown, templated
from cleanslate.yamlfile import shown_path

_IMPORT_KEYS = ("import_playbook", "ansible.builtin.import_playbook", "ansible.legacy.import_playbook")
_IMPORT_WORDS = ("name", "vars", "when", "tags")
_STRATEGIES = ("linear", "free", "host_pinned")
_ORDERS = ("inventory", "reverse_inventory", "sorted", "reverse_sorted", "shuffle")
_PROMPT_KEYS = ("name", "prompt", "default", "private", "confirm", "encrypt", "salt", "salt_size", "unsafe")


@dataclass(frozen=True)
class Handed:
    """What import_playbook hands to the plays that it imports."""

    vars: SourceMap = field(default_factory=SourceMap)
    keywords: Keywords = NOTHING


def read_playbook(path: Path, loader: Loader, handed: Handed | None = None) -> list[Play]:
    """The plays of a playbook file, those of imported playbooks in place."""
    value = loader.read(path)
    file = shown_path(path)
    if value is None:
        if not loader.refused(path):
            help_said = "a playbook is a list of plays, each with hosts: and tasks:"
            loader.problems.add("the playbook is empty", Origin(file), fix=help_said)
        return []
    if not isinstance(value, SourceList):
        fix = 'start the play with "- "' if isinstance(value, dict) and "hosts" in value else None
        what = f"a playbook is a list of plays, not {shown(value)}"
        loader.problems.add(what, getattr(value, "origin", None) or Origin(file), fix=fix)
        return []
    if value and all(isinstance(entry, dict) and "hosts" not in entry and _is_step(entry) for entry in value):
        what = "this file is a list of steps, not of plays"
        help_said = "put it below tasks: of a play, or reach it with import_tasks"
        loader.problems.add(what, value.item_origin(0), fix=help_said)
        return []
    plays: list[Play] = []
    for index, entry in enumerate(value):
        plays += _read_entry(entry, path, loader, handed or Handed(), value.item_origin(index) or Origin(file))
    return plays


def _is_step(entry: dict[Any, Any]) -> bool:
    return not any(key in _IMPORT_KEYS for key in entry) and any(
        isinstance(key, str) and step_name(key) for key in entry
    )


def _read_entry(entry: Any, path: Path, loader: Loader, handed: Handed, origin: Origin) -> list[Play]:
    if not isinstance(entry, dict):
        loader.problems.add(f"{shown(entry)} is not a play", origin, fix="a play is a map with hosts: and tasks:")
        return []
    source = as_map(entry, origin)
    key = next((key for key in _IMPORT_KEYS if key in source), None)
    if key is not None:
        return _read_import(source, key, path, loader, handed, origin)
    play = _read_play(source, path, loader, handed, origin)
    return [play]


# ---------------------------------------------------------------------- import_playbook


def _read_import(source: SourceMap, key: str, path: Path, loader: Loader, handed: Handed, origin: Origin) -> list[Play]:
    problems = loader.problems
    name, at = source[key], source.value_origin(key)
    subject = "import_playbook"
    for word in source:
        if word != key and word not in _IMPORT_WORDS:
            what, fix = f'{subject} has no keyword "{word}"', did_you_mean(str(word), _IMPORT_WORDS)
            problems.add(what, source.key_origin(word), fix=fix)
    if not isinstance(name, str) or not name.strip():
        problems.add(f"{subject} needs the file of a playbook", at)
        return []
    own: dict[str, Any] = {}
    for word, read in (("when", conditions), ("tags", words), ("vars", read_variables)):
        if source.get(word) is not None:
            kept = read(source[word], Place(problems, subject, word, source.value_origin(word)))
            if kept is not MISSING:
                own[word] = kept
    values = own.pop("vars", (SourceMap(),))[0]
    inner = Handed(_over(values, handed.vars), merge(handed.keywords, own))
    scope = Scope(merge(NOTHING, {"vars": (inner.vars,)}), path)
    rendered = loader.render(name, scope, at, f"{subject}: the name of the file") if templated(name) else name
    if rendered is None:
        return []
    return _import_file(str(rendered).strip(), path, loader, inner, at or origin)


def _import_file(name: str, path: Path, loader: Loader, handed: Handed, origin: Origin) -> list[Play]:
    if name.count(".") == 2 and "/" not in name and not name.endswith((".yml", ".yaml")):
        what = f'"{name}" is a playbook of a collection'
        loader.problems.add(what, origin, fix="collections are not known here; name its file")
        return []
    file = path.parent / expanded(name)
    if not file.is_file():
        what = f'import_playbook: there is no playbook "{name}"'
        loader.problems.add(what, origin, fix=near_file(name, [file]), code="missing-file")
        return []
    if not loader.enter(file, origin, "import_playbook"):
        return []
    outer, loader.playbook_dir = loader.playbook_dir, file.parent  # roles and files are beside the imported one
    try:
        return read_playbook(file, loader, handed)
    finally:
        loader.leave()
        loader.playbook_dir = outer


def _over(upper: SourceMap, lower: SourceMap) -> SourceMap:
    """Two maps of variables in one; `upper` wins."""
    if not lower or not upper:
        return upper or lower
    made = SourceMap((), lower.origin)
    for source in (lower, upper):
        for key in source:
            copy_entry(source, key, made)
    return made


# ---------------------------------------------------------------------- plays


def _read_play(source: SourceMap, path: Path, loader: Loader, handed: Handed, origin: Origin) -> Play:
    problems = loader.problems
    name = as_name(source.get("name"), source.value_origin("name"))
    subject = f'play "{name}"' if name else "play"
    _check_keys(source, subject, loader)
    found = _read_words(source, subject, loader)
    keywords = merge(handed.keywords, read_keywords(source, SHARED, problems, subject))
    if "user" in found and keywords.remote_user is None:
        keywords = replace(keywords, remote_user=found["user"])
    play = Play(
        name=name,
        hosts=_hosts(source, subject, loader, origin),
        origin=origin,
        playbook=path,
        vars=_over(handed.vars, found.get("vars", (SourceMap(),))[0]),
        vars_files=_vars_files(source, subject, loader),
        vars_prompt=_vars_prompt(source, subject, loader),
        gather_facts=found.get("gather_facts"),
        gather_subset=source.get("gather_subset"),
        serial=_serial(source, subject, loader),
        strategy=str(_choice(found, source, "strategy", _STRATEGIES, subject, loader) or "linear"),
        order=_choice(found, source, "order", _ORDERS, subject, loader),
        max_fail_percentage=found.get("max_fail_percentage"),
        any_errors_fatal=keywords.any_errors_fatal,
        force_handlers=found.get("force_handlers"),
        lease=source.get("lease"),
        collections=collection_names(source.get("collections")),
        keywords=keywords,
    )
    _read_parts(play, source, path, subject, loader)
    return play


def _read_parts(play: Play, source: SourceMap, path: Path, subject: str, loader: Loader) -> None:
    """The play's roles and lists of steps; variables that they may need at load are known by now."""
    scope = Scope(play.keywords, path)
    loader.play, loader.imported_roles = play, []

    def nodes(part: str, inner: Scope) -> tuple[Node, ...]:
        return read_entries(source.get(part), inner, loader, f'{subject}: "{part}"', source.value_origin(part))

    play.roles = read_roles(source.get("roles"), scope, loader, f'{subject}: "roles"', source.value_origin("roles"))
    play.pre_tasks, play.tasks, play.post_tasks = (nodes(part, scope) for part in ("pre_tasks", "tasks", "post_tasks"))
    handed = replace(play.keywords, when=(), tags=())  # handlers run when notified, whatever else is asked
    play.handlers = nodes("handlers", replace(scope, inherit=handed, handlers=True))
    play.imported_roles = tuple(loader.imported_roles)


def _read_words(source: SourceMap, subject: str, loader: Loader) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in source.items():
        read = PLAY_WORDS.get(key) if isinstance(key, str) and key not in SHARED else None
        if read is None or value is None:
            continue
        kept = read(value, Place(loader.problems, subject, key, source.value_origin(key)))
        if kept is not MISSING:
            found[key] = kept
    return found


def _check_keys(source: SourceMap, subject: str, loader: Loader) -> None:
    for key in source:
        if key in SHARED or key in PLAY_WORDS:
            continue
        places = all_words().get(key) if isinstance(key, str) else None
        if isinstance(key, str) and step_name(key):
            what, fix = (
                f'the step type "{key}" stands in a play',
                'put it into the play\'s list: tasks:, then "- " before it',
            )
        elif places or (isinstance(key, str) and key.startswith("with_")):
            what, fix = f'"{key}" is a keyword of {places or "steps"}, not of plays', None
            if key in ("when", "delegate_to", "delegate_facts", "notify"):
                fix = "put it on a block: around the steps"
            elif key in STEP and key not in SHARED:
                fix = "indent it so that it belongs to a step"
        else:
            what, fix = f'plays have no keyword "{key}"', did_you_mean(str(key), [*SHARED, *PLAY_WORDS])
        loader.problems.add(f"{subject}: {what}", source.key_origin(key), fix=fix)


def _hosts(source: SourceMap, subject: str, loader: Loader, origin: Origin) -> Any:
    hosts = source.get("hosts")
    parts = hosts if isinstance(hosts, list) else [hosts]
    at = source.value_origin("hosts") if "hosts" in source else origin
    if hosts in (None, "", []):
        fix = "name hosts, groups or a pattern; hosts: all means every host"
        what = "its hosts are empty" if "hosts" in source else "it does not say which hosts it is for"
        loader.problems.add(f"{subject}: {what}", at, fix=fix)
        return []
    for part in parts:
        if not isinstance(part, str | int) or isinstance(part, bool) or part == "":
            what = f'{subject}: "hosts" takes a pattern or a list of them, not {shown(part)}'
            loader.problems.add(what, at)
            return []
    texts = [part if isinstance(part, str) else as_text(part, at) for part in parts]
    return texts if isinstance(hosts, list) else texts[0]


def _vars_files(source: SourceMap, subject: str, loader: Loader) -> tuple[Any, ...]:
    value = source.get("vars_files")
    if value is None:
        return ()
    entries = value if isinstance(value, list) else [value]
    for entry in entries:
        inner = entry if isinstance(entry, list) else [entry]
        if not inner or not all(isinstance(one, str) and one for one in inner):
            what = f'{subject}: "vars_files" takes the names of files, not {shown(entry)}'
            loader.problems.add(what, source.value_origin("vars_files"))
            return ()
    return tuple(entries)


def _vars_prompt(source: SourceMap, subject: str, loader: Loader) -> tuple[SourceMap, ...]:
    value = source.get("vars_prompt")
    if value is None:
        return ()
    found: list[SourceMap] = []
    at = source.value_origin("vars_prompt")
    for entry in value if isinstance(value, list) else [value]:
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            what = f'{subject}: an entry of "vars_prompt" is a map with the name of a variable'
            loader.problems.add(what, getattr(entry, "origin", None) or at, fix="- {name: user, prompt: Who?}")
            continue
        prompt = as_map(entry, at)
        for key in prompt:
            if key not in _PROMPT_KEYS:
                what, fix = f'{subject}: vars_prompt has no "{key}"', did_you_mean(str(key), _PROMPT_KEYS)
                loader.problems.add(what, prompt.key_origin(key), fix=fix)
        found.append(prompt)
    return tuple(found)


def _serial(source: SourceMap, subject: str, loader: Loader) -> Any:
    value = source.get("serial")
    for part in value if isinstance(value, list) else [value]:
        good = part is None or templated(part) or (isinstance(part, int) and not isinstance(part, bool))
        if not good and not (isinstance(part, str) and part.strip().removesuffix("%").isdigit()):
            what = f'{subject}: "serial" takes a number, a percentage or a list of them, not {shown(part)}'
            loader.problems.add(what, source.value_origin("serial"), fix='for example serial: 2, or serial: "30%"')
            return None
    return value


def _choice(
    found: dict[str, Any], source: SourceMap, key: str, known: tuple[str, ...], subject: str, loader: Loader
) -> Any:
    value = found.get(key)
    if value is None or templated(value) or value.removeprefix("ansible.builtin.") in known:
        return value.removeprefix("ansible.builtin.") if value else None
    what = f'{subject}: there is no {key} "{value}"'
    fix = did_you_mean(value, known) or f"known are {', '.join(known)}"
    loader.problems.add(what, source.value_origin(key), fix=fix)
    return None
