"""Proves that a GPU's memory can be had: allocates some through libcuda, as a server would, and frees it.

Runs in a probe's child. Measured on an H200: 0.21 s for 1 GiB, its own context included.
"""

import ctypes
import os
import time

from cleanslate.remote import gpu_faults, probe

_ERRORS = {
    2: "out of memory",
    3: "not initialised",
    100: "no device",
    101: "invalid device",
    802: "system not ready: the fabric manager does not run, which NVSwitch machines need",
    803: "the kernel's driver and the library here are of different versions",
    999: "unknown error",
}


def allocate_on(call, size, uuids, seconds):
    """Try it on each of these GPUs and MIG instances by itself, in a child that sees nothing else."""
    found = []
    for index, uuid in enumerate(uuids):
        told = allocate(call, size, 1, seconds, uuid)
        found += [dict(each, index=index, uuid=uuid) for each in told["gpus"]]
        if told["failed"]:
            return {"gpus": found, "failed": dict(told["failed"], text="%s: %s" % (uuid, told["failed"]["text"]))}
    return {"gpus": found, "failed": None}


def allocate(call, size, count, seconds, only=None):
    """Try it on every GPU that CUDA shows, each within `seconds`; or only on the one with this UUID."""
    found = []
    with probe.Probe(call, lambda say: _try_all(say, size, only)) as child:
        try:
            head = child.next(seconds)
            if head["failed"]:
                return {"gpus": [], "failed": gpu_faults.fault("query", head["failed"])}
            for _ in range(head["count"]):
                found.append(child.next(seconds))  # noqa: PERF401 - a hang keeps what came before it
        except probe.Hung as error:
            return {"gpus": found, "failed": gpu_faults.fault("hung", "CUDA does not answer: %s" % error)}
        except probe.Ended:
            return {"gpus": found, "failed": gpu_faults.fault("query", "the process that allocated died")}
    failed = None
    if count is not None and len(found) != count:
        failed = gpu_faults.fault("query", "CUDA shows %d GPUs, not %d" % (len(found), count))
    return {"gpus": found, "failed": failed}


def _try_all(say, size, only):
    # Every GPU, in the order of the bus, whatever the caller's environment hides from a server.
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    if only is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = only
    os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        say({"failed": "libcuda.so.1 is not here", "count": 0})
        return
    code = cuda.cuInit(0)
    number = ctypes.c_int()
    code = code or cuda.cuDeviceGetCount(ctypes.byref(number))
    say({"failed": _words("CUDA does not start", code) if code else None, "count": number.value})
    for index in range(number.value if not code else 0):
        say(_try_one(cuda, index, size))


def _try_one(cuda, index, size):
    began = time.monotonic()
    device = ctypes.c_int()
    told = {"index": index, "bus_id": None, "ok": False, "text": None}
    code = cuda.cuDeviceGet(ctypes.byref(device), index)
    if not code:
        name = ctypes.create_string_buffer(32)
        cuda.cuDeviceGetPCIBusId(name, 32, device)
        told["bus_id"] = name.value.decode("ascii", "replace").lower()
        code = _take_and_give_back(cuda, device, size)
    told["ok"] = not code
    told["text"] = _words("no %d MiB to be had" % (size >> 20), code) if code else None
    told["seconds"] = round(time.monotonic() - began, 3)
    return told


def _take_and_give_back(cuda, device, size):
    context, pointer = ctypes.c_void_p(), ctypes.c_uint64()
    code = cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device)
    if code:
        return code
    code = cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size))
    if not code:
        code = cuda.cuMemsetD8_v2(pointer, ctypes.c_ubyte(0xA5), ctypes.c_size_t(size)) or cuda.cuCtxSynchronize()
        code = cuda.cuMemFree_v2(pointer) or code
    return cuda.cuCtxDestroy_v2(context) or code


def _words(what, code):
    return "%s: CUDA error %d%s" % (what, code, " (%s)" % _ERRORS[code] if code in _ERRORS else "")
