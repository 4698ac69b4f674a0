"""Coming in and going out: a password form, links that sign in once, signing out."""

from django.contrib.auth import get_user_model, login
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from cluster.store.access import the_store
from cluster.store.tokens import use_login

#: For users without a password, whom no other backend has looked at.
_BACKEND = "django.contrib.auth.backends.ModelBackend"

sign_in = LoginView.as_view(template_name="dashboard/login.html", redirect_authenticated_user=True)
sign_out = LogoutView.as_view()


@require_safe
def sign_in_once(request: HttpRequest, secret: str) -> HttpResponse:
    """Sign the link's user in, if nobody used it before; a new session either way."""
    now = request.clock.now()  # type: ignore[attr-defined]  # set by request_context
    user_id = use_login(the_store(), secret, now=now) if request.method == "GET" else None
    users = get_user_model().objects.filter(is_active=True)
    user = users.filter(pk=user_id).first() if user_id is not None else None
    if user is None:
        return render(request, "dashboard/login_link_used.html", status=410)
    login(request, user, backend=_BACKEND)
    return redirect("/")
