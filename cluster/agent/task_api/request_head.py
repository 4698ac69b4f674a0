"""Reads one request of a task, piece by piece, and says what of it the server is sent.

In: bytes as they come. Out: a head for the server, pieces of a body, or `NotPassedOn`.
"""

from urllib.parse import unquote

import httptools

#: What a head may be long.
MOST = 65536
#: Where a task says who it is.
_TOKENS = frozenset({b"x-nomad-token", b"authorization"})
#: Of this connection alone, or not for a task to say: who stands between it and the server.
_NOT_PASSED = frozenset({
    b"connection", b"keep-alive", b"proxy-connection", b"host", b"cookie", b"forwarded",
    b"via", b"x-real-ip", b"x-bivouac-node", b"x-bivouac-join-token",
})  # fmt: skip
_API, _FLEET = "/v1/", "/v1/fleet"
_NOBODY = (
    "This socket takes no request without a token: send an identity of the task, as NOMAD_TOKEN"
    " (identity { env = true }), or a token of the cluster, in X-Nomad-Token or Authorization."
)


class NotPassedOn(Exception):
    """A request that no server hears of."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class TaskRequest:
    """One request; a second one on the same connection is not heard."""

    def __init__(self, server: str) -> None:
        """`server`: its host and port, as it wants to be called."""
        self._server = server.encode()
        self._parser = httptools.HttpRequestParser(self)
        self._target, self._length = b"", 0
        self._headers: list[tuple[bytes, bytes]] = []
        #: What the server is sent, whole as soon as there is any.
        self.head = b""
        self.wants_upgrade = False
        self.is_complete = False
        self._is_chunked = False
        self._body: list[bytes] = []

    def feed(self, data: bytes) -> bytes:
        """What of it belongs to the body, as the server is sent it. Raises NotPassedOn."""
        if not self.head:
            self._length += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.is_complete = True
        except httptools.HttpParserError as problem:
            raise NotPassedOn(400, f"This is no request: {problem}") from problem
        if not self.head and self._length > MOST:
            raise NotPassedOn(431, f"The head of a request has {MOST} bytes at the most.")
        found, self._body = b"".join(self._body), []
        return found

    def on_url(self, piece: bytes) -> None:
        self._target += piece

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        if self.head:
            self.is_complete = True
            return
        self.head = self._made_head()

    def on_body(self, piece: bytes) -> None:
        if self.is_complete:
            return
        self._body.append(b"%x\r\n%b\r\n" % (len(piece), piece) if self._is_chunked else piece)

    def on_message_complete(self) -> None:
        if self._is_chunked and not self.is_complete:
            self._body.append(b"0\r\n\r\n")
        self.is_complete = True

    @property
    def refusal(self) -> NotPassedOn | None:
        """Why the server is not asked; None: it is."""
        path = unquote(self._target.split(b"?")[0].decode("latin-1"))
        if not path.startswith(_API) or path.startswith(_FLEET):
            return NotPassedOn(404, "This socket answers for the API of the cluster, below /v1/.")
        if not any(name.lower() in _TOKENS and value.strip() for name, value in self._headers):
            return NotPassedOn(401, _NOBODY)
        return None

    def _made_head(self) -> bytes:
        self.wants_upgrade = self._parser.should_upgrade()
        connection = b"Upgrade" if self.wants_upgrade else b"close"
        lines = [b"%b %b HTTP/1.1" % (self._parser.get_method(), self._target)]
        lines += [b"Host: " + self._server, b"Connection: " + connection]
        for name, value in self._headers:
            lower = name.lower()
            if lower in _NOT_PASSED or lower.startswith(b"x-forwarded-"):
                continue
            self._is_chunked |= lower == b"transfer-encoding"
            lines.append(name + b": " + value)
        return b"\r\n".join(lines) + b"\r\n\r\n"
