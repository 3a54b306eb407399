"""Runs the examples of step types as the documentation shows them, one task after the other, on this machine.

FIXTURES says what a step type's example needs besides an empty work folder: an entry for each step type whose
example speaks of a file of the controller, a variable, another program, or a machine that this one is not. A step
type without an entry runs its example as it is; none is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from cleanslate.model import SourceText
from cleanslate.playbook.keywords import STEP, STEP_WORDS
from cleanslate.render import Renderer, Variables
from cleanslate.runner.apply import Applied, apply_step, validate
from cleanslate.steps.contract import StepType
from cleanslate.steps.registry import canonical, step_type
from tests.steps import recorded
from tests.steps.fake_engine import running
from tests.steps.harness import Context, DirectTarget

KEYWORDS = {*STEP, *STEP_WORDS}


@dataclass
class Needs:
    """What an example needs: the controller's files, variables (templates in them may use workdir), programs first on
    PATH (name -> text of a script), arguments that replace those of the example, a function that prepares more, and a
    stage: something that stands while the example runs, and gives more variables.
    """

    files: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, Any] = field(default_factory=dict)
    programs: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)
    prepare: Callable[[Path], None] | None = None
    stage: Callable[[], AbstractContextManager[Mapping[str, Any]]] = nullcontext


# A systemctl that keeps what it is told in a file beside it, as far as the examples need one.
SYSTEMCTL = """\
#!/bin/sh
here=$(dirname "$0")
while [ "${1#-}" != "$1" ]; do shift; done
case $1 in
show) echo "LoadState=loaded"; echo "ActiveState=$(cat "$here/active" 2>/dev/null || echo inactive)" ;;
is-enabled) cat "$here/enabled" 2>/dev/null || { echo disabled; exit 1; } ;;
enable) echo enabled > "$here/enabled" ;;
disable) rm -f "$here/enabled" ;;
start|restart) echo active > "$here/active" ;;
stop) echo inactive > "$here/active" ;;
daemon-reload) ;;
*) echo "Unknown command verb $1." >&2; exit 1 ;;
esac
"""
SYSTEMD = Needs(programs={"systemctl": SYSTEMCTL})


@contextmanager
def _engine() -> Iterator[Mapping[str, Any]]:
    """A server that streams completions and tells its load."""
    with running() as engine:
        engine.pages["/get_load"] = '[{"num_reqs": 0}]'
        yield {"server_port": engine.port}


FIXTURES: dict[str, Needs] = {
    "assemble": Needs(files={"files/10-head.conf": "head\n", "files/20-body.conf": "body\n"}),
    "import_role": Needs(variables={"include_role_example": "engine"}),
    "measure_server": Needs(stage=_engine),
    "import_tasks": Needs(variables={"include_tasks_example": "engine.yml"}),
    "include_role": Needs(variables={"include_role_example": "engine"}),
    "include_tasks": Needs(variables={"include_tasks_example": "engine.yml"}),
    "include_vars": Needs(variables={"include_vars_example": "engine.yml"}, files={"vars/engine.yml": "a: 1\n"}),
    # The real thing would restart this machine: the command only says that it has been given.
    "reboot": Needs(
        arguments={
            "boot_time_command": "cat {{ workdir }}/boot",
            "reboot_command": "date +%s%N > {{ workdir }}/boot",
        },
        prepare=lambda workdir: (workdir / "boot").write_text("first\n"),
    ),
    "script": Needs(files={"files/greet.sh": '#!/bin/sh\necho "hello $1" > "$WORKDIR/greeted"\n'}),
    "service": SYSTEMD,
    "systemd": SYSTEMD,
    "template": Needs(
        files={"templates/server.env.j2": "PORT={{ port }}\n"},
        variables={"port": 30000},
    ),
    "wait_drained": Needs(stage=_engine),
    "unarchive": Needs(files={"files/release.tar.gz": {"archive": {"release-1/bin/serve": "#!/bin/sh\n"}}}),
}


def trusted(value: Any) -> Any:
    """The same value with every text marked as coming from the repository."""
    if isinstance(value, str):
        return SourceText(value)
    if isinstance(value, list):
        return [trusted(item) for item in value]
    if isinstance(value, dict):
        return {str(key): trusted(item) for key, item in value.items()}
    return value


@dataclass
class Ran:
    """One task of an example in three ways; `before` and `after` are the work folder around check mode."""

    step: StepType
    before: dict[str, list[str]]
    after: dict[str, list[str]]
    foretold: Applied
    applied: Applied
    again: Applied | None  # None: it may change again by design


class Example:
    """A step type's example, ready to run in a work folder of its own."""

    def __init__(self, name: str, folder: Path, stage: Mapping[str, Any] | None = None):
        self.step = step_type(name)
        self.needs = FIXTURES.get(name, Needs())
        self.stage = dict(stage or {})
        self.workdir, self.files = folder / "workdir", folder / "controller"
        self.workdir.mkdir()
        recorded.plant(self.files, dict(self.needs.files))
        recorded.plant(folder / "bin", {k: {"content": v, "mode": "0755"} for k, v in self.needs.programs.items()})
        if self.needs.prepare:
            self.needs.prepare(self.workdir)
        self.registered: dict[str, Any] = {}
        self.renderer = Renderer()
        self.target = DirectTarget()

    def tasks(self) -> list[dict[str, Any]]:
        """The example as YAML."""
        return yaml.safe_load(self.step.example)

    def run(self) -> list[Ran]:
        """Each task: in check mode, then really, then once more. Tasks whose `when` does not hold are left out."""
        found = []
        for task in map(trusted, self.tasks()):
            found += [self._task(task, self._variables(item)) for item in self._items(task) if self._holds(task, item)]
        return found

    def _variables(self, item: Any = None) -> Variables:
        given = {"workdir": str(self.workdir), "inventory_hostname": "here", "item": item}
        return Variables([given, trusted(dict(self.needs.variables)), self.stage, self.registered], self.renderer)

    def _items(self, task: Mapping[str, Any]) -> list[Any]:
        return self.renderer.render(task["loop"], self._variables()) if "loop" in task else [None]

    def _holds(self, task: Mapping[str, Any], item: Any) -> bool:
        return "when" not in task or self.renderer.condition(task["when"], self._variables(item))

    def _task(self, task: Mapping[str, Any], variables: Variables) -> Ran:
        [name] = [key for key in task if key not in KEYWORDS]
        found = step_type(str(canonical(name)))
        given = task[name]
        arguments = dict(given) if isinstance(given, dict) else {} if given is None else {found.free_form: given}
        arguments |= task.get("args") or {}
        if found is self.step:
            arguments |= trusted(dict(self.needs.arguments))
        kept = {key: value for key, value in arguments.items() if key in found.unrendered}
        arguments = {**self.renderer.render(arguments, variables), **kept}
        before = recorded.snapshot(self.workdir)
        foretold = self._apply(found, arguments, variables, check=True)
        after = recorded.snapshot(self.workdir)
        applied = self._apply(found, arguments, variables)
        again = self._apply(found, arguments, variables) if found.repeatable else None
        if "register" in task:
            self.registered[str(task["register"])] = applied.result.data
        return Ran(found, before, after, foretold, applied, again)

    def _apply(self, found: StepType, arguments: Mapping[str, Any], variables: Variables, *, check=False) -> Applied:
        context = Context(self.target, folder=self.files, environment={"WORKDIR": str(self.workdir)})
        context.variables = variables
        target = self.target if found.on_target else None
        return apply_step(found, validate(found, arguments), context, target, check=check)
