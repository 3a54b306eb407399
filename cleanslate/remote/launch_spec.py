"""What is to be launched, made exact on the target: program, environment, user, port; and how two of them differ."""

import hashlib
import json
import os
import pwd
import re
import shlex
import shutil

from cleanslate.remote import commandline
from cleanslate.remote.paths import expand
from cleanslate.remote.profiles import PROFILES
from cleanslate.remote.registry import Failed

# What belongs to the session that happens to launch, not to the server.
_SESSION = re.compile(
    r"SSH_.*|SUDO_.*|XDG_(?:SESSION_.*|RUNTIME_DIR|SEAT|VTNR)|DBUS_.*|TMUX.*|STY|TERM|COLORTERM|DISPLAY|WAYLAND_DISPLAY|"
    r"MAIL|PWD|OLDPWD|SHLVL|_|LS_COLORS|PS1|INVOCATION_ID|JOURNAL_STREAM|NOTIFY_SOCKET|LISTEN_.*|PYTEST_CURRENT_TEST"
)
_HIDDEN = re.compile(r"(?:^|[_-])(?:api_?key|key|token|secret|password|credentials?)$", re.IGNORECASE)
COMPARED = ("argv", "env", "chdir", "user", "limits", "nice", "numa", "umask")


class Spec:
    """One launch, as the step asks for it. Raises Failed("wrong") for what can never be launched."""

    def __init__(
        self,
        name,
        argv=None,
        command=None,
        env=None,
        chdir=None,
        user=None,
        engine=None,
        port=None,
        log=None,
        limits=None,
        nice=0,
        numa=None,
        umask=0o022,
    ):
        self.name = name
        self.argv = [str(word) for word in argv] if argv else ["/bin/sh", "-c", command]
        self.words = self.argv if argv else _words(command)
        self.ids = _ids(user)
        self.given = {key: str(value) for key, value in (env or {}).items()}
        self.env = self._environment()
        self.chdir = _folder(chdir, self.env)
        self.engine = engine or commandline.engine_of(self.words)
        self.said = commandline.settings(self.engine, self.words)
        self.port = port or commandline.number(self.said.get("port")) or (PROFILES.get(self.engine) or {}).get("port")
        self.log = expand(log) if log else None
        self.limits = dict(limits or {})
        self.nice = nice
        self.numa = numa
        self.umask = umask
        self.user = user
        if self.engine not in PROFILES and self.engine is not None:
            known = ", ".join(PROFILES)
            raise Failed("wrong", 'no engine is called "%s"; known are %s' % (self.engine, known))

    def _environment(self):
        """The login's own variables without those of its session, the user's, then the given ones."""
        base = {name: value for name, value in os.environ.items() if not _SESSION.fullmatch(name)}
        if self.ids:
            base.update(HOME=self.ids["home"], USER=self.ids["user"], LOGNAME=self.ids["user"], SHELL=self.ids["shell"])
        base.setdefault("PYTHONUNBUFFERED", "1")
        return dict(base, **self.given)

    @property
    def whole_argv(self):
        """What is executed: with the words in front that bind it to NUMA nodes."""
        if self.numa is None:
            return self.argv
        return ["numactl", "--cpunodebind=%s" % self.numa, "--membind=%s" % self.numa, "--", *self.argv]

    @property
    def program(self):
        """The file that is executed, or None where there is none."""
        return self.find(self.whole_argv[0])

    def find(self, word):
        """The executable file that a command word means in the server's folder and PATH, or None."""
        if "/" in word:
            place = os.path.join(self.chdir, os.path.expanduser(word))
            return place if os.path.isfile(place) and os.access(place, os.X_OK) else None
        return shutil.which(word, path=self.env.get("PATH", os.defpath))

    def identity(self):
        """What makes two launches the same, in JSON types; of the environment's values only their digests."""
        return {
            "argv": self.argv,
            "env": {name: digest([name, value]) for name, value in self.given.items()},
            "chdir": self.chdir,
            "user": self.user,
            "limits": self.limits,
            "nice": self.nice,
            "numa": self.numa,
            "umask": self.umask,
        }


def digest(value):
    """A short digest of JSON data."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def differences(state, after):
    """What differs between a launch's state and an identity, as sentences; of the environment the names only."""
    before = state.get("identity")
    if before is None:
        wrong = _argv_differences(state.get("argv") or [], after["argv"]) if state.get("argv") != after["argv"] else []
        return [*wrong, "it was started by something else, so that its environment is not known"]
    found = []
    for key in COMPARED:
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        if key == "argv":
            found += _argv_differences(old or [], new)
        elif key == "env":
            found += _env_differences(old or {}, new)
        else:
            found.append("%s: %s -> %s" % (key, old, new))
    return found


def _argv_differences(old, new):
    before, after = _options(old), _options(new)
    differing = [name for name in sorted(set(before) | set(after)) if before.get(name) != after.get(name)]
    found = ["%s: %s -> %s" % (name, _shown(before, name), _shown(after, name)) for name in differing]
    return found or ["the order of its arguments"]


def _options(argv):
    """A command line as {option: its values}, the words before the first option as its program."""
    found = {}
    name = "program"
    for word in argv:
        if word.startswith("-") and not re.fullmatch(r"-\d+(\.\d+)?", word):
            name, sign, value = word.partition("=")
            found.setdefault(name, [])
            if sign:
                found[name].append(value)
        else:
            found.setdefault(name, []).append(word)
    return found


def _shown(options, name):
    if name not in options:
        return "not there"
    if _HIDDEN.search(name):
        return "(hidden)"
    return " ".join(options[name]) or "there"


def _env_differences(old, new):
    found = []
    for name in sorted(set(old) | set(new)):
        if name not in old:
            found.append("environment: %s is new" % name)
        elif name not in new:
            found.append("environment: %s is gone" % name)
        elif old[name] != new[name]:
            found.append("environment: %s has another value" % name)
    return found


def _words(command):
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _ids(user):
    if user is None:
        return None
    try:
        entry = pwd.getpwnam(user) if not str(user).isdigit() else pwd.getpwuid(int(user))
    except KeyError:
        raise Failed("missing", 'there is no user "%s" here' % user) from None
    if entry.pw_uid == os.geteuid():
        return None
    return {
        "user": entry.pw_name,
        "uid": entry.pw_uid,
        "gid": entry.pw_gid,
        "home": entry.pw_dir,
        "shell": entry.pw_shell or "/bin/sh",
    }


def _folder(chdir, env):
    """The absolute folder that the server starts in: the user's home where none is given, else the root."""
    if chdir:
        return os.path.abspath(expand(chdir))
    home = env.get("HOME", "/")
    return home if os.path.isdir(home) else "/"
