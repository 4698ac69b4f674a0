"""Coming in and going out: a password form, links that sign in once, signing out."""

import math
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, get_user_model, login
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from cluster.store.access import the_store
from cluster.store.tokens import use_login
from dashboard.acts import note_link_refused
from dashboard.provider_sign_in import ProviderBackend, is_on
from dashboard.throttle import wait_of

#: For users without a password, whom no other backend has looked at.
_PROVIDER_BACKEND = f"{ProviderBackend.__module__}.{ProviderBackend.__qualname__}"
_BACKEND = "django.contrib.auth.backends.ModelBackend"


class SignInForm(AuthenticationForm):
    """Name and password; says how long to wait after too many wrong ones."""

    def get_invalid_login_error(self) -> ValidationError:
        """Why nobody was signed in."""
        wait = _wait(self)
        if not wait:
            return super().get_invalid_login_error()
        return ValidationError(
            gettext("Too many wrong tries. Try again in {wait} s.").format(wait=wait),
            code="throttled",
        )


class SignIn(LoginView):
    """The form, and 429 while its tries are not looked at."""

    template_name = "dashboard/login.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """With the provider that signs people in as well, where there is one."""
        provider = settings.BIVOUAC_OIDC_NAME if is_on() else ""
        return super().get_context_data(
            **kwargs, provider=provider, has_left="left" in self.request.GET
        )

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        """The form again."""
        response = super().form_invalid(form)
        if wait := _wait(form):
            response.status_code = 429
            response["Retry-After"] = str(wait)
        return response


def _wait(form: AuthenticationForm) -> int:
    assert form.request is not None, "the view hands it over"
    return math.ceil(wait_of(form.request, str(form.data.get("username", ""))))


class SignOut(LogoutView):
    """The end of a session; who came by a provider is told that it may still know them."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Out, and to the form again."""
        came_by = request.session.get(BACKEND_SESSION_KEY)
        response = super().post(request, *args, **kwargs)
        return redirect("/login/?left") if came_by == _PROVIDER_BACKEND else response


sign_in = SignIn.as_view()
sign_out = SignOut.as_view()


@require_safe
def sign_in_once(request: HttpRequest, secret: str) -> HttpResponse:
    """Sign the link's user in, if nobody used it before; a new session either way."""
    now = request.clock.now()  # type: ignore[attr-defined]  # set by request_context
    user_id = use_login(the_store(), secret, now=now) if request.method == "GET" else None
    users = get_user_model().objects.filter(is_active=True)
    user = users.filter(pk=user_id).first() if user_id is not None else None
    if user is None:
        note_link_refused(request)
        return render(request, "dashboard/login_link_used.html", status=410)
    login(request, user, backend=_BACKEND)
    return redirect("/")
