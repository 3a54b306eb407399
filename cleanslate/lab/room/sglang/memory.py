"""Holds GPU memory: as the lab's driver counts it, by the size of what a living process has mapped; or really."""

import ctypes
import mmap
import os
import sys
from typing import Any

_KEPT: list[Any] = []
GIB = 1 << 30
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_MAP_NORESERVE = 0x4000


def open_devices(folder: str, gpu: int) -> None:
    """Open what a CUDA process has open (measured: its GPU, nvidiactl and nvidia-uvm), for this process's life."""
    for name in ("nvidiactl", "nvidia-uvm", f"nvidia{gpu}"):
        os.open(os.path.join(folder, name), os.O_RDWR)  # noqa: PTH118 - a server's worker imports little


def hold_with_torch(folder: str, gpu: int, size: int, pinned: int = 0) -> None:
    """Take `size` bytes of a real GPU with PyTorch, imported from `folder`, for this process's life."""
    sys.path.append(folder)
    import torch

    _KEPT.append(torch.zeros(size, dtype=torch.uint8, device=f"cuda:{gpu}"))
    if pinned:
        _KEPT.append(torch.zeros(pinned, dtype=torch.uint8, pin_memory=True))
    torch.cuda.synchronize(gpu)


def hold(folder: str, gpu: int, size: int, pinned: int = 0, *, real: bool = False) -> None:
    """Take `size` bytes of a GPU, for this process's life: of a real one through libcuda.

    Of a pretend one they are mapped; no page is touched, so it costs no memory.
    """
    if real:
        from .cuda import allocate, pin

        allocate(gpu, size)
        if pinned:
            pin(gpu, pinned)
        return
    handle = os.open(os.path.join(folder, f"nvidia{gpu}"), os.O_RDWR)  # noqa: PTH118 - as above
    flags = mmap.MAP_SHARED | _MAP_NORESERVE
    address = _LIBC.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, handle, 0)
    os.close(handle)
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), f"cannot map GPU {gpu}: {os.strerror(ctypes.get_errno())}")
