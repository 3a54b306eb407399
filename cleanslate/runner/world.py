"""What everything in a run shares: settings, variables, connections, events, and whether it is being stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cleanslate.errors import Interrupted
from cleanslate.model import Diff, Result, Status
from cleanslate.redaction import SHORTEST, Secrets
from cleanslate.runner.bus import Bus
from cleanslate.runner.changing import InventoryChanges
from cleanslate.runner.sampling import Sampling
from cleanslate.runner.scope import PlayScope
from cleanslate.runner.settings import RunSettings
from cleanslate.runner.variables import VariableWorld

if TYPE_CHECKING:
    from cleanslate.connect.target import Connections
    from cleanslate.runner.execute import StepRun
    from cleanslate.runner.leases import Leases

_CANCEL_AGAIN = 0.2  # seconds
_MOST_KEPT = 262144  # characters of a text for the record; of a longer one the end
CENSORED = {"censored": "the output has been hidden: the step says no_log"}


class World:
    """One for a run; given to everything below it."""

    def __init__(
        self, settings: RunSettings, variables: VariableWorld, connections: Connections, bus: Bus, secrets: Secrets
    ) -> None:
        self.settings = settings
        self.variables = variables
        self.connections = connections
        self.bus = bus
        self.secrets = secrets
        self.stop_requested = threading.Event()
        self.leases = self._leases()
        self.sampling = None if settings.check else Sampling(bus)
        self.lease_lost = False  # somebody else holds a machine that this run works on: nothing more is begun
        self._stopping = threading.Lock()
        self._ended = threading.Event()
        self.draining = False  # `always` parts are running after a stop; they may wait and retry
        self._keeping = threading.Lock()
        self._kept = 0
        self._warned: set[tuple[str, str]] = set()
        variables.note = self.warning
        self.last_step: str | None = None  # the last one started before a stop
        self.step_ids: dict[int, int] = {}
        self.inventory_changes = InventoryChanges(self)
        self.scope: PlayScope | None = None  # of the play that runs now

    @property
    def check(self) -> bool:
        """Whether the run only foretells."""
        return self.settings.check

    def _leases(self) -> Leases | None:
        """The leases of the run; in check mode, and where nobody wished for leases, there are none."""
        if self.settings.lease is None or self.settings.check:
            return None
        from cleanslate.runner.leases import Leases

        return Leases(self, self.settings.lease)

    # ------------------------------------------------------------------ events

    def step_id(self, step: object) -> int:
        """A small number for a step, the same for every host."""
        return self.step_ids.setdefault(id(step), len(self.step_ids) + 1)

    def progress(self, run: StepRun, text: str, facts: Mapping[str, Any]) -> None:
        """A step says what is happening now."""
        if run.done.no_log:
            return
        item = {"item": run.item_label} if run.item_label is not None else {}
        self.bus.emit("host.progress", step=self.step_id(run.step), host=run.host, text=text, facts=facts, **item)

    def keep(self, run: StepRun, name: str, text: str) -> None:
        """A step has something for the record that is too long to show."""
        if run.done.no_log:
            return
        step = self.step_id(run.step)
        with self._keeping:
            self._kept += 1
            file = f"diagnostics/{plain_name(run.host)}/{step}-{self._kept}-{plain_name(name)}"
        self.bus.emit(
            "host.kept", step=step, host=run.host, file=file, text=self.secrets.redact_text(text)[-_MOST_KEPT:]
        )

    def retrying(self, run: StepRun, attempt: int, attempts: int, delay: float, result: Result) -> None:
        """A step is about to be tried again."""
        text = "" if run.done.no_log else str(result.data.get("msg") or result.data.get("stderr") or "")
        self.bus.emit(
            "host.retry",
            step=self.step_id(run.step),
            host=run.host,
            attempt=attempt,
            retries=attempts - 1,
            delay=delay,
            text=self.secrets.redact_text(text)[:500],  # before it is cut, while secrets are whole
        )

    def item_finished(self, run: StepRun, label: str, result: Result) -> None:
        """One item of a loop is done."""
        hidden = run.done.no_log
        self.bus.emit(
            "item.finished",
            step=self.step_id(run.step),
            host=run.host,
            item="(hidden)" if hidden else label,
            status=result.status.value,
            seconds=round(result.seconds, 4),
            result=CENSORED if hidden else result.data,
            diffs=[] if hidden else diffs_of(result.diffs),
            args=None if hidden else run.done.arguments,
        )

    def warning(self, text: str, origin: Any = None) -> None:
        """Something people should know that stops nothing; told once, however many hosts meet it."""
        if (text, str(origin)) in self._warned:
            return
        self._warned.add((text, str(origin)))
        self.bus.emit("run.warning", text=text, origin=str(origin) if origin else None)

    def tell_short_secrets(self) -> None:
        """Say which secrets are too short to be hidden: masking them would blot out everything else."""
        for name in list(self.secrets.refused):
            text = f"{name} has fewer than {SHORTEST} characters, so it is not taken for a secret, and not hidden"
            self.warning(f"{text}; choose a longer one")

    # ------------------------------------------------------------------ stopping

    def sleep(self, seconds: float) -> None:
        """Wait between tries; a run that is being stopped does not."""
        if self.draining:
            time.sleep(seconds)
        elif self.stop_requested.wait(seconds):
            raise Interrupted("the run was stopped")

    def stop(self) -> None:
        """Start nothing new, end what is under way on the targets, and let `always` parts run (Ctrl-C, SIGTERM)."""
        self.stop_requested.set()
        threading.Thread(target=self._cancel, name="cleanslate-stop", daemon=True).start()

    def drain(self) -> None:
        """From now on only `always` parts run, and nothing of theirs is ended."""
        with self._stopping:
            self.draining = True

    def over(self) -> None:
        """The run has ended."""
        self._ended.set()

    def _cancel(self) -> None:
        """End what is under way, again and again: a step that had begun may make its call only a moment later."""
        while not self._ended.is_set():
            with self._stopping:
                if self.draining:
                    return
                self.connections.cancel()
            self._ended.wait(_CANCEL_AGAIN)


def plain_name(text: str) -> str:
    """A text as a file may be called."""
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in text)[:100].lstrip(".-") or "x"


def diffs_of(diffs: list[Diff]) -> list[dict[str, Any]]:
    """Diffs as JSON types."""
    return [{"header": diff.header, "before": diff.before, "after": diff.after} for diff in diffs]


def worst_exit(results: list[Result]) -> int:
    """The exit code that these failures end the run with: a wedged GPU before a lost host before a failed step."""
    codes = [4 if one.status is Status.UNREACHABLE else one.exit_code for one in results if one.failed]
    for code in (6, 5, 1, 2, 4):
        if code in codes:
            return code
    return 0
