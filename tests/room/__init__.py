"""A small machine room for tests: its own PID namespace, real processes, real calls of the agent's code.

Everything in a room dies with it, and nothing outside can be signalled from inside: tests that end processes by title
or by device cannot meet each other, nor a lab that runs beside them. Root is used where it is there; otherwise a user
namespace is made.
"""

from __future__ import annotations

import hashlib
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

from cleanslate.connect.target import Address
from cleanslate.errors import CallFailed, DeadlinePassed
from cleanslate.model import Answer

HERE = Path(__file__).parent
REPOSITORY = HERE.parent.parent


def compile_c(source: Path, out: Path, *flags: str) -> Path:
    """Build one C file with the machine's compiler, once for each state of it: three test processes want the same."""
    words = ["gcc", "-O1", "-Wall", "-pthread", *flags]
    compiler = Path(shutil.which("gcc") or "gcc").resolve()
    state = f"{words} {compiler} {compiler.stat().st_mtime_ns}".encode() + source.read_bytes()
    kept = REPOSITORY / ".pytest_cache" / "room" / f"{source.stem}-{hashlib.sha256(state).hexdigest()[:16]}"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_name(f"{kept.name}.{os.getpid()}")
        subprocess.run([*words, "-o", str(part), str(source)], check=True)
        part.replace(kept)
    shutil.copy(kept, out)
    return out


def in_namespaces(*more: str) -> list[str]:
    """The command that starts something in a PID namespace of its own, which ends with it."""
    rootless = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *rootless, "--pid", "--fork", "--mount-proc", "--kill-child", *more]


class Room:
    """The machine room; a Target whose calls run inside it."""

    def __init__(self, folder: Path, actor: Path, *, python=sys.executable, libraries=None, before=()):
        self.folder = folder
        self.actor_file = actor
        self.address = Address("room", kind="local")
        self.calls: list[str] = []
        self.progress: list[dict] = []
        self.bin = folder / "bin"
        self.bin.mkdir(parents=True, exist_ok=True)
        (folder / "dev").mkdir(exist_ok=True)
        self._ready = 0
        start = [str(actor), "--init", *before, python, "-u", str(HERE / "inside.py")]
        self.process = subprocess.Popen(
            [*in_namespaces(), *start],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={
                **os.environ,
                "PYTHONPATH": f"{REPOSITORY}:{self._pynvml(folder) if python != sys.executable else ''}",
                "PATH": f"{self.bin}:{os.environ['PATH']}",
                "XDG_STATE_HOME": str(folder / "state"),
                **({"PYTHONPYCACHEPREFIX": str(actor.parent / "pycache")} if python != sys.executable else {}),
                "FAKE_NVML": str(folder / "nvml"),
                "LD_LIBRARY_PATH": str(libraries or self._no_nvml(folder)),
            },
            start_new_session=True,
        )
        self._buffer = b""

    @staticmethod
    def _pynvml(folder: Path) -> Path:
        """A folder with nothing but pynvml.py, for interpreters that have none of our packages."""
        import pynvml

        place = folder / "site"
        place.mkdir(exist_ok=True)
        link = place / "pynvml.py"
        if not link.exists():
            link.symlink_to(pynvml.__file__)
        return place

    @staticmethod
    def _no_nvml(folder: Path) -> Path:
        """A folder that hides this machine's NVML and CUDA, should it have them."""
        place = folder / "empty"
        place.mkdir(exist_ok=True)
        for name in ("libnvidia-ml.so.1", "libcuda.so.1"):
            (place / name).touch()
        return place

    # ---- staging

    def device(self, number: int | str) -> Path:
        """A GPU's device file: sparse, 100 GiB, its path ends in /dev/nvidiaN."""
        path = self.folder / "dev" / f"nvidia{number}"
        if not path.exists():
            path.touch()
            os.truncate(path, 100 << 30)
        return path

    def program(self, name: str, text: str) -> Path:
        """An executable script on the room's PATH."""
        path = self.bin / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def smi(self, *, text=None, rc=0, count=8, live=False, gpus=None, apps=(), unknown_fields=(), without=()) -> None:
        """Put a pretend nvidia-smi on the room's PATH, and say what it answers from now on.

        live: memory and processes from who maps the devices. gpus: {index: {field: text}}. text: instead of everything.
        """
        facts = [f"rc {rc}", f"count {count}", *(["live 1"] if live else [])]
        facts += [f"unknown {field}" for field in unknown_fields] + [f"without {index}" for index in without]
        facts += [
            f"gpu {index} {field} {word}" for index, words in (gpus or {}).items() for field, word in words.items()
        ]
        facts += [f"app {line}" for line in apps]
        (self.folder / "smi.text").unlink(missing_ok=True)
        if text is not None:
            (self.folder / "smi.text").write_text(text)
        part = self.folder / "smi.part"
        part.write_text("".join(fact + "\n" for fact in facts))
        part.replace(self.folder / "smi.facts")
        if not (self.bin / "nvidia-smi").exists():
            shutil.copy(self.actor_file.with_name("nvidia-smi"), self.bin / "nvidia-smi")

    def smi_asked(self) -> list[str]:
        """What the pretend nvidia-smi was asked, one text a call."""
        log = self.folder / "smi.log"
        return log.read_text().splitlines() if log.exists() else []

    def nvml(self, *lines: str) -> None:
        """Say what the pretend NVML answers from now on (the room must have been made with it)."""
        part = self.folder / "nvml.part"
        part.write_text("".join(line + "\n" for line in lines))
        part.replace(self.folder / "nvml")

    def spawn(self, *argv: str | Path) -> None:
        """Start something in the room, as the child of its first process."""
        self._ask({"do": "spawn", "argv": [str(word) for word in argv]})

    def act(self, *options: str | Path, tells: int = 1, prefix=(), inside=False) -> list[int]:
        """Start an actor and wait until it and its children are ready; gives their pids.

        The pids are those that the actors see; with `inside` (a namespace below the room's) those that the room sees.
        """
        self._ready += 1
        ready = self.folder / f"ready{self._ready}"
        if inside:
            prefix = ("env", f"ACTOR={ready}", *prefix)
        words = [str(word) for word in options]
        if "--" not in words:
            words.append("--")
        place = words.index("--")
        self.spawn(*prefix, self.actor_file, "--ready", ready, *words[:place], *words[place:])
        told = self.told(ready, tells)
        return self._ask({"do": "marked", "mark": f"ACTOR={ready}"})["answer"] if inside else told

    def told(self, ready: Path, tells: int) -> list[int]:
        """Wait until so many pids stand in a file."""
        until = time.monotonic() + 20
        while time.monotonic() < until:
            pids = [int(line) for line in ready.read_text().split()] if ready.exists() else []
            if len(pids) >= tells:
                return pids
            time.sleep(0.005)
        raise AssertionError(f"{tells} actors were to be ready, {ready} says otherwise")

    def kill(self, pid: int) -> None:
        """Send KILL to a process of the room; it has been sent when this returns."""
        self._ask({"do": "kill", "pid": pid})

    def look(self, pid: int) -> dict | None:
        """A process of the room: {pid, start, state, title, ...}, or None."""
        return self._ask({"do": "look", "pid": pid})["answer"]

    def alive(self, *pids: int) -> list[bool]:
        """Whether each pid has a living process (a zombie has not)."""
        found = [self.look(pid) for pid in pids]
        return [each is not None and each["state"] not in ("Z", "X") for each in found]

    def launched(self, name: str, pid: int, more=None) -> dict:
        """Write a server's state file for a process of the room, as a launch does."""
        return self._ask({"do": "launched", "name": name, "pid": pid, "more": more or {}})["answer"]

    # ---- the target

    def call(self, name, arguments, *, deadline, read_only=False, blob=None, sink=None, on_progress=None, parts=None):
        self.calls.append(name)
        asked = {"do": "call", "name": name, "arguments": dict(arguments), "deadline": deadline}
        found = self._ask({**asked, "read_only": read_only}, on_progress, deadline + 20)
        if "failed" in found:
            raise CallFailed(found["failed"]["kind"], found["failed"]["message"], found["failed"]["details"])
        return Answer(found["answer"])

    def plain(self, command, *, deadline, stdin=b""):
        raise NotImplementedError

    def cancel(self):
        pass

    def _ask(self, request, on_progress=None, seconds=30.0):
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        while True:
            found = json.loads(self._line(seconds))
            if "progress" not in found:
                assert "bug" not in found, found["bug"]
                return found
            self.progress.append(found["progress"])
            if on_progress:
                on_progress(found["progress"])

    def _line(self, seconds: float) -> bytes:
        assert self.process.stdout is not None
        until = time.monotonic() + seconds
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise DeadlinePassed("the room does not answer")
            read = os.read(self.process.stdout.fileno(), 1 << 16)
            assert read, "the room has ended"
            self._buffer += read
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def sweep(self) -> None:
        """End everything that was staged, and forget all that was put there; the room itself stays."""
        self._ask({"do": "sweep"})
        self.calls.clear()
        self.progress.clear()
        for place in self.folder.iterdir():
            if place.name.startswith(("ready", "smi.")) or place.is_file():
                place.unlink()
        for place in self.bin.iterdir():
            place.unlink()
        shutil.rmtree(self.folder / "state", ignore_errors=True)

    def close(self) -> None:
        """End the room with everything in it."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                stream.close()
