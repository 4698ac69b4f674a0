"""What a person had typed when a form could not be taken: shown again, ready to be sent again.

In: a request that was not carried out. Out: a page that says why, with every field of the form but
secrets. Only forms of our own pages are shown: what a foreign page posts here is nobody's text.
"""

from typing import NamedTuple

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.template.loader import render_to_string
from django.utils.translation import gettext

#: Addresses that never answer a page.
_DATA = frozenset({"job-check", "audit-newer", "notices"})
_JSON = "application/json"
#: Fields that are never written into a page.
_SECRET = frozenset(
    {"csrfmiddlewaretoken", "password", "old_password", "token", "secret", "item_value"}
)
_SECRET_ENDINGS = ("password", "password1", "password2")


class Interrupted(NamedTuple):
    """Why a form was not taken."""

    title: str
    strong: str
    text: str
    status: int
    #: Whether one has to sign in before it can be sent again.
    is_signed_out: bool = False

    def told(self) -> "Interrupted":
        """The same in the language in force."""
        title, strong, text = gettext(self.title), gettext(self.strong), gettext(self.text)
        return self._replace(title=title, strong=strong, text=text)


def asks_for_data(request: HttpRequest) -> bool:
    """Whether a program asks, which reads no page: by what it takes, or by the address."""
    match = request.resolver_match
    if match is not None and match.url_name in _DATA:
        return True
    takes = request.headers.get("Accept", "")
    return _JSON in takes and "text/html" not in takes


def told_as_data(sentence: str, status: int) -> HttpResponse:
    """Why a program gets nothing."""
    return JsonResponse({"error": sentence}, status=status)


def kept_page(request: HttpRequest, why: Interrupted) -> HttpResponse:
    """The page, for programs a sentence; reads nothing of the record, which may be away."""
    if asks_for_data(request):
        return told_as_data(f"{why.strong} {why.text}", why.status)
    fields = _fields(request) if request.method == "POST" and is_from_here(request) else []
    context = {
        "why": why,
        "address": request.get_full_path(),
        "fields": fields,
        "text": next((value for name, value in fields if name == "text"), ""),
        "is_post": request.method == "POST",
        "csrf_token": get_token(request),
    }
    return HttpResponse(render_to_string("interrupted.html", context), status=why.status)


def is_from_here(request: HttpRequest) -> bool:
    """Whether one of our own pages sent the form, as far as the browser says."""
    origin = request.headers.get("Origin")
    if origin is not None:
        own = f"{request.scheme}://{request.get_host()}"
        return origin == own or origin in settings.CSRF_TRUSTED_ORIGINS
    return request.headers.get("Sec-Fetch-Site") == "same-origin"


def _fields(request: HttpRequest) -> list[tuple[str, str]]:
    return [
        (name, str(value))
        for name, values in request.POST.lists()
        if name not in _SECRET and not name.endswith(_SECRET_ENDINGS)
        for value in values
    ]
