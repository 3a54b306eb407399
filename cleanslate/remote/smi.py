"""Reads the GPUs through nvidia-smi, where NVML cannot be loaded: named fields, CSV, and nothing taken for granted.

A field without a number is unknown and never zero, a row that does not fit makes the query a failure, and so does an
answer without rows.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time

from cleanslate.remote import gpu_faults

FIELDS = (
    "index,uuid,name,pci.bus_id,memory.total,memory.used,memory.reserved,utilization.gpu,power.draw,driver_version,"
    "mig.mode.current,persistence_mode"
)
APPS = "gpu_uuid,pid,used_memory,process_name"
_FORMAT = "--format=csv,noheader,nounits"
_PLACES = ("/usr/bin", "/usr/local/bin", "/usr/local/nvidia/bin", "/usr/lib/wsl/lib", "/opt/bin")
_SLICE = 0.01
_NO_FIELD = re.compile(r'Field "([\w.]+)" is not a valid field')
_GONE_AFTER_KILL = 1.0


class Failure(Exception):
    """nvidia-smi gave no usable answer; `fault` says what that means."""

    def __init__(self, fault):
        super().__init__(fault["text"])
        self.fault = fault


def tool():
    """The path of nvidia-smi, or None."""
    found = shutil.which("nvidia-smi")
    if found:
        return found
    return next((place + "/nvidia-smi" for place in _PLACES if os.access(place + "/nvidia-smi", os.X_OK)), None)


class Smi:
    """nvidia-smi on this machine; it learns which fields an old driver does not know."""

    def __init__(self, call):
        self.call = call
        self.path = tool()
        self.fields = FIELDS.split(",")

    def read(self, seconds, processes_too=False):
        """One reading, as `gpus.read` gives it. Raises Failure."""
        code, text = self._query(seconds)
        gpus = parse(text, self.fields)
        warnings = ["nvidia-smi ended with 14: the infoROM is corrupted; what it printed is used"] if code == 14 else []
        if processes_too:
            self._add_processes(gpus, seconds)
        driver = next((gpu.pop("driver") for gpu in gpus if gpu.get("driver")), None)
        for gpu in gpus:
            gpu.pop("driver", None)
        return {
            "source": "nvidia-smi",
            "how": "nvidia-smi memory.used",
            "driver": driver,
            "gpus": gpus,
            "failed": None,
            "warnings": warnings,
            "library": None,
        }

    def _query(self, seconds):
        while True:
            code, text = self.run(["--query-gpu=" + ",".join(self.fields), _FORMAT], seconds)
            unknown = _NO_FIELD.search(text)
            if unknown and unknown.group(1) in self.fields and unknown.group(1) not in ("index", "uuid", "memory.used"):
                self.fields.remove(unknown.group(1))
                continue
            if "No devices were found" in text:
                return 0, ""
            if code not in (0, 14):
                raise Failure(gpu_faults.of_smi(code, text))
            if not text.strip():
                raise Failure(gpu_faults.fault("silent"))
            return code, text

    def _add_processes(self, gpus, seconds):
        code, text = self.run(["--query-compute-apps=" + APPS, _FORMAT], seconds)
        if code not in (0, 14):
            raise Failure(gpu_faults.of_smi(code, text))
        listed = parse_apps(text)
        for gpu in gpus:
            gpu["processes"] = [
                {"pid": each["pid"], "used_mib": each["used_mib"]} for each in listed if each["uuid"] == gpu["uuid"]
            ]

    def run(self, arguments, seconds):
        """Run nvidia-smi: (exit code, what it printed). Raises Failure `hung` when it does not end in time."""
        if self.path is None:
            raise Failure(gpu_faults.fault("missing"))
        try:
            process = subprocess.Popen(
                [self.path, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=dict(os.environ, LC_ALL="C"),
                start_new_session=True,
            )
        except OSError as error:
            raise Failure(gpu_faults.fault("query", "nvidia-smi cannot be started: %s" % error.strerror)) from None
        self.call.own(process)
        return self._collect(process, seconds)

    def _collect(self, process, seconds):
        try:
            out, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self._give_up(process)
            words = "nvidia-smi did not end within %g s" % seconds
            raise Failure(gpu_faults.fault("hung", words, pid=process.pid)) from None
        return process.returncode, out.decode("utf-8", "replace")

    def _give_up(self, process):
        """KILL it; one that hangs in the driver stays, and nobody waits for it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        until = time.monotonic() + _GONE_AFTER_KILL
        while process.poll() is None and time.monotonic() < until:
            time.sleep(_SLICE)
        if process.stdout:
            process.stdout.close()


def parse(text, fields):
    """The GPUs of a `--query-gpu` answer; the name may hold commas, so rows are read from both ends. Raises Failure."""
    gpus = [_gpu(line, fields) for line in text.splitlines() if line.strip()]
    for key in ("index", "uuid"):
        seen = [gpu[key] for gpu in gpus]
        if len(set(seen)) != len(seen):
            raise Failure(gpu_faults.fault("query", "nvidia-smi told one GPU twice: %s" % ", ".join(map(str, seen))))
    return gpus


def _gpu(line, fields):
    words = [word.strip() for word in line.split(",")]
    extra = len(words) - len(fields)
    place = fields.index("name")
    if extra > 0:
        words[place : place + extra + 1] = [", ".join(words[place : place + extra + 1])]
    row = {name: words[place] for place, name in enumerate(fields)} if extra >= 0 else {}
    if not row or not row["index"].isdigit() or not row["uuid"]:
        raise Failure(gpu_faults.fault("query", "nvidia-smi printed a line that is no answer: %s" % line.strip()[:200]))
    used, reason = _number(row["memory.used"])
    return {
        "index": int(row["index"]),
        "uuid": row["uuid"],
        "name": row["name"],
        "bus_id": row.get("pci.bus_id"),
        "minor": None,
        "used_mib": used,
        "used_bytes": None if used is None else used << 20,
        "unknown": reason,
        "failed": _row_fault(row["memory.used"]),
        "total_mib": _number(row.get("memory.total", ""))[0],
        "reserved_mib": _number(row.get("memory.reserved", ""))[0],
        "utilization": _number(row.get("utilization.gpu", ""))[0],
        "power_w": _decimal(row.get("power.draw", "")),
        "driver": _word(row.get("driver_version")),
        "mig": _switch(row.get("mig.mode.current")),
        "persistence": _switch(row.get("persistence_mode")),
        "coherent": bool(re.search(r"\bG[BH]\d+", row["name"])),
        "instances": [],
        "recovery": None,
    }


def parse_apps(text):
    """The processes of a `--query-compute-apps` answer; their names are the workload's, commas included."""
    found = []
    for line in text.splitlines():
        words = [word.strip() for word in line.split(",", 3)]
        if not line.strip() or "No running processes" in line:
            continue
        if len(words) < 4 or not words[1].isdigit():
            raise Failure(gpu_faults.fault("query", "nvidia-smi printed a line that is no process: %s" % line[:200]))
        used = _number(words[2])[0]
        found.append({"uuid": words[0], "pid": int(words[1]), "used_mib": used, "name": words[3]})
    return found


def _number(word):
    """(number, None), or (None, why there is none)."""
    if re.match(r"\d+$", word):
        return int(word), None
    return None, word.strip("[]") or "no value"


def _decimal(word):
    return float(word) if re.match(r"\d+(\.\d+)?$", word) else None


def _row_fault(word):
    """A word in place of the memory that means the GPU itself is in trouble."""
    said = word.lower()
    if "gpu is lost" in said:
        return gpu_faults.fault("lost")
    return gpu_faults.fault("reset_required") if "requires reset" in said else None


def _switch(word):
    return {"enabled": True, "disabled": False}.get((word or "").lower())


def _word(word):
    return word if word and not word.startswith("[") else None
