"""Fabric alone: one thread for each host, one connection, one command after the other.

HOST PORT USER KEY HOSTS STEPS
"""

import sys
from concurrent.futures import ThreadPoolExecutor

from fabric import Connection

host, port, user, key, hosts, steps = sys.argv[1:]


def work(_: int) -> None:
    """All steps of one host."""
    with Connection(host, user, int(port), connect_kwargs={"key_filename": key, "allow_agent": False}) as connection:
        for _ in range(int(steps)):
            connection.run("/bin/true", hide=True, in_stream=False)


with ThreadPoolExecutor(50) as pool:
    list(pool.map(work, range(int(hosts))))
