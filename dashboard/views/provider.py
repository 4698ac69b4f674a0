"""To the provider that signs people in, back from it, and out of it.

In: browsers of people who are not signed in yet. Out: redirects, a session, or a page that says
why nobody was signed in and whom to ask. State, nonce and the proof of the same client (PKCE) are
the library's: each is made for one sign-in, kept in its session, and used once.
"""

import logging
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_safe
from mozilla_django_oidc.views import (
    OIDCAuthenticationCallbackView,
    OIDCAuthenticationRequestView,
)

from cluster.logins.errors import IssuerUnreachable, LoginRefused
from dashboard.acts import note_provider_refused
from dashboard.people import person_of, whom_to_ask
from dashboard.provider_people import AccountRefused
from dashboard.provider_sign_in import back_address, provider_config, the_provider
from dashboard.wording import one_of

_LOG = logging.getLogger(__name__)
#: Seconds that a sign-in may be under way.
_UNDER_WAY = 10 * 60
_STATES = "oidc_states"
_MOST_NAMED = 8


class _Failed(NamedTuple):
    """Why nobody was signed in."""

    title: str
    text: str
    #: For the audit: nothing that was sent.
    reason: str
    status: int = 403


class _NotSignedIn(Exception):
    """Ends a sign-in with a page."""

    def __init__(self, why: _Failed) -> None:
        super().__init__(why.reason)
        self.why = why


_OVER = _Failed(
    gettext_noop("This sign-in is over"),
    gettext_noop(
        "It was begun in another browser or under another address, was used already, or took"
        " too long."
        " Nothing is wrong with your account: begin again."
    ),
    "a sign-in that was not begun here, or is over",
    400,
)


def _over() -> _Failed:
    return _OVER._replace(title=gettext(_OVER.title), text=gettext(_OVER.text))


def _away() -> _Failed:
    text = gettext("Nobody can sign in that way until it does. Sessions that are open go on.")
    title = gettext("{capitalize} does not answer").format(capitalize=_name().capitalize())
    return _Failed(title, text, "the provider does not answer", 502)


def _unproved() -> _Failed:
    text = gettext(
        "What it sent does not prove who you are; the server's log says what is wrong with it."
    )
    return _Failed(
        gettext("{capitalize} did not sign you in").format(capitalize=_name().capitalize()),
        text,
        "what the provider sent proves nothing",
    )


def _refused_there() -> _Failed:
    text = gettext("You ended it there, or may not use this cluster by what is set there.")
    return _Failed(
        gettext("{capitalize} did not sign you in").format(capitalize=_name().capitalize()),
        text,
        "refused by the provider",
    )


def _guarded(
    view: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """A view whose ways to fail each have a page."""

    @require_safe
    def answered(request: HttpRequest) -> HttpResponseBase:
        try:
            return view(request)
        except _NotSignedIn as error:
            why = error.why
        except SuspiciousOperation:
            why = _over()
        except IssuerUnreachable as error:
            _LOG.warning("action=ask_provider away=%s", error)
            why = _away()
        except LoginRefused as error:
            _LOG.warning("action=sign_in_by_provider refused=%s", error)
            why = _unproved()
        except AccountRefused as error:
            why = _Failed(gettext("Not signed in"), str(error), "no account here for who came")
        note_provider_refused(request, why.reason)
        return _page(request, why)

    return answered


@_guarded
def to_provider(request: HttpRequest) -> HttpResponseBase:
    """GET /login/provider/: off to the provider."""
    if request.user.is_authenticated:
        return redirect(_next(request))
    # Where nobody comes back, the session is soon collected.
    request.session.set_expiry(_UNDER_WAY)
    answer: HttpResponseBase = _To.as_view()(request)
    return answer


@_guarded
def back(request: HttpRequest) -> HttpResponseBase:
    """GET /login/provider/back: with a code that is exchanged for an account, or without."""
    states = request.session.get(_STATES) or {}
    if request.GET.get("state") not in states or request.user.is_authenticated:
        raise _NotSignedIn(_over())
    if "code" not in request.GET:
        del states[request.GET["state"]]
        request.session[_STATES] = states
        raise _NotSignedIn(_refused_there())
    answer: HttpResponseBase = _Back.as_view()(request)
    return answer


@_guarded
def leave(request: HttpRequest) -> HttpResponseBase:
    """GET /login/provider/leave: to the provider's own end of its session."""
    end = the_provider().end_session_endpoint
    if not end:
        text = gettext("It offers no address for that: close its session on its own pages.")
        title = gettext("{capitalize} keeps its session").format(capitalize=_name().capitalize())
        return _page(request, _Failed(title, text, "", 404))
    fields = {
        "client_id": settings.BIVOUAC_OIDC_CLIENT_ID,
        "post_logout_redirect_uri": f"{settings.BIVOUAC_PUBLIC_URL}{settings.LOGIN_URL}",
    }
    return redirect(f"{end}{'&' if '?' in end else '?'}{urlencode(fields)}")


def _setting(name: str, *default: Any) -> Any:
    """What the library asks for by its own names."""
    match name:
        case "OIDC_OP_AUTHORIZATION_ENDPOINT":
            return the_provider().authorization_endpoint
        case "OIDC_RP_CLIENT_ID":
            return settings.BIVOUAC_OIDC_CLIENT_ID
        case "OIDC_RP_SCOPES":
            return " ".join(dict.fromkeys(("openid", *provider_config().oidc_scopes)))
        case "OIDC_USE_PKCE":
            return True
        case "OIDC_AUTHENTICATION_CALLBACK_URL":
            return "provider-back"
        case "OIDC_AUTH_REQUEST_EXTRA_PARAMS":
            # Behind a proxy the request does not know by which address browsers reach us.
            return {"redirect_uri": back_address()}
    return getattr(settings, name, *default)


class _To(OIDCAuthenticationRequestView):  # type: ignore[misc] # the library has no types
    get_settings = staticmethod(_setting)


class _Back(OIDCAuthenticationCallbackView):  # type: ignore[misc] # the library has no types
    get_settings = staticmethod(_setting)

    def login_success(self) -> HttpResponse:
        """In: until the provider is to be asked again."""
        answer: HttpResponse = super().login_success()
        self.request.session.set_expiry(round(settings.BIVOUAC_OIDC_SESSION_HOURS * 3600))
        _tell_of_groups(self.request)
        return answer

    def login_failure(self) -> HttpResponse:
        """Only the throttle comes here: all other ways to fail are exceptions."""
        raise _NotSignedIn(
            _Failed(
                gettext("Too many wrong tries"),
                gettext("From your address too many sign-ins failed. Wait a few minutes."),
                "too many wrong tries",
                429,
            )
        )


def _tell_of_groups(request: HttpRequest) -> None:
    """Who is in no group learns what the provider said, which is what has to be changed."""
    if person_of(request.user).has_a_group:
        return
    told: tuple[str, ...] = request.entrance.told  # type: ignore[attr-defined] # by the backend
    named = one_of(told[:_MOST_NAMED], "and") if told else ""
    said = (
        gettext("names you in {named}, none of which is a group here").format(named=named)
        if named
        else gettext("names no group")
    )
    messages.warning(request, f"{_name().capitalize()} {said}.")


def _next(request: HttpRequest) -> str:
    wanted = request.GET.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(wanted, {request.get_host()})
    return wanted if is_ours else str(settings.LOGIN_REDIRECT_URL)


def _name() -> str:
    return str(settings.BIVOUAC_OIDC_NAME)


def _page(request: HttpRequest, why: _Failed) -> HttpResponse:
    context = {
        "why": why,
        "ask": whom_to_ask(),
        "again": f"{settings.BIVOUAC_PUBLIC_URL}{settings.LOGIN_URL}",
    }
    return render(request, "dashboard/provider_failed.html", context, status=why.status)
