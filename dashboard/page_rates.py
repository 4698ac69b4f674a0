"""How many pages and buttons a person may ask for, and whoever is not signed in, by address.

In: requests that know their user. Out: 429 with the seconds to wait, or the page. It stands behind
the middleware that knows sessions, so that the admin and the sign-in are counted as well.
"""

from collections.abc import Awaitable, Callable

from asgiref.sync import sync_to_async
from django.db import Error
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.utils.decorators import async_only_middleware
from django.utils.translation import gettext

from cluster.client_address import address_of
from cluster.operations.audit import note_refused
from cluster.request_rates import RATES, address_key, rate_of, told_to_wait
from cluster.store.access import the_store
from cluster.store.audit_entries import PAGE, Act, Actor
from dashboard.faults import fault_page
from dashboard.kept import asks_for_data, told_as_data

Answer = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


@async_only_middleware
def page_rates(get_response: Answer) -> Answer:
    """Middleware of pages."""

    async def counted(request: HttpRequest) -> HttpResponseBase:
        rate = rate_of()
        if rate is None:
            return await get_response(request)
        try:
            user = await request.auser()
        except Error as error:
            # Outside of what answers for views: nobody else would say that the record is away.
            return await sync_to_async(fault_page, thread_sensitive=False)(request, error)
        address = address_of(request)
        key = f"person {user.pk}" if user.is_authenticated else address_key(address)
        now = request.clock.monotonic()  # type: ignore[attr-defined]  # set by request_context
        wait_s = await RATES.wait_s(key, rate, now)
        if not wait_s:
            return await get_response(request)
        who = Actor(address=address, door=PAGE)
        if user.is_authenticated:
            who = Actor("person", str(user.pk), user.get_username(), address, PAGE)
        at = request.clock.now()  # type: ignore[attr-defined]  # set by request_context
        note_refused(the_store(), who, Act("many acts"), "too many requests", at=at)
        told = told_to_wait(wait_s)
        if asks_for_data(request):
            response = told_as_data(
                gettext("Too many requests: wait {seconds} s.").format(seconds=told), 429
            )
        else:
            response = render(request, "429.html", {"wait": told, "rate": rate}, status=429)
        response["Retry-After"] = told
        return response

    return counted
