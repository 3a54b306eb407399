"""Looks at and controls units of systemd, through systemctl."""

import subprocess

from cleanslate.remote.registry import Failed, changes, reads

_ENABLED = ("enabled", "enabled-runtime", "static", "generated", "transient", "linked", "linked-runtime")
_LINES = 15


@reads
def show(call, name, scope="system"):
    """What systemd knows of a unit: {status (every property), exists, enabled (None: not known), active, masked}.

    Failed("unsupported") where systemd does not run here.
    """
    out = _systemctl(call, scope, ["show", name])
    status = {}
    for entry in out.splitlines():
        key, mark, value = entry.partition("=")
        if mark:
            status[key] = value
    known = status.get("LoadState") not in (None, "not-found", "error", "bad-setting")
    done = _run(call, scope, ["is-enabled", name])
    word = done.stdout.strip().splitlines()[0] if done.stdout.strip() else ""
    return {
        "status": status,
        "exists": known,
        "masked": status.get("LoadState") == "masked" or word.startswith("masked"),
        "enabled": word in _ENABLED if word else None,
        "enabled_word": word,
        "active": status.get("ActiveState", ""),
    }


@reads
def running(call, scope="system"):
    """Whether systemd answers here; Failed("unsupported") where it does not run."""
    _systemctl(call, scope, ["show", "--property=Version"])
    return {"running": True}


@changes
def control(call, verb, name=None, scope="system", options=()):
    """Run one systemctl verb (start, enable, daemon-reload ...); Failed("failed") tells what the unit last said."""
    done = _run(call, scope, [*options, verb, *([name] if name else [])])
    if done.returncode == 0:
        return {"rc": 0, "stderr": done.stderr.strip()}
    said = done.stderr.strip() or done.stdout.strip()
    _refuse_without_systemd(said)
    details = {"rc": done.returncode, "stderr": said}
    if name and verb in ("start", "restart", "reload", "reload-or-restart"):
        told = _run(call, scope, ["status", "--no-pager", "--full", f"--lines={_LINES}", name])
        details["journal"] = told.stdout.strip()
    raise Failed(
        "failed",
        f"systemctl {verb} {name or ''}".rstrip() + f": {said.splitlines()[0] if said else done.returncode}",
        **details,
    )


def _systemctl(call, scope, words):
    """Standard output of a systemctl command that must succeed."""
    done = _run(call, scope, words)
    if done.returncode:
        said = done.stderr.strip() or done.stdout.strip()
        _refuse_without_systemd(said)
        raise Failed("failed", f"systemctl {' '.join(words)}: {said}", rc=done.returncode)
    return done.stdout


def _refuse_without_systemd(said):
    words = ("System has not been booted with systemd", "Failed to connect to bus", "Host is down", "No medium found")
    if any(word in said for word in words):
        raise Failed("unsupported", "systemd does not run here, so there are no units to control", stderr=said)


def _run(call, scope, words):
    try:
        return subprocess.run(
            ["systemctl", *([] if scope == "system" else [f"--{scope}"]), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=max(call.left(), 0.1),
            encoding="utf-8",
            errors="replace",
        )
    except FileNotFoundError:
        raise Failed("unsupported", "there is no systemctl here: this machine does not use systemd") from None
    except subprocess.TimeoutExpired:
        raise Failed("deadline", f"systemctl {' '.join(words)} did not end in time") from None
