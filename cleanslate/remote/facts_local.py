"""Facts that the target's owner keeps in files (facts.d): JSON, INI, or programs that print either."""

import configparser
import glob
import json
import os
import subprocess

from cleanslate.remote.facts_files import text
from cleanslate.remote.paths import expand

_USUAL = "/etc/ansible/facts.d"


def local(options):
    """{"local": {name of the file: its facts}}."""
    folder = expand(options["fact_path"] or _USUAL)
    return {"local": {_name(path): _content(path, options) for path in sorted(glob.glob(f"{folder}/*.fact"))}}


def _name(path):
    return os.path.splitext(os.path.basename(path))[0]


def _content(path, options):
    found = text(path)
    if os.access(path, os.X_OK):
        try:
            done = subprocess.run([path], stdin=subprocess.DEVNULL, capture_output=True, timeout=options["timeout"])
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"error running {path}: {type(error).__name__}"
        if done.returncode:
            return f"error running {path}: exit {done.returncode}"
        found = done.stdout.decode("utf-8", "replace")
    try:
        return json.loads(found)
    except ValueError:
        pass
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(found)
    except configparser.Error as error:
        return f"error reading {path}: neither JSON nor INI ({type(error).__name__})"
    return {section: dict(parser.items(section)) for section in parser.sections()}
