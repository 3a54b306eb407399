"""The step type script: send a script of the controller to the target and run it there, no Python needed."""

from __future__ import annotations

import shlex
from pathlib import Path

from cleanslate.errors import CallFailed, StepFailed
from cleanslate.steps import _commands, _sources
from cleanslate.steps.contract import (
    Behaviour,
    Change,
    Flag,
    Outcome,
    PathText,
    StepArguments,
    StepContext,
    StepType,
    Text,
)

# The folder is removed whatever happens; $HOME serves where programs may not be run from the temporary folder.
_WRAPPER = """\
for base in "${{TMPDIR:-/tmp}}" "$HOME"; do
  d=$(mktemp -d "$base/cleanslate.XXXXXXXX") || continue
  : > "$d"/{name} && chmod 700 "$d"/{name} && [ -x "$d"/{name} ] && break
  rm -rf "$d"; d=
done
[ "$d" ] || {{ echo "no folder to run a script from" >&2; exit 126; }}
trap 'rm -rf "$d"' EXIT
trap 'exit 129' HUP; trap 'exit 130' INT; trap 'exit 143' TERM
cat > "$d"/{name} || exit 126
{cd}{executable}"$d"/{name} {arguments} </dev/null
"""


class Arguments(StepArguments):
    """The script, and how it runs."""

    cmd: Text
    """The script on the controller, and its arguments."""
    chdir: PathText | None = None
    """The folder on the target to run in."""
    creates: PathText | None = None
    """A path or pattern on the target: if something matches, the script is not run."""
    removes: PathText | None = None
    """A path or pattern on the target: if nothing matches, the script is not run."""
    executable: Text | None = None
    """A program to run the script with (`python3`); its first line decides when not given."""
    decrypt: Flag = True
    """Decrypt a script that is kept encrypted with a vault."""


def _split(text: str) -> tuple[str, str]:
    """The script's name, and the rest as it is written: the target's shell reads it."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        name = lexer.get_token()
    except ValueError as error:
        raise StepFailed(f"the script cannot be read from the text: {str(error).lower()}") from None
    if not name:
        raise StepFailed("there is no script to run", fix="give its path on the controller")
    quoted = text.lstrip()
    for written in (name, shlex.quote(name), f'"{name}"'):
        if quoted.startswith(written):
            return name, quoted[len(written) :].strip()
    return name, " ".join(shlex.quote(word) for word in shlex.split(text)[1:])


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Send it and run it in one go, unless `creates` or `removes` say that it has been run."""
    name, rest = _split(args.cmd)
    bounds = _commands.CommandArguments(chdir=args.chdir, creates=args.creates, removes=args.removes)
    reason = _commands.unneeded(bounds, context)
    if reason:
        word = "matching creates option" if reason[1] == "exists" else "matching removes option"
        return Outcome({"msg": f"{reason[0]} {reason[1]}, {word}"}, changed=False, skipped=True)
    source = context.find_file(name, "files")
    blob = _sources.content(source, context) if args.decrypt and _sources.is_vault(source) else source
    environment = dict(context.environment)
    wrapper = _WRAPPER.format(
        name=shlex.quote(Path(name).name),
        cd=f"cd {_commands.expanding_word(args.chdir)} || exit 126\n" if args.chdir else "",
        executable=f"{args.executable} " if args.executable else "",
        arguments=rest,
    )
    bound = args.creates is not None or args.removes is not None
    try:
        answer = yield Change(
            f"run the script {_commands.shown(args.cmd)}",
            "command.run",
            {"command": wrapper, "environment": environment},
            blob=blob,
            unforetold={"msg": "scripts are not run in check mode", "changed": bound, "skipped": not bound},
            plain=_commands.plain_line(f"/bin/sh -c {shlex.quote(wrapper)}", environment),
        )
    except CallFailed as error:
        raise _commands.not_started(error, args.cmd) from error
    return _commands.ended(None, answer, context, strip=False)


STEP = StepType(
    name="script",
    arguments=Arguments,
    behave=behave,
    summary="Send a script of the controller to the target and run it there, once; nothing of it stays.",
    example="""\
- name: Send a script and run it
  script: greet.sh world
  args:
    creates: "{{ workdir }}/greeted"
""",
    returns={name: text for name, text in _commands.RETURNS.items() if name not in ("cmd", "start", "end", "delta")},
    notes="A relative name is looked for in the `files` folders of the role and the playbook, then beside them.",
    free_form="cmd",
    repeatable=False,
    foretells=False,
)
