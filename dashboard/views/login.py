"""Coming in and going out: a password form, links that sign in once, signing out."""

import math

from django.contrib.auth import get_user_model, login
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from cluster.store.access import the_store
from cluster.store.tokens import use_login
from dashboard.acts import note_link_refused
from dashboard.throttle import wait_of

#: For users without a password, whom no other backend has looked at.
_BACKEND = "django.contrib.auth.backends.ModelBackend"


class SignInForm(AuthenticationForm):
    """Name and password; says how long to wait after too many wrong ones."""

    def get_invalid_login_error(self) -> ValidationError:
        """Why nobody was signed in."""
        wait = _wait(self)
        if not wait:
            return super().get_invalid_login_error()
        return ValidationError(f"Too many wrong tries. Try again in {wait} s.", code="throttled")


class SignIn(LoginView):
    """The form, and 429 while its tries are not looked at."""

    template_name = "dashboard/login.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

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


sign_in = SignIn.as_view()
sign_out = LogoutView.as_view()


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
