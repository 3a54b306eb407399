"""A relay that holds every byte back for a while, each way, and counts round trips: distance without root or netem.

python -m benchmarks.far LISTEN_PORT TO_PORT SECONDS

For each connection that ends it prints how often an answer came after something was sent. Opening a connection counts
as one, and takes as long.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys


class _Turns:
    """How often the talk has turned to the server's side."""

    def __init__(self) -> None:
        self.count = 1
        self._asked = True

    def said(self, *, server: bool) -> None:
        """One side has said something."""
        if server and self._asked:
            self.count += 1
        self._asked = not server


async def _carry(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float, turns: _Turns, *, server: bool
) -> None:
    """Pass on what comes, each piece so many seconds after it came, in its order."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def take() -> None:
        while True:
            with contextlib.suppress(OSError):
                data = await reader.read(1 << 18)
                turns.said(server=server)
                queue.put_nowait((loop.time() + seconds, data))
                if data:
                    continue
            queue.put_nowait((loop.time(), b""))
            return

    taking = asyncio.ensure_future(take())
    with contextlib.suppress(OSError):
        while True:
            due, data = await queue.get()
            await asyncio.sleep(max(due - loop.time(), 0))
            if not data:
                writer.close()
                break
            writer.write(data)
            await writer.drain()
    taking.cancel()


async def _serve(port: int, to: int, seconds: float) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(2 * seconds)  # what opening a connection takes
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", to)
        for end in (writer, there_writer):
            end.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        turns = _Turns()
        await asyncio.gather(
            _carry(reader, there_writer, seconds, turns, server=False),
            _carry(there_reader, writer, seconds, turns, server=True),
        )
        print(turns.count, flush=True)

    async with await asyncio.start_server(connected, "127.0.0.1", port) as server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
