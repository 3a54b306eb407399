"""What a step type may ask of the runner, while it runs on one host."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cleanslate.errors import InputError, StepFailed, suggest
from cleanslate.model import Answer, SourceText

if TYPE_CHECKING:
    from cleanslate.connect.target import Target
    from cleanslate.render import Renderer, Variables
    from cleanslate.runner.settings import RunSettings


class RunContext:
    """The StepContext of a real run. `target` is found on first use, so that controller-only steps never connect.

    `step` is the running step's name, as events tell it, and its type; `foretold` see StepContext.
    """

    def __init__(
        self,
        host: str,
        variables: Variables,
        renderer: Renderer,
        *,
        environment: Mapping[str, str],
        deadline: float,
        settings: RunSettings,
        target: Callable[[], Target],
        on_progress: Callable[[str, Mapping[str, Any]], None],
        folders: Sequence[Path],
        secret: Callable[[str], None],
        keep: Callable[[str, str], None],
        sleep: Callable[[float], None],
        step: tuple[str, str] = ("", ""),
        foretold: Collection[str] = (),
        diff: bool = False,
        no_log: bool = False,
    ) -> None:
        self.host = host
        self.variables: Mapping[str, Any] = variables
        self.environment = environment
        self.deadline = deadline
        self.verbosity = settings.verbosity
        self.diff = diff
        self.no_log = no_log
        self.warnings: list[str] = []
        self.foretold = foretold
        self._renderer = renderer
        self._settings = settings
        self._target = target
        self._on_progress = on_progress
        self._folders = folders
        self._secret = secret
        self._keep = keep
        self._sleep = sleep
        self._step = step

    def read(
        self,
        call: str,
        /,
        *,
        within: float | None = None,
        blob: bytes | None = None,
        on_progress: Callable[[Mapping[str, Any]], None] | None = None,
        parts: Mapping[str, bytes] | None = None,
        **arguments: Any,
    ) -> Answer:
        """Make a read-only call on the target."""
        return self._target().call(
            call,
            arguments,
            deadline=self.deadline if within is None else within,
            read_only=True,
            blob=blob,
            on_progress=on_progress or (lambda facts: self.progress(**{"text": "", **facts})),
            parts=parts,
        )

    def progress(self, text: str, **facts: Any) -> None:
        """Tell people what is happening now."""
        self._on_progress(text, facts)

    def warn(self, text: str) -> None:
        """Add a warning to the step's result."""
        if text not in self.warnings:
            self.warnings.append(text)

    def keep(self, name: str, text: str) -> None:
        """Have the record keep a text as a file."""
        self._keep(name, text)

    def render(self, value: Any, extra: Mapping[str, Any] | None = None) -> Any:
        """Render templates in a value from the repository."""
        return self._renderer.render(value, self._with(extra))

    def evaluate(self, condition: Any, extra: Mapping[str, Any] | None = None) -> bool:
        """Evaluate a condition as `when:` does."""
        return self._renderer.condition(condition, self._with(extra))

    def expression(self, text: str, extra: Mapping[str, Any] | None = None) -> Any:
        """Evaluate a bare expression, as debug's `var` does."""
        return self._renderer.expression(text, self._with(extra))

    def render_template(self, path: Path, options: Mapping[str, Any], extra: Mapping[str, Any] | None = None) -> str:
        """Render a template file of the repository; `options` are those of TemplateOptions that differ."""
        from cleanslate.errors import Origin
        from cleanslate.render import TemplateOptions
        from cleanslate.yamlfile.build import VAULT_HEADER

        source = path.read_bytes().decode("utf-8")
        if source.startswith(VAULT_HEADER):
            source = self.decrypt(source)
        text = SourceText(source, Origin(str(path), 1, 1))
        return self._renderer.template_text(text, self._with(extra), options=TemplateOptions(**options))

    def earlier_result(
        self, run: str, step: str | None = None, host: str | None = None
    ) -> tuple[str, Mapping[str, Any]] | None:
        """What a step gave in an earlier run, or None; the records are asked through the run's settings."""
        if self._settings.earlier is None:
            raise StepFailed("this run keeps no records, so it cannot look into earlier ones")
        name, kind = self._step
        try:
            return self._settings.earlier(run, step or name, kind, host or self.host)
        except InputError as error:
            raise StepFailed(error.what, fix=error.fix) from None

    def decrypt(self, envelope: str) -> str:
        """The plain text of a vault envelope."""
        if self._settings.decrypt is None:
            raise StepFailed("this is encrypted, and no vault password was given", fix="--vault-password-file FILE")
        return self._settings.decrypt(envelope)

    def find_file(self, name: str, folder: str) -> Path:
        """Find a controller's file as Ansible does; StepFailed names every place that was looked at."""
        given = Path(name).expanduser()
        if given.is_absolute():
            places = [given]
        else:
            places = [place for base in self._folders for place in (base / folder / name, base / name)]
        for place in places:
            if place.exists():
                self._settings.used(place)
                return place
        nearby = [item.name for place in places if place.parent.is_dir() for item in place.parent.iterdir()]
        hint = suggest(given.name, nearby)
        looked = "looked in " + ", ".join(dict.fromkeys(str(place.parent) for place in places))
        raise StepFailed(f'no file "{name}" on the controller', fix=f"{hint} {looked}" if hint else looked)

    def load_variables(self, path: Path) -> Any:
        """Read a YAML file of the repository."""
        from cleanslate.yamlfile import load_yaml

        self._settings.used(path)
        return load_yaml(path, vault=self._settings.decrypt) or {}

    def sleep(self, seconds: float) -> None:
        """Wait on the controller; a run that is being stopped does not."""
        self._sleep(seconds)

    def secret(self, text: str) -> None:
        """Redact this text from now on."""
        self._secret(text)

    def ask(self, prompt: str, *, echo: bool = True, seconds: float | None = None) -> str:
        """Ask the person at the terminal; empty when nobody can answer."""
        if self._settings.ask is None:
            return ""
        return self._settings.ask(prompt, echo, seconds) or ""

    def _with(self, extra: Mapping[str, Any] | None) -> Mapping[str, Any]:
        if not extra:
            return self.variables
        return self.variables.with_layers(extra)  # type: ignore[attr-defined,no-any-return]
