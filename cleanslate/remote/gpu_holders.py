"""Who holds the GPUs: the driver's own list and the processes' maps, each checked against the other."""

from cleanslate.remote import containers, gpu_devices, processes
from cleanslate.remote.gpu_reading import plain_bus_id


class Holder:
    """A process with a GPU device open. `gpus`: indices it holds memory on; `used_mib`: by the driver, {index: MiB}."""

    def __init__(self, process, devices, gpus, used_mib):
        self.process = process
        self.devices = devices
        self.gpus = gpus
        self.used_mib = used_mib

    @property
    def holds(self):
        """Whether it holds memory; otherwise it only watches."""
        return bool(self.used_mib) or self.devices.holds

    def tell(self):
        """The holder as JSON types."""
        found = self.process.tell()
        found.update(
            {
                "gpus": self.gpus,
                "used_mib": {str(index): used for index, used in self.used_mib.items()},
                "holds": self.holds,
                "devices": self.devices.tell(),
                "container": containers.where(self.process),
                "unit": containers.unit(self.process.pid),
            }
        )
        return found


class Holders:
    """Everybody who has a GPU device open; `blind` are living processes of which this user may not see that."""

    def __init__(self, reading, table=None):
        self.table = processes.table() if table is None else table
        self.found = []
        self.blind = []
        self.by_minor = _by_minor(reading["gpus"])
        self.listed = _listed(reading["gpus"])
        self.unlisted = {gpu["index"] for gpu in reading["gpus"] if gpu.get("processes") is None}
        self.driver_lists = any(gpu.get("processes") is not None for gpu in reading["gpus"])
        majors = gpu_devices.device_majors()
        for process in self.table.values():
            if not process.kernel and not process.gone:
                self._look(process, majors)
        known = {holder.process.pid for holder in self.found}
        # In a container the driver's pids are the host's: numbers that mean nobody here, or somebody else.
        self.strangers = sorted(pid for pid in self.listed if pid not in known)

    def _look(self, process, majors):
        devices = gpu_devices.used_by(process, majors)
        if devices is None:
            self.blind.append(process)
        elif devices.any:
            used = self.listed.get(process.pid, {})
            mapped = {self.by_minor.get(minor, minor) for minor in devices.minors} if devices.holds else set()
            if used:
                # A CUDA process maps every GPU that it could use; the driver says which of them it has memory on.
                mapped &= self.unlisted
            self.found.append(Holder(process, devices, sorted(mapped | set(used)), used))

    def of(self, index):
        """Those who hold memory on one GPU."""
        return [holder for holder in self.found if holder.holds and index in holder.gpus]

    @property
    def all_seen(self):
        """Whether nobody can be missing: everything was visible, or the driver's own list names only known ones."""
        return not self.blind or (self.driver_lists and not self.strangers)


def _by_minor(gpus):
    """{the N of /dev/nvidiaN: GPU index}; where the source does not tell N, from /proc/driver, else N is the index."""
    found = {}
    for gpu in gpus:
        minor = gpu["minor"] if gpu["minor"] is not None else _minor_of(gpu["bus_id"])
        found[gpu["index"] if minor is None else minor] = gpu["index"]
    return found


def _minor_of(bus_id):
    if not bus_id:
        return None
    text = processes.read_text("/proc/driver/nvidia/gpus/%s/information" % plain_bus_id(bus_id)) or ""
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "Device Minor" and value.strip().isdigit():
            return int(value)
    return None


def _listed(gpus):
    """{pid: {GPU index: MiB or None}} of the driver's process lists."""
    found = {}
    for gpu in gpus:
        for each in gpu.get("processes") or ():
            found.setdefault(each["pid"], {})[gpu["index"]] = each["used_mib"]
    return found
