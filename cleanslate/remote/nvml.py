"""Reads the GPUs through NVML; runs in a probe's child only, for any of its calls may never return.

Memory is NVML's version 2: version 1 counts what the driver reserves as used, and gave 615 MiB on an idle H200.
"""

import ctypes
import re
import time

from cleanslate.remote import gpu_faults, processes

MIB = 1 << 20
_COHERENT = re.compile(r"\bG[BH]\d+", re.IGNORECASE)
_NO_INSTANCE = 0xFFFFFFFF
_NOTHING = {"used_mib": None, "used_bytes": None, "total_mib": None, "reserved_mib": None}
_FABRIC = {1: "not started", 2: "in progress", 3: "completed"}
_RECOVERY = {
    1: "reset",
    2: "reboot",
    3: "drain",
    4: "drain and reset",
    5: "recover the IMEX domain",
    6: "reset",
    7: "reboot",
}


def watch(say, nvml, period, processes_too=False, once=False):
    """Tell a full reading, and then memory every `period` seconds; or the failure that prevents it.

    `nvml` is the pynvml module: it is imported by the parent, for importing takes locks that another thread may hold.
    """
    try:
        nvml.nvmlInit()
        reader = Reader(nvml)
    except nvml.NVMLError as error:
        say({"failed": gpu_faults.of_nvml(error.value, str(error)), "library": library()})
        return
    except (OSError, AttributeError) as error:
        say({"failed": gpu_faults.fault("missing", "NVML cannot be used: %s" % error)})
        return
    say(reader.full(processes_too))
    while not once:
        time.sleep(period)
        say(reader.full(processes_too, memory_only=True))


class Reader:
    """The devices, with what never changes read once."""

    def __init__(self, nvml):
        self.nvml = nvml
        self.driver = self._ask(nvml.nvmlSystemGetDriverVersion)
        self.devices = [self._device(index) for index in range(nvml.nvmlDeviceGetCount())]

    def full(self, processes_too, memory_only=False):
        """One reading of everything, as `gpus.read` gives it."""
        gpus = [self._read(device, processes_too, memory_only) for device in self.devices]
        found = {"source": "nvml", "how": "NVML memory version 2", "driver": self.driver, "gpus": gpus, "failed": None}
        if not memory_only:
            found["library"] = library()
        return found

    def _ask(self, function, *arguments):
        """What a call gives, or None where this GPU or driver has no answer; faults of the GPU itself pass."""
        try:
            return function(*arguments)
        except self.nvml.NVMLError as error:
            if gpu_faults.of_nvml(error.value, "")["kind"] in gpu_faults.DEVICE_FAULTS:
                raise
            return None

    def _device(self, index):
        nvml = self.nvml
        told = {"index": index, "uuid": None, "name": None, "bus_id": None, "minor": None, "failed": None}
        device = {"told": told, "handle": None}
        try:
            handle = device["handle"] = nvml.nvmlDeviceGetHandleByIndex(index)
            told["uuid"] = self._ask(nvml.nvmlDeviceGetUUID, handle)
            told["name"] = self._ask(nvml.nvmlDeviceGetName, handle)
            pci = self._ask(nvml.nvmlDeviceGetPciInfo, handle)
            told["bus_id"] = _text(pci.busId) if pci else None
            told["minor"] = self._ask(nvml.nvmlDeviceGetMinorNumber, handle)
            mig = self._ask(nvml.nvmlDeviceGetMigMode, handle)
            told["mig"] = bool(mig[0]) if mig else None
            persistence = self._ask(nvml.nvmlDeviceGetPersistenceMode, handle)
            told["persistence"] = None if persistence is None else bool(persistence)
            told["coherent"] = bool(_COHERENT.search(told["name"] or ""))
            told["recovery"] = self._recovery(handle)
            told["fabric"] = self._fabric(handle)
        except nvml.NVMLError as error:
            told["failed"] = gpu_faults.of_nvml(error.value, str(error))
        return device

    def _recovery(self, handle):
        """What the driver itself says must be done to this GPU, or None."""
        field = getattr(self.nvml, "NVML_FI_DEV_GET_GPU_RECOVERY_ACTION", None)
        values = self._ask(self.nvml.nvmlDeviceGetFieldValues, handle, [field]) if field else None
        if not values or values[0].nvmlReturn != 0:
            return None
        return _RECOVERY.get(values[0].value.uiVal)

    def _fabric(self, handle):
        """How far the GPU got in joining the NVLink fabric: its training's result, no sign of a living daemon."""
        found = self.nvml.c_nvmlGpuFabricInfo_t()
        asked = self._ask(self.nvml.nvmlDeviceGetGpuFabricInfo, handle, ctypes.byref(found))
        return None if asked is None else _FABRIC.get(found.state)

    def _read(self, device, processes_too, memory_only):
        told = dict(device["told"])
        told.update(_NOTHING, unknown=None)
        if told["failed"]:
            return told
        try:
            self._memory(device["handle"], told)
            if not memory_only:
                self._load(device["handle"], told)
            if processes_too:
                told["processes"] = self._processes(device["handle"], bool(told["instances"]))
        except self.nvml.NVMLError as error:
            told["failed"] = gpu_faults.of_nvml(error.value, str(error))
        return told

    def _memory(self, handle, told):
        """Put the GPU's memory into `told`; of a GPU that is divided and closed to us, that of the parts we may see."""
        told["instances"] = self._instances(handle, told["index"]) if told.get("mig") else []
        try:
            _put(self._version_2(handle), told)
        except self.nvml.NVMLError as error:
            fault = gpu_faults.of_nvml(error.value, str(error))
            if fault["kind"] not in ("permission", "unsupported", "missing"):
                raise
            parts = told["instances"]
            if fault["kind"] == "permission" and parts and all(each["used_bytes"] is not None for each in parts):
                sums = [sum(each[key] for each in parts) for key in ("total_bytes", "used_bytes", "reserved_bytes")]
                _put(tuple(sums), told)
                told["parts_only"] = True
            else:
                told["unknown"] = fault["text"]

    def _version_2(self, handle):
        """(total, used, reserved) in bytes; `used` without the reserved part, whichever way this driver counts."""
        found = self.nvml.nvmlDeviceGetMemoryInfo(handle, version=self.nvml.nvmlMemory_v2)
        used = found.used
        if found.reserved and found.free + used + found.reserved > found.total:
            used = max(0, used - found.reserved)
        return found.total, used, found.reserved

    def _instances(self, handle, index):
        """The MIG instances that can be seen from here, each with its memory as a GPU has it.

        Each is {name, uuid, mig, gpu_instance, compute_instance, profile, used_mib, ..., unknown}. `name` is the GPU's
        index and the instance's number on it (`0:2`), as NVIDIA's container toolkit writes it; `profile` is `1g.18gb`.
        """
        found = []
        for number in range(self._ask(self.nvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0):
            part = self._ask(self.nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, number)
            if part is not None:
                found.append(self._instance(part, "%d:%d" % (index, number), number))
        return found

    def _instance(self, part, name, number):
        nvml = self.nvml
        told = {
            "name": name,
            "uuid": self._ask(nvml.nvmlDeviceGetUUID, part),
            "mig": number,
            "gpu_instance": self._ask(nvml.nvmlDeviceGetGpuInstanceId, part),
            "compute_instance": self._ask(nvml.nvmlDeviceGetComputeInstanceId, part),
            "profile": (self._ask(nvml.nvmlDeviceGetName, part) or "").rpartition("MIG ")[2] or None,
            "unknown": None,
        }
        told.update(_NOTHING)
        try:
            memory = self._version_2(part)
        except nvml.NVMLError as error:
            fault = gpu_faults.of_nvml(error.value, str(error))
            if fault["kind"] in gpu_faults.DEVICE_FAULTS:
                raise
            told["unknown"] = fault["text"]
            return told
        _put(memory, told)
        told.update({"total_bytes": memory[0], "reserved_bytes": memory[2]})
        return told

    def _load(self, handle, told):
        rates = self._ask(self.nvml.nvmlDeviceGetUtilizationRates, handle)
        power = self._ask(self.nvml.nvmlDeviceGetPowerUsage, handle)
        told["utilization"] = rates.gpu if rates else None
        told["power_w"] = round(power / 1000.0, 1) if power is not None else None

    def _processes(self, handle, divided=False):
        """What the driver says who holds memory: [{pid, used_mib}], pids as this PID namespace numbers them; or None.

        Of a divided GPU each has `gpu_instance` too, the number of the instance that it runs on.
        """
        found = {}
        for name in ("Compute", "Graphics", "MPSCompute"):
            for version in ("_v3", "_v2"):
                ask = getattr(self.nvml, "nvmlDeviceGet%sRunningProcesses%s" % (name, version), None)
                listed = self._ask(ask, handle) if ask else None
                if listed is not None:
                    break
            if listed is None and name == "Compute":
                return None  # not told, which is not "nobody": of a divided GPU only the privileged are
            for each in listed or ():
                used = each.usedGpuMemory
                found[each.pid] = {"pid": each.pid, "used_mib": None if used is None else used // MIB}
                if divided:
                    instance = getattr(each, "gpuInstanceId", _NO_INSTANCE)
                    found[each.pid]["gpu_instance"] = None if instance == _NO_INSTANCE else instance
        return list(found.values())


def _put(memory, told):
    total, used, reserved = memory
    told.update(
        {"used_bytes": used, "used_mib": used // MIB, "total_mib": total // MIB, "reserved_mib": reserved // MIB}
    )


def _text(value):
    return value.decode("ascii", "replace") if isinstance(value, bytes) else value


def library():
    """The file that NVML was loaded from and the version in its name, as {path, version}; None: it was not."""
    text = processes.read_text("/proc/self/maps") or ""
    met = re.search(r"(/\S*libnvidia-ml\.so\S*)", text)
    if not met:
        return None
    version = re.search(r"\.so\.(\d+\.[\d.]+)$", met.group(1))
    return {"path": met.group(1), "version": version.group(1) if version else None}
