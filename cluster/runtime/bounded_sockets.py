"""Websockets of which neither end piles up in the web process.

In: what Daphne serves. Out: the same, with three things that it lacks. An application may wait
until a slow caller has read; what a caller sends faster than it is taken stays in the network; and
a close tells its reason.
"""

import asyncio
from typing import Any

import daphne.server
from daphne.ws_protocol import WebSocketProtocol
from twisted.internet import reactor as installed_reactor

from cluster.operations.session_socket import ROOM

_reactor: Any = installed_reactor
#: Messages of one caller that wait for the application, before nothing more is read of it.
MOST_WAITING = 64
#: Seconds until it is looked whether the application has caught up.
_LOOK_S = 0.02


class BoundedSocket(WebSocketProtocol):  # type: ignore[misc] # Daphne has no types
    """One websocket, which pauses whoever is too fast."""

    def connectionMade(self) -> None:  # noqa: N802 - Twisted's name
        """The connection comes from the channel that read the request, which listens no more."""
        super().connectionMade()
        self._room = asyncio.Event()
        self._room.set()
        self._is_held = False
        self.transport.unregisterProducer()
        self.transport.registerProducer(self, streaming=True)

    async def room(self) -> None:
        """Return once the caller has read what it was sent, or is gone."""
        await self._room.wait()

    def pauseProducing(self) -> None:  # noqa: N802 - Twisted's name
        """What was sent waits for the caller."""
        self._room.clear()

    def resumeProducing(self) -> None:  # noqa: N802 - Twisted's name
        """The caller has read."""
        self._room.set()

    def stopProducing(self) -> None:  # noqa: N802 - Twisted's name
        """The caller is gone."""
        self._room.set()

    def connectionLost(self, reason: Any = None) -> None:  # noqa: N802 - Twisted's name
        """The caller is gone."""
        self._room.set()
        super().connectionLost(reason)

    def onMessage(self, payload: bytes, isBinary: bool) -> None:  # noqa: N802,N803,FBT001 - its name
        """A message; too many that wait hold the caller up."""
        super().onMessage(payload, isBinary)
        if not self._is_held and self._waiting() > MOST_WAITING:
            self._is_held = True
            self.transport.pauseProducing()
            _reactor.callLater(_LOOK_S, self._look)

    def handle_reply(self, message: dict[str, Any]) -> None:
        """What the application says; Daphne drops the reason of a close."""
        closes = message.get("type") == "websocket.close" and self.state == self.STATE_OPEN
        if closes and message.get("reason"):
            told = str(message["reason"]).encode()
            self.sendCloseFrame(code=message.get("code") or 1000, reasonUtf8=told)
        else:
            super().handle_reply(message)

    def _look(self) -> None:
        if not self.connected:
            return
        if self._waiting() > MOST_WAITING // 2:
            _reactor.callLater(_LOOK_S, self._look)
            return
        self._is_held = False
        self.transport.resumeProducing()

    def _waiting(self) -> int:
        queue = getattr(self, "application_queue", None)
        return 0 if queue is None else queue.qsize()


class RoomyServer(daphne.server.Server):  # type: ignore[misc] # Daphne has no types
    """Tells each websocket's application how to wait for its caller."""

    def create_application(self, protocol: Any, scope: Any) -> Any:
        """Start the application of one connection."""
        if isinstance(protocol, BoundedSocket):
            scope[ROOM] = protocol.room
        return super().create_application(protocol, scope)
