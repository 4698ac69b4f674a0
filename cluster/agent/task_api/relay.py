"""One connection of a task: one request to the server, and its answer as it comes.

In: the two ends of a connection, and how the server is reached. Nothing is kept: an answer that
lasts (a stream, a read that waits, a session) lasts as long as both ends do.
"""

import asyncio
import contextlib
import logging
import ssl
from asyncio import StreamReader, StreamWriter
from typing import NamedTuple
from urllib.parse import urlsplit

from cluster.agent.task_api.request_head import NotPassedOn, TaskRequest

logger = logging.getLogger(__name__)

#: Seconds for a task to say what it wants, and for the server to be reached.
HEAD_S, CONNECT_S = 30.0, 15.0
#: Seconds for one that is refused to hear it.
LINGER_S = 2.0
_PIECE = 65536
_SWITCHED = b"HTTP/1.1 101"
_REASONS = {
    400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 408: "Request Timeout",
    429: "Too Many Requests", 431: "Request Header Fields Too Large", 502: "Bad Gateway",
}  # fmt: skip


class Server(NamedTuple):
    """How the agent's server is reached."""

    host: str
    port: int
    #: As it is called in a request.
    name: str
    tls: ssl.SSLContext | None

    @classmethod
    def at(cls, address: str, tls: ssl.SSLContext | None) -> "Server":
        """`tls`: whose certificate is taken; None: plain, or by the system's certificates."""
        parts = urlsplit(address)
        is_secure = parts.scheme == "https"
        if is_secure and tls is None:
            tls = ssl.create_default_context()
        port = parts.port or (443 if is_secure else 80)
        return cls(parts.hostname or "", port, parts.netloc.rpartition("@")[2], tls)


async def relay(reader: StreamReader, writer: StreamWriter, server: Server) -> None:
    """Answer one request, by the server or by a sentence of ours, and hang up."""
    try:
        await _answer(reader, writer, server)
    except NotPassedOn as refused:
        await refuse(reader, writer, refused)
    except OSError as problem:
        # Whoever is gone hears nothing.
        logger.debug("a task's request broke off: %s", problem)
    finally:
        await _hang_up(writer)


async def refuse(reader: StreamReader, writer: StreamWriter, refused: NotPassedOn) -> None:
    """Say why the server was not asked, or did not answer; hang up once that was heard.

    Hanging up while a request still comes would take the answer away from who sends it.
    """
    body = f"{refused}".encode()
    head = (
        f"HTTP/1.1 {refused.status} {_REASONS[refused.status]}\r\n"
        f"Content-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
        "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
    )
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(LINGER_S):
            writer.write(head.encode() + body)
            await writer.drain()
            writer.write_eof()
            while await reader.read(_PIECE):
                pass
    await _hang_up(writer)


async def _answer(reader: StreamReader, writer: StreamWriter, server: Server) -> None:
    request = TaskRequest(server.name)
    try:
        async with asyncio.timeout(HEAD_S):
            body = await _read_head(reader, request)
    except TimeoutError:
        raise NotPassedOn(408, f"No request came within {HEAD_S:g} s.") from None
    if not request.head:
        return
    if request.refusal is not None:
        raise request.refusal
    there, back = await _reach(server)
    try:
        back.write(request.head + body)
        await back.drain()
        await _both_ways(reader, writer, (there, back), request)
    finally:
        await _hang_up(back)


async def _read_head(reader: StreamReader, request: TaskRequest) -> bytes:
    """What of the body came with the head; nothing of either from who hung up before."""
    body = b""
    while not request.head and (data := await reader.read(_PIECE)):
        body = request.feed(data)
    return body


async def _reach(server: Server) -> tuple[StreamReader, StreamWriter]:
    try:
        async with asyncio.timeout(CONNECT_S):
            return await asyncio.open_connection(
                server.host,
                server.port,
                ssl=server.tls,
                server_hostname=server.host if server.tls else None,
            )
    except (OSError, TimeoutError) as problem:
        why = str(problem) or "it does not answer"
        raise NotPassedOn(502, f"The node does not reach its server: {why}") from problem


async def _both_ways(
    reader: StreamReader,
    writer: StreamWriter,
    upstream: tuple[StreamReader, StreamWriter],
    request: TaskRequest,
) -> None:
    """Until either end has hung up."""
    there, back = upstream
    switched = asyncio.Event()
    ways = {
        asyncio.ensure_future(_forth(reader, back, request, switched)),
        asyncio.ensure_future(_back(there, writer, switched)),
    }
    try:
        done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in done:
            way.result()
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


async def _forth(
    reader: StreamReader, back: StreamWriter, request: TaskRequest, switched: asyncio.Event
) -> None:
    """The rest of the body; then, in a session, whatever is said in it, else nothing more."""
    while data := await reader.read(_PIECE):
        if not request.is_complete:
            data = request.feed(data)
        elif request.wants_upgrade:
            await switched.wait()
        else:
            continue
        back.write(data)
        await back.drain()


async def _back(there: StreamReader, writer: StreamWriter, switched: asyncio.Event) -> None:
    first = await there.read(_PIECE)
    if not first:
        raise NotPassedOn(502, "The server hung up without an answer.")
    if first.startswith(_SWITCHED):
        switched.set()
    while first:
        writer.write(first)
        await writer.drain()
        first = await there.read(_PIECE)


async def _hang_up(writer: StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
