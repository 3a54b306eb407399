"""Holds GPU memory the way a stuck server does: through libcuda, or with PyTorch; says "ready" when it has it.

    python3 benchmarks/gpu_holder.py --gib 100 [--gpu 0] [--pinned 16] [--torch] [--name sglang::scheduler_TP0]
        [--ignore-term]

Needs nothing but libcuda (and PyTorch with --torch). It ends when its standard input closes, or when it is ended.
"""

from __future__ import annotations

import argparse
import ctypes
import signal
import sys
import time


def check(code: int, what: str) -> None:
    """End with a CUDA error's number."""
    if code:
        sys.exit(f"{what}: CUDA error {code}")


def take(gib: float, pinned: float, gpu: int = 0) -> list[object]:
    """Allocate through the driver's own interface, and really touch it."""
    cuda = ctypes.CDLL("libcuda.so.1")
    check(cuda.cuInit(0), "cuInit")
    device, context = ctypes.c_int(), ctypes.c_void_p()
    check(cuda.cuDeviceGet(ctypes.byref(device), gpu), "cuDeviceGet")
    check(cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device), "cuCtxCreate")
    kept: list[object] = [context]
    if gib:
        pointer = ctypes.c_uint64()
        size = ctypes.c_size_t(int(gib * (1 << 30)))
        check(cuda.cuMemAlloc_v2(ctypes.byref(pointer), size), "cuMemAlloc")
        check(cuda.cuMemsetD8_v2(pointer, ctypes.c_ubyte(1), size), "cuMemsetD8")
        check(cuda.cuCtxSynchronize(), "cuCtxSynchronize")
        kept.append(pointer)
    if pinned:
        host = ctypes.c_void_p()
        check(cuda.cuMemHostAlloc(ctypes.byref(host), ctypes.c_size_t(int(pinned * (1 << 30))), 0), "cuMemHostAlloc")
        kept.append(host)
    return kept


def take_with_torch(gib: float, gpu: int = 0) -> list[object]:
    """Allocate as a server on PyTorch does."""
    import torch

    return [torch.zeros(int(gib * (1 << 30)), dtype=torch.uint8, device=f"cuda:{gpu}")]


def main() -> None:
    """Take what was asked for, say so, and keep it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--gib", type=float, default=2)
    parser.add_argument("--gpu", type=int, default=0, help="which one, in CUDA's order")
    parser.add_argument("--pinned", type=float, default=0)
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--name")
    parser.add_argument("--ignore-term", action="store_true")
    parser.add_argument("--watch", action="store_true", help="only call nvmlInit, as monitoring does")
    parser.add_argument("--open", help="only open this device, as a daemon does")
    asked = parser.parse_args()
    if asked.ignore_term:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if asked.name:
        ctypes.CDLL(None).prctl(15, asked.name.encode())
    kept: list[object]
    if asked.watch:
        import pynvml

        pynvml.nvmlInit()
        kept = [pynvml.nvmlDeviceGetHandleByIndex(0)]
    elif asked.open:
        kept = [open(asked.open, "rb+", buffering=0)]  # noqa: SIM115, PTH123 - held open for life
    else:
        kept = take_with_torch(asked.gib, asked.gpu) if asked.torch else take(asked.gib, asked.pinned, asked.gpu)
    print("ready", flush=True)
    while kept:
        time.sleep(3600)


main()
