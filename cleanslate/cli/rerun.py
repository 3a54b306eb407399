"""`inv rerun`: a run again, with its code, inventory, variables and flags; what cannot be the same is said first."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from types import FrameType
from typing import Any

from cleanslate.cli.again import Again
from cleanslate.cli.loading import PlayOptions
from cleanslate.cli.settings import Settings
from cleanslate.errors import CleanslateError, InputError
from cleanslate.record import find_run, read_run
from cleanslate.record.export import import_record
from cleanslate.record.provenance import HIDDEN, versions
from cleanslate.record.workplace import Workplace, workplace
from cleanslate.redaction import MASK

_LISTS = ("list_hosts", "list_tasks", "list_tags", "syntax_check")
_NOT_AGAIN = (*_LISTS, "name", "inventory", "extra_vars", "detach", "clean")
_PATHS = ("private_key",)
_LOOKED_AT = ("os", "kernel", "machine", "driver", "kernel_driver", "gpus")
# Runs the command line with the code of that commit, where our code is part of the repository.
_START = "import sys; sys.path.insert(0, {root!r}); from cleanslate.cli.__main__ import main; main()"


class NotAgreed(CleanslateError):
    """Somebody did not say yes; nothing was changed."""

    exit_code = 64


def rerun(
    settings: Settings, wanted: str, *, yes: bool, extra_vars: Sequence[str], vault_password_file: Sequence[str]
) -> int:
    """Make a run again; gives the exit code of the new run. Nothing is contacted to change anything before the yes."""
    file = Path(wanted).expanduser()
    folder = import_record(file, settings.runs) if file.is_file() else find_run(settings.runs, wanted)
    facts = read_run(folder)
    if not facts.get("options"):
        raise InputError(f"{facts['id']} was recorded before records kept the options of a run", fix="use `inv play`")
    with workplace(facts, folder, settings.root) as place:
        options = options_of(place, vault_password_file)
        variables = _variables(facts, extra_vars)
        print(_headline(facts), flush=True)
        unlike = [*place.unlike, *_versions_differ(facts), *_targets_differ(place, options)]
        _agree(unlike, yes=yes)
        return _run(place, options, variables, settings)


def _headline(facts: Mapping[str, Any]) -> str:
    commit = str(facts["commit"])[:12] if facts.get("commit") else "no commit"
    changed = " with uncommitted changes" if facts.get("uncommitted") else ""
    return f"again: {facts['id']}  {Path(facts['playbook']).stem} at {commit}{changed}"


def _agree(unlike: Sequence[str], *, yes: bool) -> None:
    """Say what cannot be the same, and ask whether to go on; InputError where nobody can answer."""
    if not unlike:
        print("nothing is known to be different now", flush=True)
        return
    print("what cannot be the same:")
    for text in unlike:
        print(f"  - {text}")
    sys.stdout.flush()
    if yes:
        return
    if not sys.stdin.isatty():
        raise NotAgreed("not everything can be the same, and nobody is here to ask", fix="give --yes to go on")
    print("go on? [y/N] ", end="", flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise NotAgreed("not made again")


# --------------------------------------------------------------------------- what it is made with


def options_of(place: Workplace, vault_password_file: Sequence[str] = ()) -> PlayOptions:
    """The options of the run, with its files where they are now."""
    facts = place.facts
    known = {field.name for field in fields(PlayOptions)}
    given = {key: value for key, value in facts["options"].items() if key in known and key not in _NOT_AGAIN}
    cwd = str(facts.get("cwd") or facts["root"])
    for name in _PATHS:
        if given.get(name):
            given[name] = _existing(place, str(given[name]), cwd)
    passwords = list(vault_password_file) or [str(text) for text in given.get("vault_password_file") or ()]
    given["vault_password_file"] = [
        _existing(place, text, str(Path.cwd()) if vault_password_file else cwd) for text in passwords
    ]
    ids = [str(text).rpartition("@") for text in given.get("vault_id") or ()]
    given["vault_id"] = [
        f"{name}{at}{source if source == 'prompt' else _existing(place, source, cwd)}" for name, at, source in ids
    ]
    sources = [str(text) if "," in str(text) else place.place(str(text)) for text in facts["sources"]]
    return PlayOptions(place.place(str(facts["playbook"])), **{**given, "inventory": sources})


def _existing(place: Workplace, text: str, cwd: str) -> str:
    """A file of the run where it is now: in its code, or where it was. InputError where it is not."""
    path = os.path.normpath(os.path.join(cwd, Path(text).expanduser()))  # noqa: PTH118 - kept as it was written
    for found in (place.place(path), path):
        if Path(found).exists():
            return found
    raise InputError(f"{text}, which the run was given, is not here", fix="bring it, or give --vault-password-file")


def _variables(facts: Mapping[str, Any], given: Sequence[str]) -> dict[str, Any]:
    """The extra variables of the run, its answers to vars_prompt, and those that are given now for hidden ones."""
    from cleanslate.cli.extra_vars import extra_variables

    now = extra_variables(given)
    then = {**_answers(facts), **facts.get("extra_vars", {})}
    for name in now:
        if name in then and not _hidden(then[name]):
            raise InputError(f'-e {name}: the run had "{name}" already', fix="a run with other variables is `inv play`")
    missing = [name for name, value in then.items() if _hidden(value) and name not in now]
    if missing and sys.stdin.isatty():
        import getpass

        now.update({name: getpass.getpass(f"{name} (not in the record, because it is a secret): ") for name in missing})
    elif missing:
        words = " ".join(f"-e {name}=..." for name in missing)
        raise InputError(f"secrets are not in the record: {', '.join(missing)}", fix=f"give them: {words}")
    return {**then, **now}


def _answers(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What was answered to prompts that are no secrets; secrets are asked for again by the play itself."""
    found = {}
    for name, entries in (facts.get("variables") or {}).items():
        answers = [entry.get("value") for entry in entries if entry.get("from") == "vars_prompt"]
        if answers and not _hidden(answers[0]):
            found[name] = answers[0]
    return found


def _hidden(value: Any) -> bool:
    text = json.dumps(value, default=str)
    return HIDDEN in text or MASK in text


# --------------------------------------------------------------------------- what cannot be the same


def _versions_differ(facts: Mapping[str, Any]) -> Iterator[str]:
    now = versions()
    for name, then in (facts.get("versions") or {}).items():
        if name in now and now[name] != then:
            yield f"{name} is {now[name]} now, and was {then}"


def _targets_differ(place: Workplace, options: PlayOptions) -> Iterator[str]:
    """Hosts that are gone, cannot be reached, or have another driver, kernel or GPU now."""
    from cleanslate.cli.look import look
    from cleanslate.record.compare import target_parts

    facts = place.facts
    seen = look(options, place.root, facts.get("hosts") or (), facts.get("targets") or {})
    for host in seen.gone:
        yield f"host {host} is not in the inventory any more"
    for name, why in seen.unseen.items():
        yield f"{name} cannot be looked at: {why}"
    for host, now in seen.targets.items():
        then = facts["targets"].get(host) or {}
        for key, old, new in target_parts(then, now):
            if key in _LOOKED_AT:
                yield f"{host}: {key} is {_words(new)} now, and was {_words(old)}"


def _words(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


# --------------------------------------------------------------------------- the run itself


def _run(place: Workplace, options: PlayOptions, variables: Mapping[str, Any], settings: Settings) -> int:
    """Run it in a process of its own, with the code of its commit; gives the exit code."""
    words = ["play", *arguments_of(options)]
    if variables:
        file = place.top.parent / "extra-vars.json"
        file.touch(mode=0o600)
        file.write_text(json.dumps(variables))
        words += ["--extra-vars", f"@{file}"]
    ours = (place.root / "cleanslate" / "cli" / "__main__.py").is_file()
    start = ["-c", _START.format(root=str(place.root))] if ours else ["-m", "cleanslate.cli"]
    cwd = Path(place.place(str(place.facts.get("cwd") or place.facts["root"])))
    environment = Again(str(place.facts["id"]), str(settings.runs), str(place.root)).as_environment()
    process = subprocess.Popen(
        [sys.executable, *start, *words],
        cwd=cwd if cwd.is_dir() else place.root,
        env={**os.environ, **environment},
    )
    with _SignalsFor(process):
        return process.wait()


def arguments_of(options: PlayOptions) -> list[str]:
    """The words of the command line that give these options."""
    words = [options.name]
    for field in fields(PlayOptions):
        value = getattr(options, field.name)
        option = f"--{field.name.replace('_', '-')}"
        if field.name in ("name", "extra_vars") or not value:
            continue
        if isinstance(value, bool):
            words.append(option)
        elif field.name == "verbose":
            words += ["-v"] * int(value)
        elif isinstance(value, str | int | float):
            words += [option, str(value)]
        else:
            words += [word for one in value for word in (option, str(one))]
    return words


class _SignalsFor:
    """While it lasts, Ctrl-C is left to the process (which gets it too), and TERM is handed on to it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def __enter__(self) -> None:
        self._before = {
            signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN),
            signal.SIGTERM: signal.signal(signal.SIGTERM, self._hand_on),
        }

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _hand_on(self, number: int, _frame: FrameType | None) -> None:
        self._process.send_signal(number)
