"""What stands behind the front door: routing by path prefix, the lean handler, static files.

Pages run with all middleware; the API and the agents' door with `API_MIDDLEWARE` only, because
every synchronous middleware costs each asynchronous request two changes of thread.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import closing
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import django.contrib.admin
from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.http.request import split_domain_port, validate_host
from django.urls import ResolverMatch, set_script_prefix
from django.utils.encoding import escape_uri_path
from django.utils.module_loading import import_string
from whitenoise import WhiteNoise

from cluster.installation import SHARED_FILES
from cluster.log_lines import REQUESTS
from cluster.route_index import RouteIndex

log = logging.getLogger(__name__)

_FOREIGN_HOST = "this server has another name: use the one in BIVOUAC_PUBLIC_URL, or its address"

_WITHOUT_BODY = (204, 304)
_TOO_LARGE = b"http: request body too large"

AsgiApp = Callable[[Any, Any, Any], Awaitable[None]]


class LeanHandler(ASGIHandler):
    """Django's handler with the middleware of `API_MIDDLEWARE` only, and no request signals.

    The signals' receivers are synchronous: each request, a read that waits for minutes included,
    would hold a thread of its own. What a view raises is answered by `answer_fault`: Django's own
    answer would be a page.
    """

    def __init__(
        self,
        answer_fault: Callable[[HttpRequest, Exception], HttpResponse],
        routes: RouteIndex | None = None,
    ) -> None:
        self._answer_fault = answer_fault
        #: Asked before Django's own search.
        self._routes = routes
        super().__init__()

    def resolve_request(self, request: HttpRequest) -> ResolverMatch:
        """The route of a request. Raises Resolver404."""
        found = self._routes.resolve(request.path_info) if self._routes else None
        if found is None:
            return super().resolve_request(request)
        request.resolver_match = found
        return found

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request; the view is cancelled when the caller hangs up."""
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        with closing(body):
            set_script_prefix(get_script_prefix(scope))
            request, refusal = self.create_request(scope, body)
            if request is None:
                assert refusal is not None, "create_request gives one of the two"
                await self.send_response(refusal, send)
                return
            gone = asyncio.create_task(self.listen_for_disconnect(receive))
            work = asyncio.create_task(self._answer(request, send))
            try:
                await asyncio.wait({gone, work}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                hung_up = not work.done()
                for task in (gone, work):
                    task.cancel()
                _, failed = await asyncio.gather(gone, work, return_exceptions=True)
            if isinstance(failed, Exception) and not hung_up:
                raise failed

    async def _answer(self, request: HttpRequest, send: Any) -> None:
        began = asyncio.get_running_loop().time()
        try:
            await self._send_answer(request, send)
        finally:
            if REQUESTS.handlers:
                took_ms = (asyncio.get_running_loop().time() - began) * 1000
                REQUESTS.debug(
                    'request complete: method=%s path=%s duration="%.1fms"',
                    request.method, escape_uri_path(request.path), took_ms,
                )  # fmt: skip

    async def _send_answer(self, request: HttpRequest, send: Any) -> None:
        if _is_ours(request):
            response = await self.run_get_response(request)
        else:
            response = HttpResponse(_FOREIGN_HOST, content_type="text/plain", status=400)
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        if isinstance(response, HttpResponse) and response.status_code not in _WITHOUT_BODY:
            response.headers.setdefault("Content-Length", str(len(response.content)))
        try:
            await self.send_response(response, send)
        finally:
            # `response.close` would send a signal.
            for close in response._resource_closers:  # type: ignore[attr-defined] # not in the stubs
                close()

    def load_middleware(self, is_async: bool = False) -> None:  # noqa: FBT001,FBT002 - Django's signature
        """Build the short chain; these middlewares use the call protocol only."""
        self._view_middleware: list[Any] = []
        self._template_response_middleware: list[Any] = []
        self._exception_middleware: list[Any] = []
        chain: Any = self._get_response_async  # type: ignore[attr-defined]  # unknown to the stubs
        for name in reversed(settings.API_MIDDLEWARE):
            chain = import_string(name)(self._guarded(chain))
        self._middleware_chain = self._guarded(chain)

    def _guarded(self, get_response: Any) -> Any:
        async def answer(request: HttpRequest) -> HttpResponseBase:
            try:
                response: HttpResponseBase = await get_response(request)
            except (
                Exception
            ) as error:  # the last guard of the door, which logs what it does not know
                return self._answer_fault(request, error)
            return response

        return answer


def _is_ours(request: HttpRequest) -> bool:
    """Whether the caller meant this server, as far as the Host says; none and addresses pass.

    What a page of someone else's sends here, after its name was made to point here, has that name.
    """
    host = request.META.get("HTTP_HOST", "")
    if not settings.API_CHECKS_HOST or not host:
        return True
    name, _ = split_domain_port(host)
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return name == "localhost" or validate_host(name, settings.ALLOWED_HOSTS)
    return True


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
        told = dict(scope["headers"]).get(b"content-length")
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
