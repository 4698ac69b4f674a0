"""What the reference's HTTP library does before a route sees a request (http-api.md 1.1, 1.4).

In: connections to `/v1/`. Out: a redirect where a path is not written in its shortest form, and
for pages of other origins the headers that let them read the routes of `_CROSS_ORIGIN`. They bring
a token of their own: cookies count for nothing here, and no answer says that they would.
"""

import posixpath
from typing import Any
from urllib.parse import quote

from cluster.front_door import AsgiApp

_CROSS_ORIGIN = (
    "/v1/client/fs/",
    "/v1/client/stats",
    "/v1/client/allocation/",
    "/v1/client/metadata",
    "/v1/client/identity",
    "/v1/vars",
)
_READS = (b"GET", b"HEAD")
#: A path with none of these is in its shortest form.
_UNCLEAN = (b"//", b"/.")

Headers = list[tuple[bytes, bytes]]


class Edge:
    """Stands before the routes of the API."""

    def __init__(self, app: AsgiApp) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request."""
        raw: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
        if any(part in raw for part in _UNCLEAN) and (cleaned := shortest(raw)) != raw:
            query = b"?" + scope["query_string"] if scope["query_string"] else b""
            return await _answer(send, 307, [(b"location", cleaned + query)])
        if not scope["path"].startswith(_CROSS_ORIGIN):
            return await self._app(scope, receive, send)
        told = {name: value for name, value in scope["headers"] if name in _ASKED}
        if scope["method"] == "OPTIONS" and _METHOD in told:
            return await _answer(send, 204, _allowed_before(told))
        return await self._app(scope, receive, _marked(send, scope["method"], told))


_ORIGIN = b"origin"
_METHOD = b"access-control-request-method"
_HEADERS = b"access-control-request-headers"
_ASKED = {_ORIGIN, _METHOD, _HEADERS}
_ANY_ORIGIN = (b"access-control-allow-origin", b"*")


def shortest(path: bytes) -> bytes:
    """A path without empty parts, `.` and `..`; a slash at its end stays."""
    cleaned = posixpath.normpath(b"/" + path.lstrip(b"/"))
    return cleaned + b"/" if path.endswith(b"/") and cleaned != b"/" else cleaned


def _allowed_before(told: dict[bytes, bytes]) -> Headers:
    """What a browser is told that asks whether it may send a request at all."""
    headers = [(b"vary", b"Origin, Access-Control-Request-Method, Access-Control-Request-Headers")]
    if _ORIGIN in told and told[_METHOD] in _READS:
        headers += [_ANY_ORIGIN, (b"access-control-allow-methods", told[_METHOD])]
        if told.get(_HEADERS):
            headers.append((b"access-control-allow-headers", told[_HEADERS]))
    return headers


def _marked(send: Any, method: str, told: dict[bytes, bytes]) -> Any:
    """As `send`, with the headers that let pages of other origins read the answer."""
    allowed = _ORIGIN in told and method.encode() in _READS
    added: Headers = [(b"vary", b"Origin"), *([_ANY_ORIGIN] if allowed else [])]

    async def sent(message: Any) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *added]}
        await send(message)

    return sent


async def _answer(send: Any, status: int, headers: Headers) -> None:
    length = [] if status == 204 else [(b"content-length", b"0")]
    start = {"type": "http.response.start", "status": status, "headers": [*headers, *length]}
    await send(start)
    await send({"type": "http.response.body", "body": b""})
