"""Gives each request the clock and identifiers, which doors may not make themselves."""

from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponseBase

from cluster.runtime.clock import RandomIDs, SystemClock, chance

_CLOCK = SystemClock()
_IDS = RandomIDs()


def attach(request: Any) -> None:
    """Set `request.clock`, `request.ids` and `request.chance`."""
    request.clock = _CLOCK
    request.ids = _IDS
    request.chance = chance


class request_context:  # noqa: N801 - a middleware factory, named like a function
    """Middleware for both kinds of views, without a change of thread."""

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
        attach(request)
        return self.get_response(request)
