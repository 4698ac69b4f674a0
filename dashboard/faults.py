"""Pages for what went wrong on our side: why, what was not done, and what was typed.

In: an error that a view did not answer. Out: 503 with the reason where the record's surroundings
are at fault, else 500 with where the log tells more.
"""

import logging
from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.core.exceptions import BadRequest, PermissionDenied, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.http.multipartparser import MultiPartParserError
from django.utils.translation import gettext

from cluster.store.faults import TRY_AGAIN_S, reason_of
from dashboard.kept import Interrupted, kept_page

log = logging.getLogger(__name__)

#: What Django has answers for.
_ASKED_WRONGLY = (
    Http404, PermissionDenied, SuspiciousOperation, BadRequest, MultiPartParserError,
)  # fmt: skip


class fault_pages:  # noqa: N801 - a middleware factory, named like a function
    """Middleware: answers what views raise, for both kinds of views."""

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
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """The page of an error, unless Django has one."""
        if isinstance(error, _ASKED_WRONGLY):
            return None
        return fault_page(request, error)


def fault_page(request: HttpRequest, error: Exception) -> HttpResponse:
    """Why it went wrong, with everything that was typed."""
    is_post = request.method == "POST"
    reason = reason_of(error)
    if reason:
        log.warning("action=answer_503 method=%s path=%r %s", request.method, request.path, error)
        nothing = gettext("Nothing was changed; send it again when this is over.")
        why = Interrupted(
            gettext("Not now"),
            gettext("The record cannot be used: {reason}.").format(reason=reason),
            nothing if is_post else gettext("This page loads again by itself."),
            503,
        )
        response = kept_page(request, why)
        response["Retry-After"] = str(TRY_AGAIN_S)
        return response
    reference = request.ids.next_id()[:8]  # type: ignore[attr-defined] # set by request_context
    log.error(
        "action=answer_500 reference=%s method=%s path=%r",
        reference, request.method, request.path, exc_info=error,
    )  # fmt: skip
    log_says = gettext("The web server's log names it under {reference}.").format(
        reference=reference
    )
    return kept_page(
        request,
        Interrupted(
            gettext("This page could not be made"), gettext("A fault of ours."), log_says, 500
        ),
    )
