"""The answer to what went wrong on our side: 503 with the reason, or 500 with where to look.

In: a request and the error that nobody had an answer for. Out: plain text, never a page. Refusals
of what a caller asked are not made here.
"""

import logging

from django.core.exceptions import (
    BadRequest,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
)
from django.http import Http404, HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError

from cluster.api.respond import refusal
from cluster.store.faults import TRY_AGAIN_S, reason_of

log = logging.getLogger(__name__)

#: What Django raises about a request, and what it answers for it.
_ASKED_WRONGLY: tuple[tuple[type[Exception], int, str], ...] = (
    (Http404, 404, "not found"),
    (PermissionDenied, 403, "Permission denied"),
    (RequestDataTooBig, 413, "http: request body too large"),
    (MultiPartParserError, 400, "the request cannot be read"),
    (SuspiciousOperation, 400, "the request cannot be read"),
    (BadRequest, 400, "the request cannot be read"),
)


def answer_fault(request: HttpRequest, error: Exception) -> HttpResponse:
    """The last guard of every route: whatever was raised, the caller gets a text."""
    for kind, status, text in _ASKED_WRONGLY:
        if isinstance(error, kind):
            return refusal(status, text)
    reason = reason_of(error)
    if reason:
        log.warning("action=answer_503 method=%s path=%r %s", request.method, request.path, error)
        response = refusal(503, f"Not done: {reason}. Try again in {TRY_AGAIN_S} s.")
        response["Retry-After"] = str(TRY_AGAIN_S)
        return told_in_log(response)
    reference = _reference(request)
    log.error(
        "action=answer_500 reference=%s method=%s path=%r",
        reference,
        request.method,
        request.path,
        exc_info=error,
    )
    text = f"A fault of ours: the web server's log names it under {reference}."
    return told_in_log(refusal(500, text))


def told_in_log(response: HttpResponse) -> HttpResponse:
    """The same response, of which Django writes no line of its own."""
    response._has_been_logged = True  # type: ignore[attr-defined] # how Django marks it
    return response


def _reference(request: HttpRequest) -> str:
    ids = getattr(request, "ids", None)
    return str(ids.next_id())[:8] if ids is not None else "no reference"
