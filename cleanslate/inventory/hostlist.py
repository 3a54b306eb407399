"""Host lists given in place of a file: `-i 'gpu1,10.0.0.7:2222,node[01:04],'`."""

from __future__ import annotations

from cleanslate.errors import Origin
from cleanslate.inventory.assembly import Assembly


def read_host_list(text: str, assembly: Assembly) -> None:
    """Add the hosts of a list to `ungrouped`; names may hold ranges and ports."""
    for part in text.split(","):
        name = part.strip()
        if name:
            assembly.hosts(name, "ungrouped", Origin(text), None)
