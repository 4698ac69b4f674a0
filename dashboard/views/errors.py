"""What a browser is told when its request never reached a page."""

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest

_TEXT = "text/plain; charset=utf-8"


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """413 for a body that is too large, 400 for anything else. Reads nothing of the request."""
    del request
    if isinstance(exception, RequestDataTooBig):
        text = "The request is larger than 4 MiB. Nothing was stored; go back to your text."
        return HttpResponse(text, status=413, content_type=_TEXT)
    return HttpResponseBadRequest("The request cannot be read.", content_type=_TEXT)
