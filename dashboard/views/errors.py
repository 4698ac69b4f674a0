"""What a browser is told when its request never reached a page."""

from collections.abc import Callable

from asgiref.sync import async_to_sync
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.utils.translation import gettext, gettext_noop

from dashboard.faults import fault_page
from dashboard.kept import Interrupted, asks_for_data, is_from_here, kept_page
from dashboard.operator_site import may, right_of_table
from dashboard.page import refused_page, unknown_address
from dashboard.people import whom_to_ask

_TOO_OLD = Interrupted(
    gettext_noop("Send it once more"),
    gettext_noop("This page had been open for too long, or you signed in again since."),
    gettext_noop("Nothing was changed. What you wrote is here."),
    403,
)
_FOREIGN = Interrupted(
    gettext_noop("Not taken"),
    gettext_noop("Another page sent this form, not one of ours."),
    gettext_noop("Nothing was changed."),
    403,
)
_TEXT = "text/plain; charset=utf-8"


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """413 for a body that is too large, 400 for anything else. Reads nothing of the request."""
    del request
    if isinstance(exception, RequestDataTooBig):
        text = gettext(
            "The request is larger than 4 MiB. Nothing was stored; go back to your text."
        )
        return HttpResponse(text, status=413, content_type=_TEXT)
    return HttpResponseBadRequest(gettext("The request cannot be read."), content_type=_TEXT)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404: what was asked for, with the navigation and a search for whoever is signed in."""
    del exception
    return _framed(request, lambda: async_to_sync(unknown_address)(request))


def _framed(request: HttpRequest, make: Callable[[], HttpResponse]) -> HttpResponse:
    """What `make` answers; nobody else answers what fails in there."""
    try:
        return make()
    except Exception as error:
        return fault_page(request, error)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403 of the admin: which right is missing, or that nobody changes this by hand."""
    told = str(exception)
    right = right_of_table(request)
    if not told and right is not None and not may(request, right):
        told = gettext("To {told} you need {word}.").format(
            told=gettext(right.told), word=right.word
        )
    by_hand = gettext(
        "Rows of the record are not written by hand: its pages and the API change them."
    )
    ask = whom_to_ask() or gettext("whoever runs this cluster")
    title = gettext("Not yours to open") if told else gettext("Nobody changes this here")
    text = (
        gettext("Nothing was changed. Ask {ask}.").format(ask=ask)
        if told
        else gettext("Nothing was changed.")
    )
    why = Interrupted(title, told or by_hand, text, 403)
    if request.method == "POST" or asks_for_data(request):
        return kept_page(request, why)
    return _framed(request, lambda: async_to_sync(refused_page)(request, why))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form whose token is old, or that a foreign page sent."""
    del reason
    return kept_page(request, (_TOO_OLD if is_from_here(request) else _FOREIGN).told())
