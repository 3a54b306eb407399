"""Where readings of the GPUs come from: NVML in a child, else nvidia-smi; both give the same shape, both in time.

    {source, how, driver, library, failed, warnings, gpus: [{index, uuid, name, bus_id, minor, used_mib, used_bytes,
     total_mib, reserved_mib, unknown, failed, utilization, power_w, mig, instances, persistence, coherent, recovery,
     processes}]}

`used_mib` is a number, or None with `unknown` or `failed` saying why. MiB are whole, as nvidia-smi prints them.
"""

import os

from cleanslate.remote import gpu_faults, nvml, probe, smi

FIRST = 60.0  # the first question after an idle time may initialise every GPU anew (Azure/AgentBaker PR#2829: 25 s)
NEXT = 10.0
PERIOD = 0.02


class Source:
    """Gives one reading after the other; opened once for a whole wait. Also a context manager."""

    def __init__(self, call, which="auto", processes_too=False, first=FIRST, following=NEXT, once=False, period=PERIOD):
        self.call = call
        self.which = which
        self.processes_too = processes_too
        self.patience = first
        self.following = following
        self.once = once
        self.period = period  # seconds between readings of NVML
        self.probe = None
        self.smi = None
        self.static = {}

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        """End what reads."""
        if self.probe is not None:
            self.probe.end()
            self.probe = None

    def read(self):
        """The next reading; a failure is one too."""
        if self.probe is None and self.smi is None:
            hanging = probe.stuck()
            if hanging:
                return failed(_still_hanging(hanging))
        try:
            return self._read()
        except probe.Hung as error:
            self.close()
            return failed(gpu_faults.fault("hung", "the driver does not answer: %s" % error))
        except probe.Ended:
            self.close()
            return failed(gpu_faults.fault("query", "the process that asked NVML died"))
        except smi.Failure as error:
            return failed(error.fault)
        finally:
            self.patience = self.following

    def _read(self):
        if self.smi is None and self.which in ("auto", "nvml"):
            found = self._from_nvml()
            if not found["failed"] or found["failed"]["kind"] != "missing" or self.which == "nvml":
                return found
            self.close()
        if self.smi is None:
            self.smi = smi.Smi(self.call)
            if self.smi.path is None and self.which == "auto" and nothing_here():
                return reading("none", "no sign of an NVIDIA driver on this machine", [])
        return self.smi.read(self.patience, self.processes_too)

    def _from_nvml(self):
        if self.probe is None:
            try:
                # here and not in the child: an import takes locks that another thread may hold at the fork
                import pynvml
            except ImportError as error:
                return failed(gpu_faults.fault("missing", "NVML cannot be used: %s" % error))
            self.probe = probe.Probe(
                self.call, lambda say: nvml.watch(say, pynvml, self.period, self.processes_too, self.once)
            )
        found = self.probe.latest(self.patience)
        if found["failed"]:
            self.close()
            return failed(found["failed"], found.get("library"))
        found.setdefault("warnings", [])
        self._keep_static(found)
        return found

    def _keep_static(self, found):
        """What only the first words of a wait tell (driver's library, load) stays with the later ones."""
        if "library" in found:
            self.static = {gpu["index"]: gpu for gpu in found["gpus"]}
            self.static["library"] = found["library"]
        found["library"] = self.static.get("library")
        for gpu in found["gpus"]:
            for name in ("utilization", "power_w", "instances"):
                gpu.setdefault(name, self.static.get(gpu["index"], {}).get(name))


def reading(source, how, gpus):
    """A reading that nobody had to ask for."""
    return {
        "source": source,
        "how": how,
        "driver": None,
        "library": None,
        "gpus": gpus,
        "failed": None,
        "warnings": [],
    }


def failed(fault, library=None):
    """The reading that a failure is."""
    found = reading(None, None, [])
    found["failed"] = fault
    found["library"] = library
    return found


def nothing_here():
    """Whether this machine has no NVIDIA GPU at all, as far as its files tell: no driver, no device, no library."""
    try:
        devices = [name for name in os.listdir("/dev") if name.startswith("nvidia")]
    except OSError:
        devices = []
    return not devices and not os.path.exists("/proc/driver/nvidia") and not os.path.exists("/sys/module/nvidia")


def _still_hanging(process):
    return gpu_faults.fault(
        "hung",
        "an earlier question to the driver still hangs: pid %d (%s) was killed and cannot die, so no other is asked"
        % (process["pid"], process["comm"]),
        pid=process["pid"],
    )
