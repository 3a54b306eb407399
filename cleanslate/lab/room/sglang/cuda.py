"""Takes real GPU memory through libcuda, for this process's life, as a server on PyTorch does in the end."""

import ctypes
from typing import Any

_KEPT: dict[int, Any] = {}


def _check(code: int, what: str) -> None:
    if code == 2:
        raise RuntimeError(f"CUDA out of memory ({what})")
    if code:
        raise RuntimeError(f"{what}: CUDA error {code}")


def _context(cuda: Any, gpu: int) -> None:
    """Have one context on a GPU, and be in it."""
    if gpu not in _KEPT:
        _check(cuda.cuInit(0), "cuInit")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        _check(cuda.cuDeviceGet(ctypes.byref(device), gpu), "cuDeviceGet")
        _check(cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device), "cuCtxCreate")
        _KEPT[gpu] = context
    _check(cuda.cuCtxSetCurrent(_KEPT[gpu]), "cuCtxSetCurrent")


def allocate(gpu: int, size: int) -> None:
    """Take `size` bytes of a GPU, and touch them."""
    cuda = ctypes.CDLL("libcuda.so.1")
    _context(cuda, gpu)
    pointer, bytes_ = ctypes.c_uint64(), ctypes.c_size_t(size)
    _check(cuda.cuMemAlloc_v2(ctypes.byref(pointer), bytes_), "cuMemAlloc")
    _check(cuda.cuMemsetD8_v2(pointer, ctypes.c_ubyte(1), bytes_), "cuMemsetD8")
    _check(cuda.cuCtxSynchronize(), "cuCtxSynchronize")


def pin(gpu: int, size: int) -> None:
    """Take `size` bytes of this computer's memory, pinned for a GPU."""
    cuda = ctypes.CDLL("libcuda.so.1")
    _context(cuda, gpu)
    host = ctypes.c_void_p()
    _check(cuda.cuMemHostAlloc(ctypes.byref(host), ctypes.c_size_t(size), 0), "cuMemHostAlloc")
