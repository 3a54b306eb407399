"""asyncssh alone: all hosts in one loop, one connection each, one command after the other.

HOST PORT USER KEY KNOWN_HOSTS HOSTS STEPS
"""

import asyncio
import sys

import asyncssh

host, port, user, key, known_hosts, hosts, steps = sys.argv[1:]


async def work() -> None:
    """All steps of one host."""
    reach = {"port": int(port), "username": user, "client_keys": [key], "known_hosts": known_hosts}
    async with asyncssh.connect(host, **reach) as connection:
        for _ in range(int(steps)):
            await connection.run("/bin/true", check=True)


async def main() -> None:
    """Everything at once."""
    await asyncio.gather(*(work() for _ in range(int(hosts))))


asyncio.run(main())
