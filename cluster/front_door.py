"""What stands behind the front door: routing by path prefix, the gate, static files.

Programs go on to `cluster.lean_handler`, pages to Django's own.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import django.contrib.admin
from channels.security.websocket import WebsocketDenier
from whitenoise import WhiteNoise

from cluster.installation import SHARED_FILES

log = logging.getLogger(__name__)

_TOO_LARGE = b"http: request body too large"

AsgiApp = Callable[[Any, Any, Any], Awaitable[None]]


class PathRouter:
    """Hands a connection to the application of the first prefix its path begins with."""

    def __init__(self, prefixes: Mapping[str, AsgiApp], default: AsgiApp) -> None:
        self.prefixes = prefixes
        self.default = default

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one connection."""
        path = scope.get("path", "")
        for prefix, app in self.prefixes.items():
            if path.startswith(prefix):
                return await app(scope, receive, send)
        return await self.default(scope, receive, send)


class Gate:
    """Turns away what no door takes: bodies over a limit, before anybody keeps them, and NUL.

    PostgreSQL takes no NUL in a text, so an address with one can name nothing. `larger`: paths
    with a limit of their own, whose bodies go on piece by piece.
    """

    def __init__(self, app: AsgiApp, limit: int, larger: Mapping[str, int] | None = None) -> None:
        self._app = app
        self._limit = limit
        self._larger = larger or {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request."""
        if "\0" in scope["path"] or b"%00" in scope["query_string"]:
            return await _refuse(send, 400, b"an address holds no NUL")
        told = next((value for name, value in scope["headers"] if name == b"content-length"), None)
        limit = self._larger.get(scope["path"], self._limit)
        if told is not None:
            # What is no number is the server's business; it has read as much as was announced.
            fits = not told.isdigit() or int(told[:20]) <= limit
        elif scope["path"] in self._larger:
            return await self._serve_counting(scope, receive, send, limit)
        else:
            messages, fits = await self._read(receive)
            receive = _replayed(messages, receive)
        if fits:
            return await self._app(scope, receive, send)
        return await _refuse(send, 413, _TOO_LARGE)

    async def _serve_counting(self, scope: Any, receive: Any, send: Any, limit: int) -> None:
        """Serve one request whose body of untold length nobody should hold in memory."""
        size = 0

        async def counted() -> Any:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            # Whoever keeps the body lets go of it when its sender is gone.
            return message if size <= limit else {"type": "http.disconnect"}

        await self._app(scope, counted, send)
        if size > limit:
            await _refuse(send, 413, _TOO_LARGE)

    async def _read(self, receive: Any) -> tuple[list[Any], bool]:
        """The messages of a body of untold length, as far as it fits."""
        messages, size = [], 0
        while True:
            message = await receive()
            messages.append(message)
            size += len(message.get("body", b""))
            if size > self._limit:
                return messages, False
            if not message.get("more_body"):
                return messages, True


async def _refuse(send: Any, status: int, text: bytes) -> None:
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(text)).encode()),
        (b"x-content-type-options", b"nosniff"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})


def _replayed(messages: list[Any], receive: Any) -> Any:
    waiting = iter(messages)

    async def replay() -> Any:
        for message in waiting:
            return message
        return await receive()

    return replay


class OriginCheck:
    """Lets websockets in from our own pages only: one Origin, spelled exactly as browsers do."""

    def __init__(self, app: AsgiApp, origins: Iterable[str]) -> None:
        self._app = app
        self._origins = frozenset(origin.encode("ascii") for origin in origins)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one connection, or answer 403."""
        given = [value for name, value in scope["headers"] if name == b"origin"]
        if len(given) == 1 and given[0] in self._origins:
            return await self._app(scope, receive, send)
        log.warning("action=refuse_websocket origin=%r client=%s", given[:2], scope.get("client"))
        denied: AsgiApp = WebsocketDenier.as_asgi()
        return await denied(scope, receive, send)


class StaticFiles:
    """The project's and the admin's static files, with validators for cheap revalidation.

    Nothing here goes through a bridge from synchronous to asynchronous code: what it leaves in the
    context of a kept-alive connection would break the next request on it.
    """

    def __init__(self) -> None:
        # Files are looked at anew, since an upgrade may exchange them before the server restarts:
        # one served at the length that it had at the start is cut off.
        self._files = WhiteNoise(None, prefix="static/", max_age=60, autorefresh=True)
        admin = Path(django.contrib.admin.__file__).parent / "static"
        for directory in (SHARED_FILES / "static", admin):
            self._files.add_files(str(directory), prefix="static/")

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request."""
        status, headers, body = await asyncio.to_thread(self._answer, scope)
        coded = [
            (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers
        ]
        await send({"type": "http.response.start", "status": status, "headers": coded})
        await send({"type": "http.response.body", "body": body})

    def _answer(self, scope: Any) -> tuple[int, Sequence[tuple[str, str]], bytes]:
        file = self._files.find_file(scope["path"])
        if file is None:
            return 404, [("Content-Type", "text/plain"), ("Content-Length", "0")], b""
        # Its names are those of WSGI.
        asked = {
            f"HTTP_{name.decode('latin-1').upper().replace('-', '_')}": value.decode("latin-1")
            for name, value in scope["headers"]
        }
        response = file.get_response(scope["method"], asked)
        if response.file is None:
            return int(response.status), response.headers, b""
        with closing(response.file) as content:
            return int(response.status), response.headers, content.read()
