"""What `lab status` says of real GPUs: the driver's own numbers, and who has them mapped."""

from __future__ import annotations

from pathlib import Path

from cleanslate.lab import smi
from cleanslate.lab.driver import Driver, Held, scan, title_of
from cleanslate.lab.hardware import query


class RealDriver(Driver):
    """The driver is the real one: nobody asks this one for numbers but `lab status`, and the lab as it comes up."""

    def look(self) -> Held:
        """Who has which GPU mapped; how much each has is the driver's secret."""
        return dict.fromkeys(scan(Path(self._hardware.nodes), self._hardware.gpus), 0)

    def used(self) -> list[int]:
        """MiB in use on each GPU."""
        return [row[0] for row in query(str(Path(self._hardware.path) / "nvidia-smi"), "memory.used")]

    def everything_held(self) -> bool:
        """Whether the stuck server and the orphan have what they are to have."""
        wanted = [self._hardware.held * 1024] * self._hardware.gpus
        wanted[-1] += self._hardware.orphan * 1024
        return all(used >= want for used, want in zip(self.used(), wanted, strict=True))

    def readings(self, *, inside: bool) -> list[smi.Reading]:
        """All GPUs now."""
        held = self.look()
        found = []
        for gpu, used in enumerate(self.used()):
            holders = () if inside else tuple((pid, title_of(pid), 0) for pid, one in sorted(held) if one == gpu)
            found.append(smi.Reading(gpu, self._uuids[gpu], used, holders))
        return found
