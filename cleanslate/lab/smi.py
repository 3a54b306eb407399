"""What `nvidia-smi` prints, from readings: the CSV queries in NVIDIA's forms, `-L`, and the table for people."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

NAME = "NVIDIA H200"
TOTAL_MIB = 143771
RESERVED_MIB = 615
DRIVER = "580.159.04"
CUDA = "13.0"
_BUSES = ("1B", "43", "52", "61", "9D", "C3", "D1", "DF")


@dataclass(frozen=True)
class Reading:
    """One GPU at one moment; `holders` are (pid, name, MiB)."""

    index: int
    uuid: str
    used: int
    holders: tuple[tuple[int, str, int], ...] = ()

    @property
    def bus(self) -> str:
        """Its PCI address."""
        return f"00000000:{_BUSES[self.index]}:00.0"

    @property
    def serial(self) -> str:
        """Its serial number, digits."""
        return str(1_650_000_000_000 + int(self.uuid[4:12], 16))


def uuid_of(identity: str, index: int) -> str:
    """The UUID of a lab's GPU: the same for the lab's whole life."""
    text = hashlib.sha256(f"{identity}/{index}".encode()).hexdigest()
    return f"GPU-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:32]}"


class Field(NamedTuple):
    """A field of a query: the unit that its column's name carries (empty: none), and how to read it."""

    unit: str
    read: Callable[[Reading], object]


def _constant(value: object, unit: str = "") -> Field:
    return Field(unit, lambda _: value)


def _now(_: Reading) -> str:
    return time.strftime("%Y/%m/%d %H:%M:%S.000")


_GPU_FIELDS: dict[str, Field] = {
    "timestamp": Field("", _now),
    "driver_version": _constant(DRIVER),
    "count": _constant(len(_BUSES)),
    "index": Field("", lambda gpu: gpu.index),
    "name": _constant(NAME),
    "uuid": Field("", lambda gpu: gpu.uuid),
    "serial": Field("", lambda gpu: gpu.serial),
    "pci.bus_id": Field("", lambda gpu: gpu.bus),
    "pci.domain": _constant("0x0000"),
    "pci.bus": Field("", lambda gpu: f"0x{_BUSES[gpu.index]}"),
    "pci.device": _constant("0x00"),
    "pci.device_id": _constant("0x233510DE"),
    "vbios_version": _constant("96.00.A0.00.01"),
    "persistence_mode": _constant("Enabled"),
    "accounting.mode": _constant("Disabled"),
    "display_active": _constant("Disabled"),
    "display_mode": _constant("Disabled"),
    "compute_mode": _constant("Default"),
    "compute_cap": _constant("9.0"),
    "mig.mode.current": _constant("Disabled"),
    "mig.mode.pending": _constant("Disabled"),
    "pstate": _constant("P0"),
    "fan.speed": _constant("[N/A]", "%"),
    "memory.total": _constant(TOTAL_MIB, "MiB"),
    "memory.reserved": _constant(RESERVED_MIB, "MiB"),
    "memory.used": Field("MiB", lambda gpu: gpu.used),
    "memory.free": Field("MiB", lambda gpu: max(0, TOTAL_MIB - RESERVED_MIB - gpu.used)),
    "utilization.gpu": _constant(0, "%"),
    "utilization.memory": _constant(0, "%"),
    "temperature.gpu": Field("", lambda gpu: 29 + gpu.index % 4),
    "temperature.memory": Field("", lambda gpu: 33 + gpu.index % 4),
    "power.draw": Field("W", lambda gpu: f"{118.4 if gpu.used else 76.2:.2f}"),
    "power.draw.instant": Field("W", lambda gpu: f"{118.4 if gpu.used else 76.2:.2f}"),
    "power.limit": _constant("700.00", "W"),
    "clocks.sm": Field("MHz", lambda gpu: 1980 if gpu.used else 345),
    "clocks.mem": _constant(3201, "MHz"),
    "clocks.max.sm": _constant(1980, "MHz"),
    "ecc.mode.current": _constant("Enabled"),
    "ecc.errors.uncorrected.volatile.total": _constant(0),
    "ecc.errors.corrected.volatile.total": _constant(0),
    "fabric.state": _constant("Completed"),
    "fabric.status": _constant("Success"),
    "gpu_recovery_action": _constant("None"),
}
_ALIASES = {
    "gpu_name": "name",
    "gpu_uuid": "uuid",
    "gpu_serial": "serial",
    "gpu_bus_id": "pci.bus_id",
    "clocks.current.sm": "clocks.sm",
    "clocks.current.memory": "clocks.mem",
    "used_memory": "used_gpu_memory",
    "process_name": "name",
}
_APP_FIELDS = (
    "timestamp",
    "gpu_name",
    "gpu_bus_id",
    "gpu_serial",
    "gpu_uuid",
    "pid",
    "process_name",
    "used_gpu_memory",
)


class _Wrong(Exception):
    """What nvidia-smi would complain about, with its exit code."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


def _csv(header: list[tuple[str, str]], rows: list[list[object]], formats: set[str]) -> str:
    lines = []
    if "noheader" not in formats:
        lines.append(", ".join(f"{name} [{unit}]" if unit else name for name, unit in header))
    units = [("" if "nounits" in formats else unit) for _, unit in header]
    for row in rows:
        pairs = zip(row, units, strict=True)
        lines.append(", ".join(f"{value} {unit}" if unit and value != "[N/A]" else str(value) for value, unit in pairs))
    return "".join(f"{line}\n" for line in lines)


def _formats(options: dict[str, str]) -> set[str]:
    formats = set(options.get("format", "").split(","))
    if "csv" not in formats or formats - {"csv", "noheader", "nounits"}:
        raise _Wrong('"--format=" has to be csv, with noheader and nounits as you like.\n', 2)
    return formats


def _query_gpus(names: list[str], gpus: Sequence[Reading], formats: set[str]) -> str:
    fields = []
    for name in names:
        field = _GPU_FIELDS.get(_ALIASES.get(name, name))
        if field is None:
            raise _Wrong(f'Field "{name}" is not a valid field to query.\n\n', 2)
        fields.append((name, field))
    header = [(name, field.unit) for name, field in fields]
    return _csv(header, [[field.read(gpu) for _, field in fields] for gpu in gpus], formats)


def _query_apps(names: list[str], gpus: Sequence[Reading], formats: set[str]) -> str:
    header = []
    for name in names:
        if name not in _APP_FIELDS and name not in ("name", "used_memory"):
            raise _Wrong(f'Field "{name}" is not a valid field to query.\n\n', 2)
        header.append((name, "MiB" if name in ("used_gpu_memory", "used_memory") else ""))
    rows: list[list[object]] = []
    for gpu in gpus:
        for pid, title, used in gpu.holders:
            own = {"pid": pid, "process_name": title, "name": title, "used_gpu_memory": used, "used_memory": used}
            rows.append(
                [own[name] if name in own else _GPU_FIELDS[_ALIASES.get(name, name)].read(gpu) for name in names]
            )
    return _csv(header, rows, formats)


def _list(gpus: Sequence[Reading]) -> str:
    return "".join(f"GPU {gpu.index}: {NAME} (UUID: {gpu.uuid})\n" for gpu in gpus)


def _row(left: str, middle: str, right: str) -> str:
    return f"| {left:<39} | {middle:>22} | {right:>20} |"


def _table(gpus: Sequence[Reading]) -> str:
    wide, rule = "+" + "-" * 89 + "+", "|" + "-" * 41 + "+" + "-" * 24 + "+" + "-" * 22 + "|"
    versions = f"NVIDIA-SMI {DRIVER:<22} Driver Version: {DRIVER:<14} CUDA Version: {CUDA:<8}"
    lines = [time.strftime("%a %b %d %H:%M:%S %Y"), wide, f"| {versions:<87} |", rule]
    lines.append(_row("GPU  Name                 Persistence-M", "Bus-Id          Disp.A", "Volatile Uncorr. ECC"))
    lines.append(_row("Fan  Temp   Perf          Pwr:Usage/Cap", "          Memory-Usage", "GPU-Util  Compute M."))
    lines.append(rule.replace("-", "="))
    for gpu in gpus:
        power = 118 if gpu.used else 76
        lines.append(_row(f"{gpu.index:>3}  {NAME:<30}{'On':>4}", f"{gpu.bus} {'Off':>5}", "0"))
        left = f"N/A  {29 + gpu.index % 4:>3}C    P0         {power:>6}W /  700W"
        lines += [_row(left, f"{gpu.used}MiB / {TOTAL_MIB}MiB", "0%      Default"), rule]
    lines[-1] = wide
    lines += ["", wide, f"| {'Processes:':<87} |"]
    lines += [
        f"| {' GPU   GI   CI              PID   Type   Process name':<72}{'GPU Memory ':>15} |",
        "|" + "=" * 89 + "|",
    ]
    for gpu in gpus:
        for pid, title, used in gpu.holders:
            head = f"{gpu.index:>4}   N/A  N/A {pid:>16}      C   {title[:30]:<30}"
            lines.append(f"| {head}{f'{used}MiB ':>{87 - len(head)}} |")
    if not any(gpu.holders for gpu in gpus):
        lines.append(f"|  {'No running processes found':<87}|")
    return "\n".join([*lines, wide, ""])


def _chosen(wanted: str | None, gpus: Sequence[Reading]) -> Sequence[Reading]:
    if wanted is None:
        return gpus
    chosen = []
    for word in wanted.split(","):
        found = [gpu for gpu in gpus if word in (str(gpu.index), gpu.uuid, gpu.bus)]
        if not found:
            raise _Wrong("No devices were found\n", 6)
        chosen += found
    return chosen


def _read_options(words: Sequence[str]) -> dict[str, str]:
    options: dict[str, str] = {}
    words = list(words)
    while words:
        word = words.pop(0)
        name, mark, value = word.lstrip("-").partition("=")
        if word in ("-i", "-L", "--list-gpus", "-h"):
            name = {"i": "id", "L": "list"}.get(name, name)
        if name in ("id", "format", "query-gpu", "query-compute-apps"):
            options[name] = value if mark else (words.pop(0) if words else "")
        elif word in ("-L", "--list-gpus"):
            options["list"] = ""
        else:
            raise _Wrong(f"Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n\n{word}\n", 1)
    return options


def answer(words: Sequence[str], gpus: Sequence[Reading]) -> tuple[int, str]:
    """The exit code and the text for nvidia-smi's arguments; what the asker may not see is not in `gpus`."""
    try:
        options = _read_options(words)
        chosen = _chosen(options.get("id"), gpus)
        for name, query in (("query-gpu", _query_gpus), ("query-compute-apps", _query_apps)):
            if name in options:
                return 0, query([field.strip() for field in options[name].split(",")], chosen, _formats(options))
        return 0, _list(chosen) if "list" in options else _table(chosen)
    except _Wrong as wrong:
        return wrong.code, str(wrong)
