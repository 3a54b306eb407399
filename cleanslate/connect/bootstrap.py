"""The command lines that start an agent (or a plain command) on a target: any login shell, sudo, and pct understood.

Nothing is written to the target's disk. The login shell runs `/bin/sh -c SCRIPT`; SCRIPT looks for a Python and gives
it a starter that fits on the command line; the starter reads the agent's compressed text from standard input.
"""

from __future__ import annotations

import os
import re
import shlex

from cleanslate.connect.target import Address, Become
from cleanslate.dataclass import dataclass
from cleanslate.errors import NoPython, TargetError, Unreachable

# Only characters that mean nothing inside the double quotes of sh: no quotes, dollars, backslashes or backquotes.
_STARTER = (
    "import sys;sys.version_info<(3,8)and sys.exit(97);import os,zlib;"
    "i=os.fdopen(os.dup(0),chr(114)+chr(98));exec(zlib.decompress(i.read({size})))"
)
_PYTHONS = (
    "/usr/bin/python3 python3 python3.14 python3.13 python3.12 python3.11 python3.10 python3.9 python3.8 "
    "/usr/local/bin/python3 /usr/libexec/platform-python"
)
_PASSWORD_WANTED = ("a password is required", "a terminal is required", "no password was provided")
_TAIL = 400


@dataclass(frozen=True)
class Words:
    """What this start says on standard output; unguessable, so that nothing a shell prints is taken for it."""

    nonce: str

    @staticmethod
    def new() -> Words:
        """Words for one start."""
        return Words(f"cleanslate-{os.urandom(8).hex()}")

    @property
    def up(self) -> bytes:
        """The agent is up; frames follow."""
        return f"{self.nonce} up\n".encode()

    @property
    def ready(self) -> bytes:
        """Sudo is satisfied; the command follows."""
        return f"{self.nonce} ready\n".encode()

    @property
    def group(self) -> re.Pattern[bytes]:
        """The process group of a plain command, whose output follows."""
        return re.compile(re.escape(self.nonce).encode() + rb" group (\d+)\n")

    @property
    def prompt(self) -> str:
        """What sudo asks with, on standard error."""
        return f"{self.nonce} password:"


def agent_script(python: str | None, size: int, words: Words) -> str:
    """The sh script that starts an agent whose text has `size` bytes; `python` may be a command with arguments."""
    starter = _STARTER.format(size=size)
    if python is not None:
        command = " ".join(shlex.quote(word) for word in shlex.split(python))
        run = f'{command} -I -S -c "{starter}" {words.nonce}; r=$?'
        again = "126|127|97"
        return f'{run}; case $r in {again}) echo "{words.nonce} no-python $r";; esac; exit $r'
    return (
        f'for p in {_PYTHONS}; do command -v "$p" >/dev/null 2>&1 || continue; '
        f'"$p" -I -S -c "{starter}" {words.nonce}; r=$?; '
        'case $r in 97) old="$old $p";; 126|127) ;; *) exit $r;; esac; done; '
        f'echo "{words.nonce} no-python$old"; exit 97'
    )


def plain_script(command: str, words: Words) -> str:
    """The sh script that tells its process group, to be ended by, and then runs a command in the user's shell."""
    return (
        "{ read -r _ _ _ _ g _ </proc/$$/stat; } 2>/dev/null || g=$$; "
        f'echo "{words.nonce} group $g"; exec "${{SHELL:-/bin/sh}}" -c {shlex.quote(command)}'
    )


def term_script(group: int) -> str:
    """The sh script that asks a process group to end."""
    return f"kill -s TERM -- -{group}"


def kill_script(group: int, seconds: float) -> str:
    """The sh script that ends what is left of a process group after so many seconds, looking ten times in each."""
    return (
        f"i=0; while kill -s 0 -- -{group} 2>/dev/null; do "
        f"if [ $i -ge {round(seconds * 10)} ]; then kill -s KILL -- -{group}; exit; fi; "
        "sleep 0.1; i=$((i + 1)); done"
    )


def shell(script: str) -> str:
    """A command line for any login shell that runs a script in sh."""
    return f"/bin/sh -c {shlex.quote(script)}"


def as_user(script: str, become: Become, words: Words, *, ask: bool) -> str:
    """The sh script that runs another as a user; through sudo, unless it is that user already.

    Without `ask`, sudo must not need a password. With it, sudo reads one from standard input after `words.prompt`.
    """
    said = f"unset LANGUAGE; echo '{words.nonce} ready'; {script}"
    how = f"-S -p {shlex.quote(words.prompt)}" if ask else "-n"
    flags = " ".join(shlex.quote(flag) for flag in shlex.split(become.flags))
    user = shlex.quote(become.user)
    return (
        f'S={shlex.quote(said)}; if [ "$(id -un)" = {user} ]; then exec /bin/sh -c "$S"; fi; '
        "LANGUAGE=en; export LANGUAGE; "  # what sudo says is looked at
        f'exec sudo -H {how} {flags} -u {user} -- /bin/sh -c "$S"'
    )


def in_container(command: str, vmid: int, *, keep_env: bool) -> str:
    """The command line for the hypervisor's login shell that runs another in a container, without the host's variables.

    `keep_env`: whether this pct knows the option; a pct that does not passes the host's environment on.
    """
    option = "--keep-env 0 " if keep_env else ""
    pct = f"pct exec {vmid} {option}-- {shell(command)}"
    return shell(f'PATH="$PATH:/usr/sbin:/sbin"; if [ "$(id -u)" = 0 ]; then exec {pct}; fi; exec sudo -n {pct}')


def no_container(errors: str) -> bool:
    """Whether pct said that there is no such container, or that it does not run."""
    return re.search(r"^(CT|container|Configuration file) .*(not running|does not exist)", errors, re.M) is not None


class PasswordWanted(Exception):
    """Sudo wants a password, and none was given."""


def why_not_started(
    address: Address, become: Become | None, words: Words, printed: bytes, errors: str, code: int | None
) -> TargetError | PasswordWanted:
    """The error for a command that ended before it said that it was up; it has certainly done nothing of ours."""
    where = address.name
    said = _last(errors) or _last(printed.decode("utf-8", "replace"))
    no_python = f"{words.nonce} no-python"
    text = printed.decode("utf-8", "replace")
    if no_python in text:
        return _no_python(address, text.partition(no_python)[2].split("\n")[0].strip())
    if become is not None and words.ready not in printed:
        if any(phrase in errors for phrase in _PASSWORD_WANTED):
            return PasswordWanted()
        if "sudo" in errors or code == 127:
            return Unreachable(f"{where}: sudo does not let us become {become.user}: {said}")
    if address.kind == "pct" and (no_container(errors) or "pct" in errors or "lxc-attach" in errors):
        hypervisor = address.via.name if address.via else "its hypervisor"
        return Unreachable(f"{where}: pct exec {address.vmid} on {hypervisor} failed: {said}")
    ended = f"ended with {code}" if code is not None else "ended"
    return NoPython(f"{where}: the login shell {ended} before it ran anything of ours" + (f": {said}" if said else ""))


def _no_python(address: Address, found: str) -> NoPython:
    fix = "install Python 3.8 or later there, or set ansible_python_interpreter; raw, command and shell work without"
    if address.python is not None:
        reason = {"97": "is older than Python 3.8", "126": "cannot be executed"}.get(found, "is not there")
        return NoPython(f"{address.name}: ansible_python_interpreter {address.python} {reason}", fix=fix)
    older = f" ({', '.join(found.split())}: older than 3.8)" if found else ""
    return NoPython(f"{address.name} has no Python 3.8 or later{older}", fix=fix)


def _last(text: str) -> str:
    """The last lines that say something, on one line."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return " / ".join(lines[-3:])[-_TAIL:]
