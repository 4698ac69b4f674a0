"""The web process: uvicorn's connections on asyncio, listened for and ended in our way.

In: the application and where to listen. Out: a server that runs until it is told to stop.
"""

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Iterator
from typing import Any

from uvicorn import Config, Server

from cluster.runtime.file_limit import raise_file_limit
from cluster.runtime.http_connection import HttpConnection, Punctuality
from cluster.runtime.serving import tell_serving
from cluster.runtime.socket_connection import SocketConnection

log = logging.getLogger(__name__)

#: Callers that wait to be taken up.
_BACKLOG = 1024
#: Seconds that a connection may be silent between two requests.
_KEEP_ALIVE_S = 60
#: Seconds after which a page's silence is asked about, and then taken for its end.
_PING_S, _PONG_S = 20, 30
#: Of a message of a page or an agent, bytes.
_MAX_MESSAGE = 1024 * 1024
#: Seconds that requests may take to end once the server was told to; then they are hung up on.
_GRACE_S = 1.0
_LOOK_S = 0.02


class WebServer(Server):
    """Listens, and ends when it is told: short requests are answered, long ones hung up on."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._told = asyncio.Event()
        self._punctuality = Punctuality()
        self._keeper: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and tell that we serve; where that fails the server is at its end."""
        await self.lifespan.startup()
        loop = asyncio.get_running_loop()
        try:
            listening = await loop.create_server(
                self._connection, self.config.host, self.config.port, backlog=_BACKLOG
            )
        except OSError as error:
            log.error("action=listen failed: %s", error)
            self.should_exit = True
            return
        self.servers = [listening]
        self._keeper = loop.create_task(self._punctuality.keep(), name="late requests")
        self.started = True
        tell_serving()

    async def main_loop(self) -> None:
        """Renew the date of answers each second until told to end."""
        while not self.should_exit:
            await self.on_tick(0)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await self._told.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """No new connections; those that are open have a moment to end by themselves."""
        for listening in self.servers:
            listening.close()
        connections = self.server_state.connections
        for connection in list(connections):
            connection.shutdown()
        await self._until_gone(connections)
        for connection in list(connections):
            # Whoever waits for news hears that its caller is gone.
            connection.transport.abort()
        await self._until_gone(self.server_state.tasks)
        if self._keeper is not None:
            self._keeper.cancel()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Be told by signals; unlike the library's own way the process then ends as others do."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.end)
        yield

    def end(self) -> None:
        """Begin to end."""
        self.should_exit = True
        self._told.set()

    def _connection(self) -> HttpConnection:
        return HttpConnection(self.config, self.server_state, self._punctuality)

    async def _until_gone(self, those: set[Any]) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _GRACE_S
        while those and loop.time() < deadline:  # noqa: ASYNC110 - the library tells no event
            await asyncio.sleep(_LOOK_S)


def serve(application: Any, host: str, port: int) -> bool:
    """Serve until told to stop; False when the server could not listen."""
    limit = raise_file_limit()
    log.info("action=serve host=%s port=%d files=%d", host, port, limit)
    return asyncio.run(_serve(configured(application, host, port)))


def configured(application: Any, host: str, port: int) -> Config:
    """What the server asks of the library."""
    return Config(
        application,
        host=host,
        port=port,
        interface="asgi3",
        loop="asyncio",
        ws=SocketConnection,
        ws_max_size=_MAX_MESSAGE,
        ws_ping_interval=_PING_S,
        ws_ping_timeout=_PONG_S,
        # Frames are small and many; each open page would keep tables of its own.
        ws_per_message_deflate=False,
        lifespan="off",
        log_config=None,
        # Nobody reads it.
        access_log=False,
        # `cluster.client_address` knows whether there is a proxy.
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        # What a request leaves in its context would break the next one on its connection.
        reset_contextvars=True,
    )


async def _serve(config: Config) -> bool:
    server = WebServer(config)
    await server.serve()
    return server.started
