"""What a browser is told when its request never reached a page."""

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest

from dashboard.kept import Interrupted, is_from_here, kept_page

_TOO_OLD = Interrupted(
    "Send it once more",
    "This page had been open for too long, or you signed in again since.",
    "Nothing was changed. What you wrote is here.",
    403,
)
_FOREIGN = Interrupted(
    "Not taken", "Another page sent this form, not one of ours.", "Nothing was changed.", 403
)
_TEXT = "text/plain; charset=utf-8"


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """413 for a body that is too large, 400 for anything else. Reads nothing of the request."""
    del request
    if isinstance(exception, RequestDataTooBig):
        text = "The request is larger than 4 MiB. Nothing was stored; go back to your text."
        return HttpResponse(text, status=413, content_type=_TEXT)
    return HttpResponseBadRequest("The request cannot be read.", content_type=_TEXT)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form whose token is old, or that a foreign page sent."""
    del reason
    return kept_page(request, _TOO_OLD if is_from_here(request) else _FOREIGN)
