"""`python -m sglang.launch_server`: starts eight workers, serves when they are ready, ends when told.

With CLEANSLATE_LAB_STUCK=N it comes up at once as a server that hung hours ago: its first N GPUs held, signals
ignored, connections accepted and never answered. The lab starts it so once, for the story to begin with.
"""

import json
import os
import select
import signal
import socket
import sys
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

from sglang.machine import GPUS, PACE, faults, free_mib, log
from sglang.options import parse_options
from sglang.worker import POOL_GIB, WEIGHTS_GIB, keep_port, on_term, run_worker


class Refused(Exception):
    """The server cannot start, for the reason that it would print."""


def read_config(folder: str) -> dict[str, Any]:
    """A model's config.json; Refused where there is none."""
    path = Path(folder) / "config.json"
    try:
        loaded = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Refused(f"OSError: Can't load the configuration of '{folder}': {error}") from None
    assert isinstance(loaded, dict)
    return loaded


def check_models(options: Namespace) -> None:
    """Read both configs, and refuse a context that is longer than the draft's positions, as SGLang does."""
    target = read_config(options.model_path)
    options.architecture = (target.get("architectures") or ["unknown"])[0]
    options.context_length = options.context_length or target["max_position_embeddings"]
    options.draft_architecture = None
    checked = [target]
    if options.speculative_draft_model_path:
        draft = read_config(options.speculative_draft_model_path)
        options.draft_architecture = (draft.get("architectures") or ["unknown"])[0]
        checked.append(draft)
    for config in checked:
        derived = config["max_position_embeddings"]
        if options.context_length <= derived:
            continue
        message = (
            f"User-specified context_length ({options.context_length}) is greater than the derived context_length "
            f"({derived}). This may lead to incorrect model outputs or CUDA errors."
        )
        if os.environ.get("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN", "0") not in ("1", "true"):
            raise Refused(
                f"ValueError: {message} To allow overriding this maximum, set the env var "
                f"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1"
            )
        log(f"Warning: {message}")


def check_memory(options: Namespace) -> None:
    """Refuse to start on a GPU whose memory somebody else still holds."""
    needed = (WEIGHTS_GIB + POOL_GIB) * 1024
    try:
        free = free_mib()
    except RuntimeError as error:
        raise Refused(f"RuntimeError: {error}") from None
    for gpu in range(options.tp_size):
        if free[gpu] < needed:
            raise Refused(
                f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {needed / 1024:.2f} GiB. GPU {gpu} has "
                f"a total capacity of 140.40 GiB of which {free[gpu] / 1024:.2f} GiB is free."
            )


def bind(options: Namespace) -> socket.socket:
    """Take the port without listening yet, so that clients are refused until all ranks are loaded."""
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((options.host, options.port))
    except OSError as error:
        raise Refused(
            f"OSError: [Errno {error.errno}] error while attempting to bind on address "
            f"('{options.host}', {options.port}): {error.strerror.lower()}"
        ) from None
    bound.set_inheritable(False)
    return bound


class Launcher:
    """The front process: it knows its workers and ends with them."""

    def __init__(self, options: Namespace, *, stuck: int) -> None:
        self.options = options
        self.stuck = stuck  # how many workers a server has that hung long ago; 0: this one is sound
        self.door: Any = None
        self.workers: dict[int, int] = {}  # pid -> rank
        self.tokenizer = 0
        self._life: int | None = None
        self._readiness: list[int] = []  # one reading end for each worker that has not loaded yet

    def start_processes(self, bound: socket.socket) -> None:
        """Fork the tokenizer worker, which shares the port, and one scheduler a GPU, which do not."""
        reading, self._life = os.pipe()
        self.tokenizer = self._fork(lambda: keep_port(reading))
        os.close(reading)
        for rank in range(self.stuck or self.options.tp_size):
            reading, writing = os.pipe()
            pid = self._fork(lambda rank=rank, end=writing: self._work(rank, end, bound))
            os.close(writing)
            self.workers[pid] = rank
            self._readiness.append(reading)

    def _work(self, rank: int, ready: int, bound: socket.socket) -> None:
        bound.close()
        run_worker(rank, self.options, ready, stuck=bool(self.stuck))

    def _fork(self, work: Any) -> int:
        pid = os.fork()
        if pid:
            return pid
        assert self._life is not None
        os.close(self._life)
        for reading in self._readiness:
            os.close(reading)
        signal.signal(signal.SIGTERM, signal.SIG_IGN if self.stuck else on_term)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        work()
        os._exit(0)

    def wait_until_loaded(self) -> None:
        """Return when every worker said so; Refused when one died first."""
        while self._readiness:
            for reading in select.select(self._readiness, [], [])[0]:
                if not os.read(reading, 1):
                    raise Refused(self._obituary() or "a scheduler hung up")
                os.close(reading)
                self._readiness.remove(reading)

    def _obituary(self) -> str | None:
        """What to print when a worker is dead: reap one and say which; None when all live."""
        for _ in range(50):
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return None
            if pid in self.workers:
                rank = self.workers.pop(pid)
                code = os.waitstatus_to_exitcode(status)
                log(f"Rank {rank} scheduler is dead. Please check if there are relevant logs.")
                return f"RuntimeError: Rank {rank} scheduler died during initialization (exit code: {code})."
            if self._readiness:  # a pipe closed a moment before its process could be reaped
                time.sleep(0.02)
            else:
                return None
        return None

    def on_signal(self, number: int, _frame: object) -> None:
        """End the tree, after the requests under way when there is a door; not at all under `ignores-term`."""
        if "ignores-term" in faults():
            return
        log(f"SIGTERM received. signum={number}. Draining requests and shutting down...")
        if self.door:
            self.door.state = "draining"
        signal.setitimer(signal.ITIMER_REAL, 0.3)

    def watch(self) -> None:
        """Stay until a worker dies, then take the rest down; a stuck server does not even notice."""
        while self.stuck:
            signal.pause()
        while True:
            time.sleep(0.3)
            if self._obituary():
                self.end(1)

    def end(self, code: int) -> None:
        """Kill the tree, then oneself: with KILL after a TERM (exit status 137, as the real one), else with `code`."""
        spared = self.tokenizer if "port-kept" in faults() else 0
        for pid in [*self.workers, self.tokenizer]:
            if pid and pid != spared:
                os.kill(pid, signal.SIGKILL)
        if code == 137:
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(code)


def warm_up(door: Any, port: int) -> None:
    """One own generation before the server says that it is ready."""
    log(f"INFO:     Started server process [{os.getpid()}]")
    log("INFO:     Waiting for application startup.")
    log("INFO:     Application startup complete.")
    log(f"INFO:     Uvicorn running on http://{door.options.host}:{port} (Press CTRL+C to quit)")
    time.sleep(0.4 * PACE)
    log(
        "Prefill batch. #new-seq: 1, #new-token: 6, #cached-token: 0, #running-req: 0, #queue-req: 0",
        0,
    )
    if door.state == "starting":
        door.state = "ready"
        log("The server is fired up and ready to roll!")


def serve(launcher: Launcher, bound: socket.socket) -> None:
    """Open the door. Imported late: the workers were forked before, and no thread ran then."""
    from sglang.http import Door

    launcher.door = door = Door(bound, launcher.options)
    door.state = "stuck" if launcher.stuck else "starting"
    door.open()
    if launcher.stuck:
        log("The server is fired up and ready to roll!")
        log("Watchdog timeout (watchdog_last_forward_ct=10482, cur_batch.batch_size()=3)", 0)
    else:
        warm_up(door, launcher.options.port)
    launcher.watch()


def main() -> None:
    """Run the server; ends with code 1 and the reason in the log when it cannot start."""
    options = parse_options(sys.argv[1:])
    stuck = int(os.environ.get("CLEANSLATE_LAB_STUCK", "0"))
    launcher = Launcher(options, stuck=stuck)
    signal.signal(signal.SIGALRM, lambda *_: launcher.end(137))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN if stuck else launcher.on_signal)
    try:
        if options.tp_size > GPUS:
            raise Refused(f"ValueError: tp_size {options.tp_size} is larger than the number of GPUs ({GPUS})")
        log(f"server_args=ServerArgs({', '.join(f'{key}={value!r}' for key, value in vars(options).items())})")
        check_models(options)
        bound = bind(options)
        if not stuck:
            check_memory(options)
        launcher.start_processes(bound)
        launcher.wait_until_loaded()
        log(
            f"max_total_num_tokens=1478932, chunked_prefill_size={options.chunked_prefill_size}, "
            f"max_prefill_tokens=16384, max_running_requests={options.max_running_requests}, "
            f"context_len={options.context_length}"
        )
        serve(launcher, bound)
    except Refused as reason:
        log(f"Traceback (most recent call last):\n{reason}")
        log("Initialization failed. Please see the error messages above.")
        launcher.end(1)


if __name__ == "__main__":
    main()
