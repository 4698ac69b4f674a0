"""A web server of one application for a test, and a caller that speaks to it byte by byte."""

import asyncio
import contextlib
import json

from cluster.runtime.web_server import WebServer, configured
from tests.patience import PATIENCE_S


async def echo(scope, receive, send):
    """Say what was asked, once the body is whole."""
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body += message["body"]
        if not message["more_body"]:
            break
    said = {
        "path": scope["path"],
        "fields": [name.decode() for name, _ in scope["headers"]],
        "client": scope["client"][0],
        "length": len(body),
    }
    await answer(send, json.dumps(said).encode())


async def answer(send, body, status=200):
    length = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": length})
    await send({"type": "http.response.body", "body": body})


class Caller:
    """One connection."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    async def say(self, data):
        self.writer.write(data)
        await self.writer.drain()

    async def hear(self):
        """The next answer: status line, fields, body by its length."""
        async with asyncio.timeout(PATIENCE_S):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            fields = dict(line.lower().split(": ", 1) for line in head[1:] if line)
            body = await self.reader.readexactly(int(fields.get("content-length", 0)))
        return head[0], fields, body

    async def hear_all(self):
        """Everything until the server hangs up."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.reader.read()

    async def is_hung_up_on(self):
        with contextlib.suppress(ConnectionError):
            await self.hear_all()
        return True


@contextlib.asynccontextmanager
async def serving(application):
    """A server of it on a free port, not told by signals."""
    server = WebServer(configured(application, "127.0.0.1", 0))
    server.callers = []
    server.capture_signals = contextlib.nullcontext
    running = asyncio.create_task(server.serve())
    async with asyncio.timeout(PATIENCE_S):
        while not server.started:
            await asyncio.sleep(0.01)
    try:
        yield server
    finally:
        server.end()
        await running
        for caller in server.callers:
            caller.writer.transport.abort()
        await asyncio.sleep(0)


def port_of(server):
    return server.servers[0].sockets[0].getsockname()[1]


async def called(server):
    caller = Caller(*await asyncio.open_connection("127.0.0.1", port_of(server)))
    server.callers.append(caller)
    return caller
