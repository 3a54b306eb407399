"""Runs one step type against this machine, through the same code as a run: real files, real processes.

The agent's calls are made directly in this process, so a step type's tests need no connection; that the same
calls behave over SSH is what tests/connect and the whole-play tests are for.
"""

from __future__ import annotations

import importlib
import io
import time
from pathlib import Path
from typing import Any

from cleanslate.connect.target import Address
from cleanslate.errors import CallFailed, StepFailed
from cleanslate.model import Answer
from cleanslate.remote.registry import Call, Failed
from cleanslate.runner.apply import Applied, apply_step, validate
from cleanslate.steps.registry import step_type


class DirectTarget:
    """A target whose calls run in this process."""

    def __init__(self):
        self.address = Address("here", kind="local")
        self.calls: list[str] = []
        self.progress: list[dict] = []

    def call(self, name, arguments, *, deadline, read_only=False, blob=None, sink=None, on_progress=None, parts=None):
        module, _, function = name.partition(".")
        found = getattr(importlib.import_module(f"cleanslate.remote.{module}"), function)
        assert found.is_call
        if read_only and not found.read_only:
            raise CallFailed("refused", f"{name} changes something")
        self.calls.append(name)
        data = blob.read_bytes() if isinstance(blob, Path) else blob
        call = Call(left=deadline, blob=io.BytesIO(data) if data is not None else None)
        call.part = (parts or {}).__getitem__
        call.progress = lambda **facts: (self.progress.append(facts), on_progress and on_progress(facts))
        try:
            answer = found(call, **arguments)
        except Failed as error:
            raise CallFailed(error.kind, error.message, error.details) from None
        values, out = answer if isinstance(answer, tuple) else (answer, b"")
        if hasattr(out, "read"):
            with out:
                out = out.read()
        if sink is not None:
            sink.write(out)
            out = b""
        return Answer(values, out)

    def plain(self, command, *, deadline, stdin=b""):
        import subprocess

        data = stdin.read_bytes() if isinstance(stdin, Path) else stdin
        done = subprocess.run(["/bin/sh", "-c", command], input=data, capture_output=True, timeout=deadline)
        out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
        cut = {"stdout_cut": False, "stderr_cut": False}
        return Answer({"rc": done.returncode, "stdout": out, "stderr": err, **cut})

    def cancel(self):
        pass


class Context:
    """A StepContext for tests: plain variables, controller files from one folder."""

    def __init__(
        self, target, *, variables=None, folder=None, environment=None, deadline=60.0, vault=None, earlier=None
    ):
        self.host = "here"
        self.target = target
        self.variables = variables or {}
        self.environment = environment or {}
        self.deadline = deadline
        self.verbosity = 0
        self.diff = self.no_log = False
        self.folder = folder
        self.told: list[tuple[str, dict]] = []
        self.warnings: list[str] = []
        self.secrets: list[str] = []
        self.kept: dict[str, str] = {}
        self.vault = vault
        self.foretold: set[str] = set()
        self.earlier = earlier or {}

    def read(self, call, /, *, within=None, blob=None, on_progress=None, parts=None, **arguments):
        return self.target.call(
            call,
            arguments,
            deadline=within or self.deadline,
            read_only=True,
            blob=blob,
            on_progress=on_progress,
            parts=parts,
        )

    def progress(self, text, **facts):
        self.told.append((text, facts))

    def warn(self, text):
        self.warnings.append(text)

    def keep(self, name, text):
        self.kept[name] = text

    def render(self, value, extra=None):
        from cleanslate.render import Renderer, Variables

        renderer = Renderer()
        return renderer.render(value, Variables([self.variables, extra or {}], renderer))

    def render_template(self, path, options, extra=None):
        from cleanslate.errors import Origin
        from cleanslate.model import SourceText
        from cleanslate.render import Renderer, TemplateOptions, Variables

        renderer = Renderer()
        text = SourceText(path.read_bytes().decode("utf-8"), Origin(str(path), 1, 1))
        variables = Variables([self.variables, extra or {}], renderer)
        return renderer.template_text(text, variables, options=TemplateOptions(**options))

    def evaluate(self, condition, extra=None):
        from cleanslate.render import Renderer, Variables

        renderer = Renderer()
        return renderer.condition(condition, Variables([self.variables, extra or {}], renderer))

    def expression(self, text, extra=None):
        from cleanslate.render import Renderer, Variables

        renderer = Renderer()
        return renderer.expression(text, Variables([self.variables, extra or {}], renderer))

    def load_variables(self, path):
        from cleanslate.yamlfile import load_yaml

        return load_yaml(path)

    def sleep(self, seconds):
        time.sleep(seconds)

    def find_file(self, name, folder):
        for place in (Path(self.folder) / folder / name, Path(self.folder) / name, Path(name)):
            if place.exists():
                return place
        raise StepFailed(f'no file "{name}"')

    def earlier_result(self, run, step=None, host=None):
        """`earlier`: run -> result of the step."""
        return (run, self.earlier[run]) if run in self.earlier else None

    def decrypt(self, envelope):
        return self.vault(envelope)

    def secret(self, text):
        self.secrets.append(text)

    def ask(self, prompt, *, echo=True, seconds=None):
        return ""


def run_step(name: str, arguments: dict[str, Any], *, check=False, target=None, **context) -> Applied:
    """Validate and run one step here; failures come back as results, wrong arguments raise InputError."""
    found = step_type(name)
    target = target or DirectTarget()
    return apply_step(found, validate(found, arguments), Context(target, **context), target, check=check)
