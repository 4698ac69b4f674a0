"""One connection to the API, as thin as can be: what is timed is the server, not the client.

In: an address, a token. Out: decoded JSON and the index of each answer. For one thread.
"""

import http.client
from typing import Any
from urllib.parse import urlsplit

import msgspec

_TIMEOUT_S = 120


class RequestFailed(Exception):
    """The server answered with an error; the message carries its status and text."""


class Connection:
    """A kept-alive connection."""

    def __init__(self, address: str, token: str) -> None:
        parts = urlsplit(address)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else _Plain
        assert parts.hostname is not None, "an address names a host"
        self._connection = kind(parts.hostname, parts.port, timeout=_TIMEOUT_S)
        self._headers = {"X-Nomad-Token": token, "Content-Type": "application/json"}
        #: Of the newest answer that named one.
        self.index = 0

    def get(self, path: str) -> Any:
        """Read. Raises RequestFailed."""
        return self._ask("GET", path, None)

    def put(self, path: str, body: object) -> Any:
        """Write. Raises RequestFailed."""
        return self._ask("PUT", path, msgspec.json.encode(body))

    def delete(self, path: str) -> Any:
        """Remove. Raises RequestFailed."""
        return self._ask("DELETE", path, None)

    def close(self) -> None:
        self._connection.close()

    def send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> bytes:
        """The content of the answer, with headers of the caller's own. Raises RequestFailed."""
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        content = response.read()
        if response.status >= 400:
            text = content.decode(errors="replace")[:500]
            raise RequestFailed(f"{method} {path}: {response.status} {text}")
        self.index = int(response.headers.get("X-Nomad-Index") or self.index)
        return content

    def _ask(self, method: str, path: str, body: bytes | None) -> Any:
        content = self.send(method, path, body, self._headers)
        return msgspec.json.decode(content) if content else None


class _Plain(http.client.HTTPConnection):
    """Without waiting to fill packets."""

    def connect(self) -> None:
        super().connect()
        # Headers and body go out in two writes; Nagle's rule would hold the second back.
        self.sock.setsockopt(_TCP, _NODELAY, 1)


_TCP, _NODELAY = 6, 1
