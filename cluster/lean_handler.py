"""Serves programs: Django's requests, views and answers, without most of what is between them.

The API and the agents' door run with `API_MIDDLEWARE` only, because every synchronous middleware
costs each asynchronous request two changes of thread. In: connections. Out: answers. A view runs
on the task of its connection; whether its caller is still there is looked at once it takes long.
"""

import asyncio
from collections.abc import Callable
from contextlib import closing, suppress
from functools import lru_cache
from io import BytesIO
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.http.request import split_domain_port, validate_host
from django.urls import ResolverMatch, set_script_prefix
from django.utils.encoding import escape_uri_path
from django.utils.log import log_response
from django.utils.module_loading import import_string

from cluster.log_lines import REQUESTS
from cluster.route_index import RouteIndex

_FOREIGN_HOST = "this server has another name: use the one in BIVOUAC_PUBLIC_URL, or its address"
_WITHOUT_BODY = (204, 304)
_FAULTS_FROM = 400
#: Seconds after which it is looked at whether a caller hung up; most answers are there by then,
#: and a task that listens would cost a tenth of them.
_LONG_S = 0.05


class LeanHandler(ASGIHandler):
    """Django's handler with the middleware of `API_MIDDLEWARE` only, and no request signals.

    The signals' receivers are synchronous: each request, a read that waits for minutes included,
    would hold a thread of its own. All views are asynchronous. What one raises is answered by
    `answer_fault`: Django's own answer would be a page.
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

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request. No view calls synchronous code by a bridge, which would need more."""
        await self.handle(scope, receive, send)

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
            prefix = get_script_prefix(scope)
            if prefix:
                set_script_prefix(prefix)
            request, refusal = self.create_request(scope, body)
            if request is None:
                assert refusal is not None, "create_request gives one of the two"
                await self.send_response(refusal, send)
                return
            caller = _Presence(self.listen_for_disconnect, receive)
            try:
                await self._answer(request, send)
            except asyncio.CancelledError:
                if not caller.is_gone:
                    raise
                caller.forgive()
            except Exception:
                if not caller.is_gone:
                    raise
            finally:
                caller.look_no_more()

    async def read_body(self, receive: Any) -> Any:
        """The body of a request, as a file; one that came in one piece stays in memory."""
        first = await receive()
        if first["type"] == "http.request" and not first.get("more_body"):
            return BytesIO(first.get("body", b""))
        messages = iter([first])

        async def replayed() -> Any:
            return next(messages, None) or await receive()

        return await super().read_body(replayed)

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

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        """The answer to a request."""
        response: HttpResponseBase = await self._middleware_chain(request)
        response._resource_closers.append(request.close)  # type: ignore[attr-defined] # not in the stubs
        if response.status_code >= _FAULTS_FROM:
            log_response(
                "%s: %s",
                response.reason_phrase,
                request.path,
                response=response,  # type: ignore[arg-type] # the stubs know one kind only
                request=request,
            )
        return response

    def load_middleware(self, is_async: bool = False) -> None:  # noqa: FBT001,FBT002 - Django's signature
        """Build the short chain; these middlewares use the call protocol only."""
        chain: Any = self._view_of
        for name in reversed(settings.API_MIDDLEWARE):
            chain = import_string(name)(self._guarded(chain))
        self._middleware_chain = self._guarded(chain)

    async def _view_of(self, request: HttpRequest) -> HttpResponseBase:
        found = self.resolve_request(request)
        response: HttpResponseBase = await found.func(request, *found.args, **found.kwargs)
        return response

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


class _Presence:
    """Whether a caller is still there; once not, the task that answers it is cancelled."""

    def __init__(self, listen: Callable[[Any], Any], receive: Any) -> None:
        self.is_gone = False
        self._listen = listen
        self._receive = receive
        task = asyncio.current_task()
        assert task is not None, "a connection is served by a task"
        self._answering = task
        self._listening: asyncio.Task[None] | None = None
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(_LONG_S, self._begin)

    def look_no_more(self) -> None:
        """The answer is there."""
        self._timer.cancel()
        if self._listening is not None:
            self._listening.cancel()

    def forgive(self) -> None:
        """Its task goes on, although it was cancelled."""
        self._answering.uncancel()

    def _begin(self) -> None:
        self._listening = asyncio.create_task(self._until_gone())

    async def _until_gone(self) -> None:
        with suppress(RequestAborted):
            await self._listen(self._receive)
        self.is_gone = True
        self._answering.cancel()


def _is_ours(request: HttpRequest) -> bool:
    """Whether the caller meant this server, as far as the Host says; none and addresses pass.

    What a page of someone else's sends here, after its name was made to point here, has that name.
    """
    host = request.META.get("HTTP_HOST", "")
    if not settings.API_CHECKS_HOST or not host:
        return True
    return _is_name_of_ours(host, tuple(settings.ALLOWED_HOSTS))


@lru_cache(maxsize=256)
def _is_name_of_ours(host: str, allowed: tuple[str, ...]) -> bool:
    name, _ = split_domain_port(host)
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return name == "localhost" or validate_host(name, allowed)
    return True
