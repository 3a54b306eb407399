"""All steps of a play as far as they are known without a host: also those of includes whose names are literal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from typing import Any

from cleanslate.dataclass import dataclass
from cleanslate.errors import Origin, Problems
from cleanslate.model import Block, Node, Play, Role, SourceMap, Step
from cleanslate.playbook.entries import read_entries
from cleanslate.playbook.find import near_file, tasks_file_places
from cleanslate.playbook.inherit import merge, read_apply
from cleanslate.playbook.loader import Loader, Scope
from cleanslate.playbook.roles import Use, read_role
from cleanslate.playbook.values import shown, templated
from cleanslate.yamlfile import shown_path


@dataclass(frozen=True)
class Found:
    """A step with what surrounds it. `guarded`: a rescue or ignore_errors is there to deal with its failure."""

    step: Step
    subject: str
    handler: bool = False
    guarded: bool = False


@dataclass
class Survey:
    """What a play holds. `open_roles`: some include_role has a name that only a host decides; `open`: so has anything.

    `vars_files` is what the play's vars_files hold, None when a template names one of them.
    """

    play: Play
    steps: list[Found] = field(default_factory=list)
    handlers: list[Step] = field(default_factory=list)
    roles: list[Role] = field(default_factory=list)
    open_roles: bool = False
    open: bool = False
    vars_files: list[SourceMap] | None = field(default_factory=list)
    _seen: set[tuple[Any, ...]] = field(default_factory=set)


def survey_play(play: Play, loader: Loader) -> Survey:
    """Collect a play's steps, following its roles and literal includes; missing ones are noted as mistakes."""
    walk = _Walk(Survey(play), loader)
    loader.play, loader.playbook_dir = play, play.playbook.parent
    for role in (*play.roles, *play.imported_roles):
        walk.role(role, steps=role in play.roles)
    for part in (play.pre_tasks, play.tasks, play.post_tasks):
        walk.nodes(part)
    walk.handlers(play.handlers)
    return walk.survey


@dataclass(frozen=True)
class _Link:
    """An include that led here, and whether anything decides if it happens."""

    path: Path
    conditional: bool


class _Walk:
    def __init__(self, survey: Survey, loader: Loader) -> None:
        self.survey = survey
        self.loader = loader
        self.chain: list[_Link] = []

    @property
    def problems(self) -> Problems:
        return self.loader.problems

    def role(self, role: Role, *, steps: bool = True) -> None:
        for dependency in role.dependencies:
            self.role(dependency, steps=steps)
        self.survey.roles.append(role)
        self.handlers(role.handlers)
        if steps:
            self.nodes(role.tasks)

    def handlers(self, nodes: tuple[Node, ...]) -> None:
        self.survey.handlers += [node for node in nodes if isinstance(node, Step)]
        self.nodes(nodes, handler=True)

    def nodes(self, nodes: tuple[Node, ...], *, handler: bool = False, guarded: bool = False) -> None:
        for node in nodes:
            if isinstance(node, Block):
                self.nodes(node.block, handler=handler, guarded=guarded or bool(node.rescue))
                self.nodes(node.rescue, handler=handler, guarded=guarded)
                self.nodes(node.always, handler=handler, guarded=guarded)
                continue
            kind = "handler" if handler else "step"
            subject = f'{kind} "{node.name}"' if node.name else f"{kind} {node.type}"
            tolerant = guarded or _tolerant(node)
            self.survey.steps.append(Found(node, subject, handler, tolerant))
            if node.type == "include_tasks":
                self.include_tasks(node, subject, handler=handler, guarded=tolerant)
            elif node.type == "include_role":
                self.include_role(node, subject)

    # ------------------------------------------------------------------ includes

    def include_tasks(self, step: Step, subject: str, *, handler: bool, guarded: bool) -> None:
        name = step.args.get("file", step.args.get("_raw_params"))
        if not isinstance(name, str) or templated(name):
            self.survey.open = True
            return
        origin = step.args.value_origin("file") or step.origin
        source = Path(step.origin.file)
        places = tasks_file_places(str(name), file=source, role=step.role, playbook_dir=self.loader.playbook_dir)
        path = next((place for place in places if place.is_file()), None)
        if path is None:
            what = f"{subject}: there is no file {shown(name)}"
            severity = "warning" if guarded else "error"
            self.problems.add(what, origin, fix=near_file(name, places), severity=severity, code="missing-file")
            return
        if self.endless(path, step, subject, origin) or not self.first_time(path, step, handler=handler):
            return
        apply = read_apply(_literal(step.args.get("apply")), self.problems, f"{subject}: apply", step.origin)
        scope = Scope(merge(step.inherit, apply), path, step.role, handlers=handler, lenient=True)
        nodes = read_entries(self.loader.read(path), scope, self.loader, shown_path(path), origin)
        self.chain.append(_Link(path.resolve(), _conditional(step)))
        self.nodes(nodes, handler=handler, guarded=guarded)
        self.chain.pop()

    def include_role(self, step: Step, subject: str) -> None:
        args = step.args
        key = "name" if "name" in args else "role"
        name = args.get(key)
        files: dict[str, Any] = {word: str(args[word]) for word in _FROM if args.get(word) is not None}
        if not isinstance(name, str) or any(templated(text) for text in (name, *files.values())):
            self.survey.open = self.survey.open_roles = True
            return
        origin = args.value_origin(key) or step.origin
        if not self.first_time(Path(name), step, *files.items()):
            return
        apply = read_apply(_literal(args.get("apply")), self.problems, f"{subject}: apply", step.origin)
        parents = (*step.role.parents, step.role) if step.role is not None else ()
        use = Use(str(name), origin, subject, SourceMap(), **files, parents=parents)
        scope = Scope(merge(step.inherit, apply), Path(step.origin.file), step.role, lenient=True)
        role = read_role(use, scope, self.loader)
        if role is not None:
            link = Path(f"{role.path}/tasks/{use.tasks_from}")
            if not self.endless(link, step, subject, origin):
                self.chain.append(_Link(link.resolve(), _conditional(step)))
                self.role(role)
                self.chain.pop()

    def first_time(self, path: Path, step: Step, *more: Any, handler: bool = False) -> bool:
        """Whether the file is met for the first time from such a place; once is enough to find its mistakes."""
        key = (path, step.role.path if step.role else None, handler, *more)
        if key in self.survey._seen:
            return False
        self.survey._seen.add(key)
        return True

    def endless(self, path: Path, step: Step, subject: str, origin: Origin | None) -> bool:
        """Whether this include closes a circle that nothing ends."""
        path = path.resolve()
        names = [link.path for link in self.chain]
        if path not in names and path != Path(step.origin.file).resolve():
            return False
        circle = self.chain[names.index(path) + 1 :] if path in names else []
        if not _conditional(step) and not any(link.conditional for link in circle):
            shown_names = " -> ".join(shown_path(one) for one in (path, *(link.path for link in circle), path))
            what = f"{subject}: the file includes itself without end: {shown_names}"
            self.problems.add(what, origin, fix='break the circle, or let a "when" end it', code="cycle")
        return True


_FROM = ("tasks_from", "vars_from", "defaults_from", "handlers_from")


def _literal(apply: Any) -> Any:
    return None if isinstance(apply, str) else apply


def _conditional(step: Step) -> bool:
    """Whether something may keep an include from happening."""
    return bool(step.keywords.when) or step.keywords.loop is not None


def _tolerant(step: Step) -> bool:
    """Whether the step's failure is expected by whoever wrote it."""
    keywords = step.keywords
    never_fails = keywords.failed_when is not None and all(part is False for part in keywords.failed_when)
    return bool(keywords.ignore_errors) or never_fails


def each(surveys: list[Survey]) -> Iterator[Found]:
    """Every step of every play."""
    for survey in surveys:
        yield from survey.steps


__all__ = ["Found", "Survey", "each", "survey_play"]
