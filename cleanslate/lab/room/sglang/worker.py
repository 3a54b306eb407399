"""One scheduler process of the server: it renames itself, loads, holds its GPU, and then waits for ever."""

import contextlib
import os
import signal
import sys
import time
from argparse import Namespace

from sglang.machine import FACTS, PACE, bar, faults, log, take_back
from sglang.memory import GIB, hold, hold_with_torch, open_devices
from sglang.title import set_title

WEIGHTS_GIB = float(FACTS["weights"])
POOL_GIB = float(FACTS["pool"])
REAL = bool(FACTS["smi"])
TOTAL_GIB = float(FACTS["total"])
_SHARDS = 24
_SHARD_SECONDS = 0.04 * PACE
_BATCH_SIZES = (1, 2, 4, 8)
_BUSY_SECONDS = 3.0


def on_term(number: int, _frame: object) -> None:
    """Die of a signal as anyone does, unless `lab break ignores-term` was asked for."""
    if "ignores-term" not in faults():
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


def sleep_for_ever() -> None:
    """Wait for signals and nothing else, without using the CPU."""
    while True:
        signal.pause()


def run_worker(rank: int, options: Namespace, ready: int, *, stuck: bool) -> None:
    """Be the scheduler of one rank. Never returns; writes one byte to `ready` when it can serve."""
    set_title(f"sglang::scheduler_TP{rank}")
    open_devices(FACTS["devices"], rank)
    signal.signal(signal.SIGTERM, signal.SIG_IGN if stuck else on_term)
    try:
        if stuck:
            pinned = float(FACTS["pinned"]) if rank == 0 else 0.0
            held = int(float(FACTS["held"]) * GIB)
            if FACTS["torch"]:
                hold_with_torch(FACTS["torch"], rank, held, int(pinned * GIB))
            else:
                hold(FACTS["devices"], rank, held, int(pinned * GIB), real=REAL)
        else:
            _start(rank, options)
    except Exception as error:  # noqa: BLE001 - whatever it is, it ends this process and must be told as the real one tells it
        log(f"Scheduler hit an exception: Traceback (most recent call last):\n{type(error).__name__}: {error}\n", rank)
        os._exit(1)
    os.write(ready, b".")
    os.close(ready)
    sleep_for_ever()


def _start(rank: int, options: Namespace) -> None:
    log("Init torch distributed begin.", rank)
    time.sleep(0.15 * PACE)
    log("Init torch distributed ends. mem usage=1.52 GB", rank)
    _load_weights(rank, options)
    if faults() & {"silent-after-load", "ready-line-of-old-run"}:
        sleep_for_ever()
    if "busy-silent" in faults():
        _burn(rank)
    if options.speculative_draft_model_path:
        log("Load weight begin. avail mem=80.88 GB", rank)
        time.sleep(0.1 * PACE)
        log(
            "Load weight end. type=LlamaForCausalLMEagle3, dtype=torch.bfloat16, avail mem=79.40 GB, "
            "mem usage=1.48 GB.",
            rank,
        )
    hold(FACTS["devices"], rank, int(POOL_GIB * GIB), real=REAL)
    log(f"KV Cache is allocated. #tokens: 1478932, K size: {POOL_GIB / 2:.2f} GB, V size: {POOL_GIB / 2:.2f} GB", rank)
    log(f"Memory pool end. avail mem={TOTAL_GIB - WEIGHTS_GIB - POOL_GIB:.2f} GB", rank)
    if not options.disable_cuda_graph:
        _capture(rank)


def _load_weights(rank: int, options: Namespace) -> None:
    log(f"Load weight begin. avail mem={TOTAL_GIB - 1.52:.2f} GB", rank)
    hold(FACTS["devices"], rank, int(WEIGHTS_GIB * GIB), real=REAL)
    began = time.monotonic()
    for shard in range(_SHARDS + 1):
        if rank == 0:
            percent, filled = 100 * shard // _SHARDS, 10 * shard // _SHARDS
            speed = shard / max(time.monotonic() - began, 0.001)
            bar(
                f"Loading safetensors checkpoint shards: {percent:3}% Completed | {shard}/{_SHARDS} "
                f"[00:{shard * _SHARD_SECONDS:02.0f}<00:{(_SHARDS - shard) * _SHARD_SECONDS:02.0f}, {speed:5.2f}it/s]"
                f" |{'#' * filled:10}|"
            )
        if rank == min(3, options.tp_size - 1) and shard == _SHARDS - 2 and _dies():
            raise RuntimeError("CUDA error: uncorrectable ECC error encountered")
        time.sleep(_SHARD_SECONDS if shard < _SHARDS else 0)
    if rank == 0:
        sys.stderr.write("\n")
    log(
        f"Load weight end. type={options.architecture}, dtype=torch.bfloat16, avail mem=80.88 GB, "
        f"mem usage={WEIGHTS_GIB:.2f} GB.",
        rank,
    )


def _dies() -> bool:
    """Whether it was asked for that this worker dies; what was asked for once is taken back."""
    wanted = faults()
    if "dies-once" in wanted:
        take_back("dies-once")
    return bool(wanted & {"dies-in-start", "dies-once"})


def _burn(rank: int) -> None:
    """Compile kernels, so to say: one worker uses the CPU and says nothing."""
    if rank == 0:
        until = time.monotonic() + _BUSY_SECONDS
        while time.monotonic() < until:
            sum(range(1000))


def _capture(rank: int) -> None:
    log("Capture cuda graph begin. This can take up to several minutes. avail mem=64.40 GB", rank)
    began = time.monotonic()
    for done, size in enumerate(reversed(_BATCH_SIZES)):
        if rank == 0:
            filled = "█" * (10 * done // len(_BATCH_SIZES))
            text = (
                f"Capturing batches (bs={size} avail_mem=64.40 GB): {100 * done // len(_BATCH_SIZES):3}%|{filled:10}|"
            )
            bar(f"{text} {done}/{len(_BATCH_SIZES)}")
        time.sleep(0.12 * PACE)
    if rank == 0:
        size = len(_BATCH_SIZES)
        bar(f"Capturing batches (bs=1 avail_mem=64.12 GB): 100%|{'█' * 10}| {size}/{size}\n")
    took = time.monotonic() - began
    log(f"Capture cuda graph end. Time elapsed: {took:.2f} s. mem usage=0.28 GB. avail mem=64.12 GB.", rank)


def keep_port(parents_life: int) -> None:
    """Be a tokenizer worker: it inherits the HTTP port and ends with the launcher, unless told to keep it.

    `parents_life` is the reading end of a pipe whose only writer is the launcher.
    """
    set_title("sglang::tokenizer_worker_0")
    with contextlib.suppress(InterruptedError):
        os.read(parents_life, 1)
    if "port-kept" in faults():
        sleep_for_ever()
    os._exit(0)
