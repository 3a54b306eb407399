"""Packages modules with Ansible's own code; run as a program of its own, so that nothing of Ansible's enters ours.

Gets on its standard input, as JSON, {path: the controller's sys.path, collections: folders, utils: folders,
modules: [{name, full_name, path}]}, and writes on its standard output {version, internals, modules: {path: {package
(base64), style, place, secrets} or {error}}}. For style and place see remote/modules.py; `secrets` are the names of
arguments that the module's code marks no_log.
"""

import ast
import base64
import functools
import inspect
import io
import json
import os
import re
import sys
import zipfile

MARK = {"cleanslate": "the arguments stand here"}
PLACE = json.dumps({"ANSIBLE_MODULE_ARGS": MARK})
STYLES = {"non_native_want_json": "json", "old": "words", "binary": "binary"}


def main():
    """Answer the one request."""
    answers = os.dup(1)
    os.dup2(2, 1)  # whatever Ansible prints is no answer
    request = json.load(sys.stdin)
    sys.path[:] = request["path"]
    os.environ["ANSIBLE_COLLECTIONS_PATH"] = ":".join(request["collections"]) or "/nonexistent"
    answer = Packer(request).answer()
    with os.fdopen(answers, "w") as file:
        json.dump(answer, file)


class Packer:
    """What Ansible needs to be set up to package, once."""

    def __init__(self, request):
        from ansible import release
        from ansible.plugins import loader
        from ansible.template import Templar

        start = getattr(loader, "init_plugin_loader", None)
        if start is not None:
            start(request["collections"])
        for folder in request["utils"]:
            loader.module_utils_loader.add_directory(folder)
        self.request = request
        self.version = release.__version__
        self.templar = Templar(loader=None)

    def answer(self):
        """Package everything that is asked for; what goes wrong with one is that one's error."""
        return {
            "version": self.version,
            "internals": internals(self.version),
            "modules": {one["path"]: self.tried(one) for one in self.request["modules"]},
        }

    def tried(self, module):
        """One module's package, or why there is none."""
        try:
            return self.packed(module)
        except Exception as error:  # noqa: BLE001 - Ansible's errors are many
            return {"error": " ".join(str(error).split()) or type(error).__name__}

    def packed(self, module):
        """One module's package."""
        from ansible.executor.module_common import modify_module

        given = {
            "module_name": module["full_name"].rpartition(".")[2],
            "module_path": module["path"],
            "module_args": dict(MARK),
            "templar": self.templar,
            "task_vars": {"ansible_python_interpreter": "/usr/bin/python3"},
            "module_compression": "ZIP_DEFLATED",
        }
        known = inspect.signature(modify_module).parameters
        built = modify_module(**{name: value for name, value in given.items() if name in known})
        data, kind = (built.b_module_data, built.module_style) if hasattr(built, "module_style") else built[:2]
        style, place = place_of(data, kind)
        return {
            "package": base64.b64encode(data).decode(),
            "style": style,
            "place": place,
            "secrets": sorted(secret_names(data)),
        }


def place_of(data, kind):
    """How the package takes its arguments, and the text that stands for them."""
    if kind in STYLES:
        return STYLES[kind], ""
    for style, place in (("python", repr(PLACE)), ("text", json.dumps(MARK))):
        if data.count(place.encode()) == 1:
            return style, place
    raise ValueError("this version of ansible-core puts arguments where cleanslate does not know of")


def internals(version):
    """The values that Ansible hands to every module, as far as this version's modules know of them."""
    from ansible import constants
    from ansible.module_utils.common.parameters import PASS_VARS

    values = {
        "check_mode": False,
        "debug": False,
        "diff": False,
        "ignore_unknown_opts": False,
        "keep_remote_files": False,
        "module_name": "",
        "no_log": False,
        "remote_tmp": "~/.ansible/tmp",
        "selinux_special_fs": list(constants.DEFAULT_SELINUX_SPECIAL_FS),
        "shell_executable": "/bin/sh",
        "socket": None,
        "syslog_facility": str(constants.DEFAULT_SYSLOG_FACILITY),
        "target_log_info": None,
        "tmpdir": None,
        "tracebacks_for": [],
        "verbosity": 0,
        "version": version,
    }
    return {"_ansible_" + name: value for name, value in values.items() if name in PASS_VARS}


def secret_names(data):
    """The arguments that the module, or what is packed with it, marks no_log."""
    return {name for text in sources(data) if "no_log" in text for name in marked(text)}


def sources(data):
    """Every Python text in a package."""
    found = re.search(rb"(?:zip_data=|ZIPDATA = (?:u|r)?)(['\"]+)([A-Za-z0-9+/=\s]+)\1", data)
    if found is None:
        yield data.decode("utf-8", "replace")
        return
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(found[2]))) as package:
        for name in package.namelist():
            if name.endswith(".py"):
                yield package.read(name).decode("utf-8", "replace")


@functools.cache
def marked(text):
    """Names and aliases of arguments with no_log=True: `password=dict(..., no_log=True)`, also as literals."""
    try:
        return frozenset(marked_in(ast.parse(text)))
    except SyntaxError:
        return frozenset()


def marked_in(tree):
    """The same of parsed text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            pairs = [(word.arg, word.value) for word in node.keywords]
        elif isinstance(node, ast.Dict):
            pairs = [(getattr(key, "value", None), value) for key, value in zip(node.keys, node.values, strict=True)]
        else:
            continue
        for name, value in pairs:
            about = entries(value)
            if isinstance(name, str) and getattr(about.get("no_log"), "value", None) is True:
                yield name
                yield from (each.value for each in getattr(about.get("aliases"), "elts", ()) if hasattr(each, "value"))


def entries(node):
    """What stands in `dict(...)` or `{...}`, by name."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "dict":
        return {word.arg: word.value for word in node.keywords}
    if isinstance(node, ast.Dict):
        return {getattr(key, "value", None): value for key, value in zip(node.keys, node.values, strict=True)}
    return {}


if __name__ == "__main__":
    main()
