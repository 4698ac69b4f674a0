"""The web process: Daphne, with an end to requests that never become whole.

In: the application and where to listen. Out: a server that runs until it is told to stop.
Twisted's own time limit begins anew with every byte, so that one byte a minute would hold a
connection for ever; here a request has so long for its head and so long for its body, and only so
many unfinished ones of an address are kept.
"""

import logging
from http import HTTPStatus
from typing import Any

# Before anything else that might install another reactor.
import daphne.server
import daphne.ws_protocol
from daphne.endpoints import build_endpoint_description_strings
from daphne.http_protocol import HTTPFactory, WebRequest
from django.conf import settings
from twisted.internet import reactor as installed_reactor
from twisted.web.http import RESPONSES, HTTPChannel

from cluster.runtime.bounded_sockets import BoundedSocket, RoomyServer
from cluster.runtime.file_limit import raise_file_limit
from cluster.runtime.unfinished import Unfinished

log = logging.getLogger(__name__)

#: Twisted describes its parts in interfaces that type checkers do not read.
_reactor: Any = installed_reactor
_Channel: Any = HTTPChannel

#: Pages that all come back at once to a busy machine wait for each other's handshakes; given up
#: after Daphne's 5 s they would only try again.
HANDSHAKE_S = 30
_TOO_LATE = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
#: Seconds between two looks at who is late.
_LOOK_S = 1.0
#: Seconds that a caller may take to hear of its end.
_FAREWELL_S = 2.0


class PunctualChannel(_Channel):  # type: ignore[misc] # see above
    """One connection, whose requests have to become whole in time."""

    unfinished: Unfinished
    #: When each connection's request has to be whole, by the reactor's clock.
    deadlines: dict["PunctualChannel", float]

    def __init__(self) -> None:
        super().__init__()
        self._address = ""

    def connectionMade(self) -> None:  # noqa: N802 - Twisted's name
        """A connection of which nothing was read yet."""
        super().connectionMade()
        self._address = str(getattr(self._line.getPeer(), "host", ""))
        self._begin()

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        """Bytes: between two requests the first one begins the next."""
        if self not in self.deadlines and not self._handlingRequest:
            self._begin()
        super().dataReceived(data)

    def allHeadersReceived(self) -> None:  # noqa: N802 - Twisted's name
        """The head is whole: now its body has its time."""
        self._wait(settings.BIVOUAC_BODY_SECONDS)
        super().allHeadersReceived()

    def allContentReceived(self) -> None:  # noqa: N802 - Twisted's name
        """The request is whole: from here on we are the ones who may be slow."""
        self._end()
        super().allContentReceived()

    def connectionLost(self, reason: Any) -> None:  # noqa: N802 - Twisted's name
        """It is gone."""
        self._end()
        super().connectionLost(reason)

    def drop(self, why: str) -> None:
        """Answer 408 and hang up."""
        log.info("action=drop_stalled client=%s %s", self._address, why)
        self._end()
        self._line.write(_TOO_LATE)
        self._line.loseConnection()
        _reactor.callLater(_FAREWELL_S, self._line.abortConnection)

    @property
    def _line(self) -> Any:
        return self.transport

    def _begin(self) -> None:
        self._wait(settings.BIVOUAC_HEADER_SECONDS)
        self.unfinished.begin(self, self._address, _reactor.seconds())

    def _wait(self, seconds: float) -> None:
        self.deadlines[self] = _reactor.seconds() + seconds

    def _end(self) -> None:
        self.deadlines.pop(self, None)
        self.unfinished.end(self, self._address)


def drop_late(deadlines: dict[PunctualChannel, float], now: float) -> None:
    """Drop the connections whose request is not whole in time."""
    for channel in [channel for channel, due in deadlines.items() if due <= now]:
        channel.drop("request not whole in time")


class HonestRequest(WebRequest):  # type: ignore[misc] # Daphne has no types
    """One request, whose answer is never ended as if it were whole."""

    def handle_exception(self, exception: Exception) -> None:
        """The application failed; an answer that has begun is broken off.

        Daphne begins another one, which fails, and with it its look at all other requests.
        """
        if not self._response_started:
            super().handle_exception(exception)
        elif self.channel is not None:
            self.channel.transport.abortConnection()


class PunctualFactory(HTTPFactory):  # type: ignore[misc] # Daphne has no types
    """Makes the connections of one server."""

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        unfinished = Unfinished(settings.BIVOUAC_STALLED_PER_ADDRESS)
        self._deadlines: dict[PunctualChannel, float] = {}
        # One look for all: a timer for each request would cost more than reading it.
        shortest = min(settings.BIVOUAC_HEADER_SECONDS, settings.BIVOUAC_BODY_SECONDS)
        self._look_s = min(_LOOK_S, shortest / 4)
        own = {"unfinished": unfinished, "deadlines": self._deadlines}
        self.protocol = type("Channel", (PunctualChannel,), own)
        _reactor.callLater(self._look_s, self._look)

    def buildProtocol(self, addr: Any) -> Any:  # noqa: N802 - Twisted's name
        """The channel of one connection."""
        channel = super().buildProtocol(addr)
        channel.requestFactory = HonestRequest
        return channel

    def log(self, request: Any) -> None:
        """No access log: Twisted would write each line, and nobody reads it."""

    def _look(self) -> None:
        drop_late(self._deadlines, _reactor.seconds())
        _reactor.callLater(self._look_s, self._look)


def name_all_statuses() -> None:
    """Twisted's own list ends before 429, of which it would say `Unknown Status`."""
    for status in HTTPStatus:
        RESPONSES.setdefault(status.value, status.phrase.encode())


def serve(application: Any, host: str, port: int) -> bool:
    """Serve until told to stop; False when the server could not listen."""
    limit = raise_file_limit()
    log.info("action=serve host=%s port=%d files=%d", host, port, limit)
    name_all_statuses()
    # The server makes its factory by this name and offers no other way in.
    daphne.server.HTTPFactory = PunctualFactory
    daphne.ws_protocol.WebSocketFactory.protocol = BoundedSocket
    server = RoomyServer(
        application=application,
        endpoints=build_endpoint_description_strings(host=host, port=port),
        websocket_connect_timeout=HANDSHAKE_S,
        websocket_handshake_timeout=HANDSHAKE_S,
        server_name="",
    )
    server.run()
    return not server.abort_start
