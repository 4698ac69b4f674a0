"""Passes connections on: from one address and port to another, in a process of its own.

`python -m cluster.bench.relay FROM TO PORT`. It lets a program in a network namespace reach what
listens on the loopback of the machine.
"""

import asyncio
import contextlib
import sys

_CHUNK = 64 * 1024


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
    writer.close()


async def serve(listen: str, target: str, port: int) -> None:
    """Take connections at `listen` for `target`, both on `port`, until cancelled."""

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(target, port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))

    server = await asyncio.start_server(take, listen, port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], sys.argv[2], int(sys.argv[3])))
