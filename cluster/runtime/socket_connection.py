"""One websocket of the web process: an end to handshakes and farewells that take too long.

In: bytes of a connection whose request asked for a websocket. Out: messages for the application.
"""

import asyncio
import contextlib
from typing import Any

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode, Frame

#: Pages that all come back at once to a busy machine wait for each other's handshakes; given up
#: early they would only try again.
HANDSHAKE_S = 30
#: Seconds that the other end may take to hear of the end.
FAREWELL_S = 2.0
#: Pieces of one message; the library counts its bytes alone, and a piece may be empty.
MAX_PIECES = 4096
#: What fits into the frame that says why, bytes.
_LONGEST_REASON = 120
_BAD_HANDSHAKE = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class SocketConnection(WebSocketsSansIOProtocol):
    """One websocket. What the application says to one that has gone is dropped."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The handshake has begun."""
        super().connection_made(transport)
        self._too_late = self.loop.call_later(HANDSHAKE_S, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        self._too_late.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes; the first ones are the whole head of the handshake."""
        super().data_received(data)
        if not self.handshake_initiated and not self.transport.is_closing():
            self.transport.write(_BAD_HANDSHAKE)
            self._hang_up()

    def handle_ping(self) -> None:
        """Answer it; to one that does not read, further answers would pile up."""
        answer = b"".join(self.conn.data_to_send())
        if self.writable.is_set():
            self.transport.write(answer)

    def handle_cont(self, event: Frame) -> None:
        """A further piece of a message."""
        if len(self.frames) >= MAX_PIECES and not self.close_sent:
            self.frames = []
            self.conn.fail(CloseCode.MESSAGE_TOO_BIG, "too many pieces")
            self.handle_parser_exception()
            self._hang_up()
        if not self.close_sent:
            super().handle_cont(event)

    async def send(self, message: Any) -> None:
        """What the application says. An end is said even to one that does not read."""
        if self.disconnected or self.close_sent:
            return
        if message["type"] != "websocket.close":
            with contextlib.suppress(ClientDisconnected):
                await super().send(message)
            return
        self.writable.set()
        reason = _clipped(message.get("reason") or "")
        await super().send(
            {"type": "websocket.close", "code": message.get("code", 1000), "reason": reason}
        )
        if self.close_timer is not None:
            self.close_timer.cancel()
            self.close_timer = self.loop.call_later(FAREWELL_S, self.transport.abort)

    def keepalive_timeout(self) -> None:
        """It does not answer, or we do not read; who is deaf is not waited for either."""
        if self.read_paused:
            self.pong_timer = self.pending_ping_payload = None
            self.schedule_ping()
            return
        super().keepalive_timeout()
        self._hang_up()

    def _give_up(self) -> None:
        if not self.handshake_complete:
            self.send_500_response()
            self._hang_up()

    def _hang_up(self) -> None:
        self.transport.close()
        self.loop.call_later(FAREWELL_S, self.transport.abort)


def _clipped(reason: str) -> str:
    return reason.encode()[:_LONGEST_REASON].decode(errors="ignore")
