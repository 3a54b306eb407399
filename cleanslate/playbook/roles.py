"""Roles: their files' content, their dependencies, and the parameters of each use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from cleanslate.dataclass import dataclass
from cleanslate.errors import Origin
from cleanslate.model import Keywords, Node, Role, SourceMap, SourceText, Step
from cleanslate.playbook.entries import read_entries
from cleanslate.playbook.find import expanded, role_file, role_files, role_search_paths
from cleanslate.playbook.forms import Form
from cleanslate.playbook.inherit import merge, read_keywords
from cleanslate.playbook.keywords import ROLE, STEP, Place, collection_names
from cleanslate.playbook.keywords import variables as read_variables
from cleanslate.playbook.loader import Loader, Scope, as_map
from cleanslate.playbook.values import as_data, copy_entry, did_you_mean, is_name, name_refusal, shown, templated
from cleanslate.yamlfile import shown_path

_META_KEYS = ("dependencies", "allow_duplicates", "argument_specs", "galaxy_info", "collections")


@dataclass(frozen=True)
class Use:
    """How a role is used: which of its files, with what."""

    name: str
    origin: Origin | None
    subject: str
    params: SourceMap
    tasks_from: str = "main"
    vars_from: str = "main"
    defaults_from: str = "main"
    handlers_from: str = "main"
    public: bool = True
    allow_duplicates: bool | None = None  # None: as the role's meta says
    parents: tuple[Role, ...] = ()
    validate: bool = True  # by its argument_specs, before its steps


# ---------------------------------------------------------------------- roles: and dependencies:


def read_roles(value: Any, scope: Scope, loader: Loader, what: str, origin: Origin | None) -> tuple[Role, ...]:
    """The roles of a play's `roles:` or a role's `dependencies:`."""
    if value is None:
        return ()
    if not isinstance(value, list):
        fix = 'start each role with "- "' if isinstance(value, dict | str) else None
        loader.problems.add(f"{what} takes a list of roles, not {shown(value)}", origin, fix=fix)
        return ()
    places = getattr(value, "item_origin", lambda _index: origin)
    found = (_read_entry(entry, scope, loader, places(index) or origin, what) for index, entry in enumerate(value))
    return tuple(role for role in found if role is not None)


def _read_entry(entry: Any, scope: Scope, loader: Loader, origin: Origin | None, what: str) -> Role | None:
    if not isinstance(entry, str | dict):
        loader.problems.add(f"{what}: {shown(entry)} is not a role", origin, fix="write its name, or a map with role:")
        return None
    source = as_map(entry, origin) if isinstance(entry, dict) else SourceMap({"role": entry}, origin)
    key = "role" if "role" in source else "name"
    name, at = source.get(key), source.value_origin(key)
    if not isinstance(name, str) or not name.strip():
        loader.problems.add(f"{what}: a role needs its name", origin, fix="for example - role: web")
        return None
    if templated(name):
        name = loader.render(name, scope, at, f"{what}: the name of a role")
        if name is None:
            return None
    subject = f'role "{name}"'
    keywords = merge(scope.inherit, read_keywords(source, ROLE, loader.problems, subject))
    params = _params(source, subject, loader)
    parents = (*scope.role.parents, scope.role) if scope.role is not None else ()
    use = Use(str(name), at, subject, params, parents=parents)
    return read_role(use, replace(scope, inherit=keywords), loader)


def _params(source: SourceMap, subject: str, loader: Loader) -> SourceMap:
    """Every key that is no keyword is a parameter; one that nearly is a keyword deserves a word."""
    params = SourceMap((), source.origin)
    for key in source:
        if key in ROLE or key in ("role", "name"):
            continue
        copy_entry(source, key, params)
        if not is_name(key):
            what = f'{subject}: "{key}" cannot be the name of a parameter'
            loader.problems.add(what, source.key_origin(key), fix=name_refusal(key))
            continue
        near = did_you_mean(key, ROLE, cutoff=0.75)
        if key in STEP:
            what = f'{subject}: "{key}" is a keyword of steps; here it becomes a parameter of the role'
            loader.problems.add(what, source.key_origin(key), severity="warning", code="role-param")
        elif near:
            what = f'{subject}: "{key}" becomes a parameter of the role'
            loader.problems.add(what, source.key_origin(key), fix=near, severity="warning", code="role-param")
    return params


# ---------------------------------------------------------------------- import_role


def read_imported_role(form: Form, scope: Scope, loader: Loader) -> tuple[Node, ...]:
    """The nodes of an imported role, those of the roles that it depends on first."""
    args = form.args
    key = "name" if "name" in args else "role"
    name, origin = args.get(key), args.value_origin(key) or form.origin
    if not isinstance(name, str) or not name.strip():
        fix = "for example import_role: {name: web}"
        loader.problems.add(f"{form.subject}: import_role needs the name of a role", origin, fix=fix)
        return ()
    files: dict[str, str] = {}
    for argument in ("tasks_from", "vars_from", "defaults_from", "handlers_from"):
        value = args.get(argument)
        if value is not None:
            files[argument] = str(value)
    values: dict[str, str] = {"name": name, **files}
    for word, text in values.items():
        if templated(text):
            rendered = loader.render(text, scope, args.value_origin(word), f'{form.subject}: "{word}" of an import')
            if rendered is None:
                return ()
            values[word] = str(rendered)
    parents = (*scope.role.parents, scope.role) if scope.role is not None else ()
    use = Use(
        values.pop("name"),
        origin,
        form.subject,
        SourceMap(),
        **values,
        public=_said(args.get("public"), default=True),
        allow_duplicates=_said(args.get("allow_duplicates"), default=True),
        parents=parents,
        validate=_said(args.get("rolespec_validate"), default=True),
    )
    role = read_role(use, scope, loader)
    if role is None:
        return ()
    loader.imported_roles += _with_dependencies(role)
    return tuple(node for one in _with_dependencies(role) for node in one.tasks)


def _said(value: Any, *, default: bool) -> bool:
    if isinstance(value, bool):
        return value
    return default if value is None else str(value).lower() in ("yes", "true", "on", "1")


def _with_dependencies(role: Role) -> list[Role]:
    found: list[Role] = []
    for dependency in role.dependencies:
        found += _with_dependencies(dependency)
    return [*found, role]


# ---------------------------------------------------------------------- a role's files


def find_role(name: str, playbook_dir: Path, parent: Role | None) -> Path | None:
    """The folder of a role, by its name or path."""
    given = expanded(name)
    if given.is_absolute():
        return given if given.is_dir() else None
    places = (folder / name for folder in role_search_paths(playbook_dir, parent=parent))
    return next((place for place in places if place.is_dir()), None)


def read_role(use: Use, scope: Scope, loader: Loader) -> Role | None:
    """Read a role's files; None (and a noted mistake) when there is no such role. `scope` carries its keywords."""
    parent = use.parents[-1] if use.parents else None
    path = find_role(use.name, loader.playbook_dir, parent)
    if path is None:
        _refuse_missing(use, loader, parent)
        return None
    entry = f"{use.name} ({use.tasks_from})" if use.tasks_from != "main" else use.name
    if not loader.enter(path / f"tasks/{use.tasks_from}", use.origin, use.subject, entry):
        return None
    try:
        return _read_files(use, path.absolute(), scope, loader)
    finally:
        loader.leave()


def _refuse_missing(use: Use, loader: Loader, parent: Role | None) -> None:
    folders = role_search_paths(loader.playbook_dir, parent=parent)
    there = {item.name for folder in folders[:-1] if folder.is_dir() for item in folder.iterdir() if item.is_dir()}
    looked = "looked in " + ", ".join(shown_path(folder) for folder in folders if folder.is_dir())
    hint = did_you_mean(use.name, sorted(there))
    what = f'there is no role "{use.name}"'
    what = what if use.subject == f'role "{use.name}"' else f"{use.subject}: {what}"
    loader.problems.add(what, use.origin, fix=hint or looked, code="missing-role")


def _read_files(use: Use, path: Path, scope: Scope, loader: Loader) -> Role:
    keywords: Keywords = scope.inherit
    meta = _read_meta(path, loader)
    role = Role(
        name=path.name if expanded(use.name).is_absolute() else use.name,
        path=path,
        defaults=_read_variables(path / "defaults", use.defaults_from, "defaults_from", use, loader),
        vars=_read_variables(path / "vars", use.vars_from, "vars_from", use, loader),
        params=use.params,
        parents=use.parents,
        public=use.public,
        allow_duplicates=bool(meta.get("allow_duplicates")) if use.allow_duplicates is None else use.allow_duplicates,
        argument_specs=_argument_specs(path, meta, loader),
        keywords=keywords,
        origin=use.origin,
        tasks_from=use.tasks_from.removesuffix(".yml").removesuffix(".yaml"),
        collections=collection_names(meta.get("collections")),
    )
    meta_path = role_file(path / "meta", "main") or path / "meta/main.yml"
    inner = Scope(keywords, meta_path, role, lenient=scope.lenient)
    if meta.get("dependencies"):
        at = meta.value_origin("dependencies")
        role.dependencies = read_roles(meta["dependencies"], inner, loader, '"dependencies"', at)
    role.handlers = _read_steps(path / "handlers", use.handlers_from, "handlers_from", use, inner, loader)
    role.tasks = _read_steps(path / "tasks", use.tasks_from, "tasks_from", use, inner, loader)
    if use.validate:
        role.tasks = (*_validation(role), *role.tasks)
    return role


def _validation(role: Role) -> Iterator[Step]:
    """The step that checks a role's parameters before all others, where its argument_specs tell of the entry point."""
    spec = None if role.argument_specs is None else role.argument_specs.get(role.tasks_from)
    if not isinstance(spec, dict):
        return
    origin = spec.origin if isinstance(spec, SourceMap) and spec.origin else Origin(str(role.path / "meta"))
    said = f" - {spec['short_description']}" if spec.get("short_description") else ""
    about = {"type": "role", "name": role.name, "argument_spec_name": role.tasks_from, "path": str(role.path)}
    args = SourceMap({"argument_spec": as_data(spec.get("options") or {}), "validate_args_context": about}, origin)
    args["provided_arguments"] = role.params
    words = replace(role.keywords, tags=tuple(dict.fromkeys((*role.keywords.tags, "always"))))
    name = SourceText(f"Validating arguments against arg spec '{role.tasks_from}'{said}", origin)
    yield Step("validate_argument_spec", args, words, origin, name, role, inherit=role.keywords)


def _read_steps(folder: Path, name: str, word: str, use: Use, scope: Scope, loader: Loader) -> tuple[Node, ...]:
    path = role_file(folder, name)
    if path is None:
        if name != "main":
            _refuse_file(folder, name, word, use, loader)
        return ()
    inner = replace(scope, file=path, handlers=folder.name == "handlers")
    return read_entries(loader.read(path), inner, loader, f"{folder.name}/{path.name}", Origin(shown_path(path)))


def _refuse_file(folder: Path, name: str, word: str, use: Use, loader: Loader) -> None:
    there = [item.name for item in folder.iterdir()] if folder.is_dir() else []
    near = did_you_mean(name, [item.rsplit(".", 1)[0] for item in there])
    what = f'{use.subject}: the role "{use.name}" has no file {folder.name}/{name}.yml ({word})'
    loader.problems.add(what, use.origin, fix=near, code="missing-file")


def _read_variables(folder: Path, name: str, word: str, use: Use, loader: Loader) -> SourceMap:
    paths = role_files(folder, name)
    if not paths and name != "main":
        _refuse_file(folder, name, word, use, loader)
    merged = SourceMap()
    for path in paths:
        value = loader.read(path)
        if value is None:
            continue
        place = Place(loader.problems, f"{folder.name}/{path.name}", "the file", Origin(shown_path(path)))
        layer = read_variables(value, place)
        if not isinstance(layer, tuple):
            continue
        if len(paths) == 1:
            return as_map(layer[0])
        for key in layer[0]:
            copy_entry(layer[0], key, merged)
    return merged


def _read_meta(path: Path, loader: Loader) -> SourceMap:
    file = role_file(path / "meta", "main")
    if file is None or (value := loader.read(file)) is None:
        return SourceMap()
    if not isinstance(value, dict):
        loader.problems.add(f"a role's meta is a map, not {shown(value)}", Origin(shown_path(file)))
        return SourceMap()
    meta = as_map(value)
    for key in meta:
        if key not in _META_KEYS:
            what, fix = f'meta has no key "{key}"', did_you_mean(str(key), _META_KEYS)
            loader.problems.add(what, meta.key_origin(key), fix=fix)
    return meta


def _argument_specs(path: Path, meta: SourceMap, loader: Loader) -> SourceMap | None:
    """What `meta/argument_specs.yml` (or `meta/main.yml`) says of the role's parameters, by entry point."""
    file = role_file(path / "meta", "argument_specs")
    source = as_map(loader.read(file) or SourceMap()) if file is not None else meta
    specs = source.get("argument_specs")
    if specs is None:
        return None
    if isinstance(specs, dict):
        return as_map(specs, source.value_origin("argument_specs"))
    what = f'"argument_specs" takes a map, not {shown(specs)}'
    loader.problems.add(what, source.value_origin("argument_specs"))
    return None


__all__ = ["Use", "find_role", "read_imported_role", "read_role", "read_roles"]
