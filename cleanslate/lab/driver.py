"""The pretend driver: who holds how much of which GPU, from what living processes really have mapped."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path

from cleanslate.lab import smi
from cleanslate.lab.alive import process_ids
from cleanslate.lab.faults import asked
from cleanslate.lab.layout import Layout
from cleanslate.lab.namespaces import pid_namespace

_MIB = 1 << 20
_FRESH = 0.02  # seconds for which a scan is good: several questions at once are one look
_WATCH = 0.1
_RELEASE_DELAY = 4.0

Held = dict[tuple[int, int], int]
"""(pid, GPU) -> bytes."""


def scan(devices: Path, gpus: int) -> Held:
    """What every process that can be seen from here has mapped of the device files."""
    wanted = {f"{devices}/nvidia{gpu}".replace("\n", "\\012").encode(): gpu for gpu in range(gpus)}
    mark = str(devices).replace("\n", "\\012").encode()
    held: Held = {}
    for entry in process_ids():
        try:
            maps = Path(f"/proc/{entry}/maps").read_bytes()
        except OSError:
            continue
        if mark not in maps:
            continue
        for line in maps.splitlines():
            parts = line.split(None, 5)
            gpu = wanted.get(parts[5]) if len(parts) == 6 else None
            if gpu is not None:
                start, _, end = parts[0].partition(b"-")
                key = (entry, gpu)
                held[key] = held.get(key, 0) + int(end, 16) - int(start, 16)
    return held


def title_of(pid: int) -> str:
    """The first word of a process's command line, as the real driver names it."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().partition(b"\0")[0].decode("utf-8", "replace") or "[Not Found]"
    except OSError:
        return "[Not Found]"


class Driver:
    """Answers `nvidia-smi` of both machines, and `lab status`."""

    def __init__(self, layout: Layout, identity: str, inside: str | None) -> None:
        self._layout = layout
        self._hardware = layout.hardware
        self._uuids = [smi.uuid_of(identity, gpu) for gpu in range(layout.hardware.gpus)]
        self._inside = inside  # the container's PID namespace; None: it has none of its own
        self._held: Held = {}
        self._at = 0.0
        self._lingering: list[tuple[int, int, float]] = []  # GPU, bytes, until when
        self.make_orphan: Callable[[], None] = lambda: None

    def look(self) -> Held:
        """Scan, unless that was done just now, and note what has gone since the last time."""
        now = time.monotonic()
        if now - self._at < _FRESH:
            return self._held
        held = scan(self._layout.devices, self._hardware.gpus)
        if "slow-release" in asked(self._layout):
            for (pid, gpu), size in self._held.items():
                if (pid, gpu) not in held:
                    self._lingering.append((gpu, size, now + _RELEASE_DELAY))
        self._lingering = [entry for entry in self._lingering if entry[2] > now]
        self._held, self._at = held, now
        return held

    def readings(self, *, inside: bool) -> list[smi.Reading]:
        """All GPUs now. Inside the container the memory is seen and the holders are not (measured on a real one)."""
        held = self.look()
        found = []
        for gpu in range(self._hardware.gpus):
            holders = sorted((pid, size) for (pid, one), size in held.items() if one == gpu)
            used = sum(size for _, size in holders) + sum(size for one, size, _ in self._lingering if one == gpu)
            shown = () if inside else tuple((pid, title_of(pid), size // _MIB) for pid, size in holders)
            found.append(smi.Reading(gpu, self._uuids[gpu], used // _MIB, shown))
        return found

    def everything_held(self) -> bool:
        """Whether the story can begin: every GPU has a holder."""
        return len({gpu for _, gpu in self.look()}) == self._hardware.gpus

    async def watch(self) -> None:
        """Keep looking while memory is released slowly, so that the delay runs from the holder's death."""
        while True:
            await asyncio.sleep(_WATCH)
            if "slow-release" in asked(self._layout):
                self.look()

    def _asks_from_inside(self, connection: socket.socket) -> bool:
        peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        pid = struct.unpack("3i", peer)[0]
        try:
            return self._inside is not None and pid_namespace(pid) == self._inside
        except OSError:
            return False

    def _answer(self, words: list[str], connection: socket.socket) -> tuple[int, str]:
        if words[0] == "smi":
            return smi.answer(words[1:], self.readings(inside=self._asks_from_inside(connection)))
        if words[0] == "orphan":
            self.make_orphan()
            return 0, ""
        found = [
            {"index": gpu.index, "uuid": gpu.uuid, "used_mib": gpu.used, "holders": [list(one) for one in gpu.holders]}
            for gpu in self.readings(inside=False)
        ]
        return 0, json.dumps(found)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request: words with zero bytes between them, up to the end of input."""
        with contextlib.suppress(ConnectionError):
            words = (await reader.read()).decode("utf-8", "surrogateescape").split("\0")
            connection = writer.get_extra_info("socket")
            code, text = self._answer(words, connection)
            writer.write(f"{code}\n{text}".encode("utf-8", "replace"))
            await writer.drain()
        writer.close()
