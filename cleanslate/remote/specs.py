"""Keeps with what a server was launched, and which launches served, so that the last good one can be launched again.

    STATE/cleanslate/servers/NAME.specs     {"launches": [{"launch_id", "at", "good", "spec"}]}, the newest last

The environment's values are in it, which the state file does not hold; only this user can read it.
"""

import io
import json
import os

from cleanslate.remote import atomic, server_state
from cleanslate.remote.registry import Failed

_MOST = 6
LAST_GOOD = "last-good"


def _place(name):
    return str(server_state.path(name).with_suffix(".specs"))


def kept(name):
    """The launches that are kept, the newest last."""
    try:
        with open(_place(name), encoding="utf-8") as file:
            return list(json.load(file)["launches"])
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (ValueError, LookupError, TypeError) as error:
        raise Failed("wrong", "%s cannot be read: %s" % (_place(name), error)) from None


def _write(name, launches):
    good = [each for each in launches if each["good"]][-1:]
    rest = [each for each in launches[-_MOST:] if each not in good]
    ordered = [each for each in launches if each in good or each in rest]
    data = (json.dumps({"launches": ordered}, indent=1) + "\n").encode()
    os.makedirs(os.path.dirname(_place(name)), exist_ok=True)
    atomic.write(_place(name), io.BytesIO(data), {"mode": "0600"})


def keep(name, launch_id, at, spec):
    """Keep the specification of a launch; whether it is good is known later."""
    _write(name, [*kept(name), {"launch_id": launch_id, "at": at, "good": False, "spec": spec}])


def served(name, launch_id):
    """Mark a launch as one that served."""
    launches = kept(name)
    for each in launches:
        if each["launch_id"] == launch_id:
            each["good"] = True
    _write(name, launches)


def last_good(name):
    """The newest launch that served; Failed("unknown") where none is known."""
    good = [each for each in kept(name) if each["good"]]
    if not good:
        what = "no launch of %s is known here that served, so there is no good specification to go back to" % name
        raise Failed("unknown", what, fix="wait_healthy notes that a launch serves; give argv once")
    return good[-1]


def resolved(spec):
    """The specification itself, where `last-good` is asked for instead of one."""
    wanted = spec.get("specification")
    if wanted is None:
        return {key: value for key, value in spec.items() if key != "specification"}
    return last_good(spec["name"])["spec"]
