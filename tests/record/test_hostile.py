"""Secrets of hostile shape go through every step type, every output and every report, and no part of any comes out.

As it is, each step type meets some of the two hundred; all of them: CLEANSLATE_SECRETS=200 ./inv test --path
tests/record/test_hostile.py (some minutes).
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import yaml

from cleanslate.record import list_runs, read_events, read_run
from cleanslate.report.notify import message
from cleanslate.report.story import tell_story
from cleanslate.steps.registry import step_names, step_type
from tests.record.hostile import MARK, found_below, found_in, secrets
from tests.story.practice import REPOSITORY, Story

pytestmark = pytest.mark.slow
EACH = int(os.environ.get("CLEANSLATE_SECRETS", "8"))  # secrets that each step type meets
_PROMPTED = ("hush901x 'p\"rompted", "--hush902x $HOME")
_FROM_HOST = "hush903x\thidden by no_log\\"
_BECOME = "hush904x become pass'word"
_COMMANDS = ("command", "shell", "raw", "script", "launch_server")  # their arguments are for the process list
_LEFT_OUT = ("import_role", "import_tasks", "meta", "async_status", "wait_for_connection", "gather_facts")

# What a step type needs besides the one argument that holds the secret.
BASE: dict[str, dict] = {
    "add_host": {"name": "other"},
    "assemble": {"src": "{{ home }}/parts", "dest": "{{ home }}/assembled"},
    "assert": {"that": "1 == 2"},
    "backup_file": {"path": "{{ home }}/file"},
    "blockinfile": {"path": "{{ home }}/file", "block": "x"},
    "copy": {"dest": "{{ home }}/copied", "content": "x"},
    "fetch": {"src": "{{ home }}/file", "dest": "{{ workdir }}/fetched/"},
    "file": {"path": "{{ home }}/there", "state": "touch"},
    "find": {"paths": "{{ home }}"},
    "get_url": {"url": "http://127.0.0.1:1/x", "dest": "{{ home }}/got", "timeout": 1},
    "group_by": {"key": "x"},
    "include_role": {"name": "nothing"},
    "include_tasks": {"file": "nothing.yml"},
    "launch_server": {"name": "one", "argv": ["/bin/false"], "settle": 0.1, "log": "{{ home }}/log"},
    "lineinfile": {"path": "{{ home }}/file", "line": "x"},
    "measure_server": {"port": 1, "engine": "sglang"},
    "patch_config": {"path": "{{ home }}/config.json", "set": {"a": 1}},
    "patch_files": {"name": "x"},
    "reboot": {"reboot_command": "/bin/false", "reboot_timeout": 1, "connect_timeout": 1},
    "release_gpus": {"container": 101, "grace": 0},
    "replace": {"path": "{{ home }}/file", "regexp": "x", "replace": "y"},
    "restore_file": {"path": "{{ home }}/file"},
    "script": {"cmd": "{{ workdir }}/script.sh"},
    "service": {"name": "nothing", "state": "started"},
    "set_stats": {"data": {"a": 1}},
    "slurp": {"src": "{{ home }}/file"},
    "stop_server": {"name": "nothing", "engine": "none", "grace": 0},
    "systemd": {"name": "nothing", "state": "started"},
    "template": {"src": "{{ workdir }}/template.j2", "dest": "{{ home }}/templated"},
    "unarchive": {"src": "{{ home }}/nothing.tar", "dest": "{{ home }}", "remote_src": True},
    "uri": {"url": "http://127.0.0.1:1/", "timeout": 1},
    "validate_argument_spec": {"argument_spec": {"x": {"type": "int"}}},
    "wait_drained": {"port": 1, "engine": "sglang", "within": 0.1},
    "wait_for": {"path": "{{ home }}/file", "timeout": 1},
    "wait_healthy": {"port": 1, "engine": "sglang", "within": 0.1},
    "command": {"argv": ["/bin/echo", "x"]},
    "shell": {"cmd": "true"},
    "raw": {"cmd": "true"},
    "include_vars": {"file": "nothing.yml"},
    "pause": {"seconds": 0},
}
_REPLACES = {  # an argument that another one of BASE excludes
    ("copy", "src"): "content",
    ("command", "cmd"): "argv",
    ("launch_server", "command"): "argv",
    ("launch_server", "specification"): "argv",
    ("wait_for", "host"): "path",
    ("include_vars", "dir"): "file",
}


def text_arguments(name: str) -> dict[str, str]:
    """The arguments that take text, and how: `text`, `list` or `map`."""
    found = {}
    for argument, field in step_type(name).arguments.model_fields.items():
        said = repr(field.annotation)
        if argument in step_type(name).unrendered or "Literal" in said:
            continue
        kind = "map" if "dict[" in said else "list" if "list[" in said else "text" if "str" in said else ""
        if kind or "Any" in said:
            found[argument.rstrip("_")] = kind or "text"
    return found


def tasks(names: tuple[str, ...]) -> list[dict]:
    """A task for each text argument of each step type, which loops over some of the secrets."""
    made = []
    for name in names:
        arguments = text_arguments(name) or {}
        for index, (argument, kind) in enumerate(arguments.items()):
            value = {"text": "{{ item }}", "list": ["{{ item }}"], "map": {"k": "{{ item }}"}}[kind]
            start, count = len(made) * 7 % 200, max(EACH, len(arguments))
            given = {**BASE.get(name, {}), argument: value}
            given.pop(_REPLACES.get((name, argument), ""), None)
            made.append(
                {
                    "name": f"{name} {argument}",
                    name: given,
                    "loop": f"{{{{ (everything * 2)[{start}:][:{count}][{index}::{len(arguments)}] }}}}",
                    "ignore_errors": True,
                    "timeout": 20,
                    "register": "said",
                }
            )
    return made


ELSE = r"""
- {name: "named {{ everything[0] }}", debug: {msg: "{{ everything }}"}}
- name: encoded
  debug:
    msg: "{{ item | b64encode }} {{ item | to_json }} {{ item | urlencode }} {{ item | quote }} {{ item | to_yaml }}"
  loop: "{{ some }}"
- {name: broken, debug: {msg: "{{ item.nothing.more }}"}, loop: "{{ some }}", ignore_errors: true}
- {name: refused, fail: {msg: "{{ item }}"}, loop: "{{ some }}", ignore_errors: true}
- {name: conditions, debug: {msg: x}, when: "item == 'x'", loop: "{{ some }}"}
- {name: no list, debug: {msg: x}, loop: "{{ some[0] }}", ignore_errors: true}
- name: kept
  set_fact: {"kept_{{ index }}": "{{ item }}"}
  loop: "{{ some }}"
  loop_control: {index_var: index, label: "{{ item }}"}
- name: wrong
  copy: {content: x, dest: "{{ home }}/x", mode: "{{ item }}"}
  loop: "{{ some }}"
  ignore_errors: true
- name: not a flag
  file: {path: "{{ home }}/x", follow: "{{ item }}"}
  loop: "{{ some }}"
  ignore_errors: true
- {name: prompted, debug: {msg: "{{ first }} {{ second }}"}}
- {name: become, debug: {msg: "{{ ansible_become_password }}"}}
- {name: hidden, slurp: {src: "{{ home }}/hidden"}, no_log: true, register: hidden}
- {name: shown later, debug: {msg: "{{ hidden.content | b64decode }} and {{ hidden.content }}"}}
- {name: told, wait_for: {path: "{{ home }}/{{ some[0] }}", timeout: 1}, ignore_errors: true}
- name: again
  command: "false"
  until: said_ is succeeded
  register: said_
  retries: 1
  delay: 0
  loop: "{{ some }}"
  ignore_errors: true
- {name: diffs, copy: {content: "{{ some | join('\n') }}", dest: "{{ home }}/all"}, diff: true}
- {name: templated, template: {src: "{{ workdir }}/template.j2", dest: "{{ home }}/all"}, diff: true}
- {name: last, fail: {msg: "{{ some | join(' ') }}"}}
"""


class Hostile(Story):
    """A lab with a repository of its own that is full of secrets."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        every = secrets()
        (folder / "vault-password").write_text("the vault's own pass\n")
        # What stands in braces in a plain file is a template, and no secret: a vault is the place for it.
        braces = [text for text in every[100:] if "{{" in text or "{%" in text]
        every = [text for text in every if text not in braces]
        every = [*every[:100], *braces, *every[100:]]
        self._vault(folder / "group_vars" / "all" / "vault.yml", {"vaulted": every[:110]})
        named = {f"name_{n}_token": text for n, text in enumerate(every[110:150])}
        (folder / "group_vars" / "all" / "named.yml").write_text(
            yaml.safe_dump(
                {**named, "listed_secret": every[150:180], "ansible_become_password": _BECOME, "tiny_token": "q"},
                allow_unicode=True,
            )
        )
        (folder / "given.json").write_text(json.dumps({"given_password": every[180:]}))
        (folder / "script.sh").write_text("#!/bin/sh\necho script\n")
        (folder / "template.j2").write_text("{% for one in some %}{{ one }}\n{% endfor %}")
        self.home = self.lab / "eagle3-lab" / "home" / "work"
        (self.home / "parts").mkdir(parents=True)
        (self.home / "file").write_text("x\n")
        (self.home / "config.json").write_text('{"a": 2}\n')
        (self.home / "hidden").write_text(_FROM_HOST)

    def _vault(self, path: Path, values: dict) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(values, allow_unicode=True))
        command = [sys.executable, "-m", "cleanslate.cli", "vault", "encrypt", str(path)]
        command += ["--vault-password-file", str(self.folder / "vault-password")]
        subprocess.run(command, check=True, cwd=REPOSITORY, capture_output=True)
        assert path.read_text().startswith("$ANSIBLE_VAULT")

    def write_play(self, chosen: list[dict], name: str) -> Path:
        """A play of these tasks."""
        count = 40
        named = ", ".join(f"name_{n}_token" for n in range(count))
        play = {
            "hosts": "eagle3",
            "gather_facts": False,
            "vars": {
                "everything": f"{{{{ vaulted + [{named}] + listed_secret + given_password }}}}",
                "some": f"{{{{ everything[::{max(1, 199 // max(EACH, 20))}] }}}}",
                "workdir": str(self.folder),
                "home": str(self.home),
            },
            "vars_prompt": [
                {"name": "first", "prompt": "First"},
                {"name": "second", "prompt": "Second", "private": True},
            ],
            "tasks": chosen,
        }
        path = self.folder / f"{name}.yml"
        path.write_text(yaml.safe_dump([play], allow_unicode=True, width=10000))
        return path

    def run(self, play: Path, *words: str) -> tuple[int, str]:
        """Run it on a terminal, and answer its questions."""
        command = [sys.executable, "-m", "cleanslate.cli", "play", str(play), "-i", str(self.inventory), *words]
        command += [
            "--vault-password-file",
            str(self.folder / "vault-password"),
            "-e",
            f"@{self.folder / 'given.json'}",
        ]
        environment = {
            **os.environ,
            "INVOKE_CLEANSLATE_RUNS": str(self.runs),
            "HOME": str(self.folder),
            "TERM": "xterm",
        }
        near, far = pty.openpty()
        running = subprocess.Popen(
            command, stdin=far, stdout=far, stderr=far, env=environment, cwd=REPOSITORY, start_new_session=True
        )
        os.close(far)
        told, asked = b"", [b"First: ", b"Second: "]
        answers = [f"{one}\n".encode() for one in _PROMPTED]
        end = time.monotonic() + 500
        while time.monotonic() < end:
            if select.select([near], [], [], 0.1)[0]:
                try:
                    data = os.read(near, 65536)
                except OSError:
                    break
                told += data
            elif running.poll() is not None:
                break
            if asked and asked[0] in told:
                asked.pop(0)
                time.sleep(0.2)
                os.write(near, answers.pop(0))
        os.close(near)
        return running.wait(20), told.decode("utf-8", "replace")


class ProcessList(threading.Thread):
    """Looks at the command lines and environments of a story's processes until stopped."""

    def __init__(self, story: Hostile) -> None:
        super().__init__(daemon=True)
        self.place = str(story.folder).encode()
        self.found: dict[str, None] = {}
        self.over = threading.Event()
        self.looks = 0

    def run(self) -> None:
        mark = re.compile(MARK.pattern.encode())
        while not self.over.wait(0.02):
            self.looks += 1
            for entry in os.listdir("/proc"):  # noqa: PTH208 - for speed
                if entry.isdigit():
                    text = self._of(entry)
                    if self.place in text and mark.search(text):
                        self.found[text[:300].decode("utf-8", "replace").replace("\0", " ")] = None

    @staticmethod
    def _of(pid: str) -> bytes:
        text = b""
        for name in ("cmdline", "environ"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/{name}", "rb") as file:  # noqa: PTH123 - for speed
                text += file.read() + b"\0"
        return text


def complaint(told: str) -> str:
    """Why a play was refused, or the end of what it said."""
    return "\n".join(line for line in told.splitlines() if "error:" in line) or told[-3000:]


@pytest.fixture
def story(tmp_path):
    made = Hostile(tmp_path)
    yield made
    made.close()


def assert_nothing_came_out(story: Hostile, told: str) -> None:
    """Not on the terminal, in no record or report made from it, and in no file that the play did not write."""
    assert [] == found_in(told)
    for words in (
        ("show", "last", "-v"),
        ("show", "last", "--json"),
        ("show", "last", "--step", "*", "-v"),
        ("diff", "--json"),
        ("runs", "--json"),
        ("report", "last", "--html", str(story.folder / "made" / "page.html")),
        ("report", "last", "--junit", str(story.folder / "made" / "junit.xml")),
        ("export", "last", str(story.folder / "made" / "run.tar.gz")),
        (
            "lease",
            "show",
            "eagle3-lab",
            "-i",
            str(story.inventory),
            "--json",
            "--vault-password-file",
            str(story.folder / "vault-password"),
        ),
    ):
        (story.folder / "made").mkdir(exist_ok=True)
        _, said = story.inv(*words)
        assert [] == found_in(said), words
    folder = list_runs(story.runs)[0].folder
    assert [] == found_in(json.dumps(message(tell_story(read_run(folder), read_events(folder)), "failure")))
    subprocess.run(["tar", "xzf", "run.tar.gz"], check=True, cwd=story.folder / "made")
    # What the play made on purpose: files named by the secrets in and beside its home, what launch_server was given.
    state = story.home.parent / ".local" / "state" / "cleanslate"
    beside = [path for path in story.home.parent.iterdir() if path.name != ".local"]
    for folder in (story.runs, story.folder / "made", story.lab):
        assert {} == found_below(folder, *beside, *(state / name for name in ("servers", "logs", "diagnostics")))


@pytest.mark.timeout(900)
def test_through_every_step_type(story):
    """All but those that run commands: nothing of a secret is in the process list either."""
    names = tuple(name for name in step_names() if name not in (*_COMMANDS, *_LEFT_OUT))
    play = story.write_play([*tasks(names), *yaml.safe_load(ELSE)], "every")
    looking = ProcessList(story)
    looking.start()
    code, told = story.run(play, "--diff", "-vvv")
    looking.over.set()
    looking.join()
    assert 2 == code, complaint(told)
    assert "tiny_token has fewer than 3 characters" in told
    assert_nothing_came_out(story, told)
    assert (True, {}) == (looking.looks > 10, looking.found)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("output", ["console", "plain", "json", "quiet"] if EACH >= 200 else ["json"])
def test_through_commands_and_every_output(story, output):
    play = story.write_play([*tasks(_COMMANDS), *yaml.safe_load(ELSE)], "commands")
    code, told = story.run(play, "--output", output, *(("--diff",) if output != "json" else ()))
    assert 2 == code, complaint(told)
    assert_nothing_came_out(story, told)


def test_the_argument_list_is_not_empty():
    """The registry is really walked."""
    assert 150 < sum(len(text_arguments(name)) for name in step_names())
