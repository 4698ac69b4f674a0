"""Lets views outside this package ask who bears the token of a request, without knowing tokens.

In: a request. Out: `request.bearer()`, which finds the caller when it is first needed.
"""

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponseBase

from cluster.api.callers import caller_of, secret_of
from scheduler.access.caller import Caller


class bearer_context:  # noqa: N801 - a middleware factory, named like a function
    """Middleware: sets `request.bearer`. It is None for a request without a token."""

    async_capable = True
    sync_capable = True

    def __init__(
        self, get_response: Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]
    ) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        """Serve one request."""

        async def bearer() -> Caller:
            return await caller_of(request)

        request.bearer = bearer if secret_of(request) else None  # type: ignore[attr-defined] # ours
        return self.get_response(request)
