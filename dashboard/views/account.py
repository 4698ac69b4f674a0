"""The own account: what one may do, where one is signed in, the password.

In: forms of whoever is signed in, about that account alone. Out: the page, or the way back to it.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async
from django import forms
from django.contrib import messages
from django.contrib.auth import authenticate, update_session_auth_hash
from django.contrib.auth.forms import SetPasswordForm
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext, gettext_lazy

from cluster.store.access import the_store
from cluster.store.audit import AuditFilter, read_audit
from dashboard.acts import note_own_act
from dashboard.page import action, page, shown
from dashboard.provider_people import is_of_provider
from dashboard.queries.account import account_page
from dashboard.sign_ins import end_others, end_sign_in
from dashboard.throttle import wait_of
from dashboard.viewer import Viewer
from dashboard.wording import count_of

_TEMPLATE = "dashboard/account.html"
#: Of what somebody did, the newest acts that are shown.
_ACTS_SHOWN = 8


if TYPE_CHECKING:
    _SetPasswordForm = SetPasswordForm[Any]
else:
    _SetPasswordForm = SetPasswordForm


class OwnPasswordForm(_SetPasswordForm):
    """A new password; whoever has one already gives it as well, as slowly as signing in."""

    old_password = forms.CharField(
        label=gettext_lazy("Password now"), strip=False, widget=forms.PasswordInput, required=False
    )

    def __init__(self, request: HttpRequest, data: Any = None) -> None:
        super().__init__(request.user, data)
        self._request = request
        self.fields["new_password2"].label = gettext("Once more")
        self.asks_for_old = bool(self.user.has_usable_password())
        self.is_elsewhere = is_of_provider(self.user)

    def clean(self) -> dict[str, Any]:
        """Refuses accounts that a provider signs in: it must be able to shut them out."""
        if self.is_elsewhere:
            raise ValidationError(gettext("You sign in by a provider: your password is there."))
        return super().clean() or {}

    def clean_old_password(self) -> str:
        """Whether it is the right one."""
        given = str(self.cleaned_data["old_password"])
        if not self.asks_for_old:
            return given
        name = self.user.get_username()
        if authenticate(self._request, username=name, password=given) is not None:
            return given
        if wait_of(self._request, name):
            raise ValidationError(gettext("Too many wrong tries. Wait a little."))
        raise ValidationError(gettext("This is not your password."))


@page
async def account(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /account/."""
    return await shown_account(request, viewer)


@action
async def change_password(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /account/password/: and end every other session."""

    def changed() -> OwnPasswordForm | int:
        form = OwnPasswordForm(request, request.POST)
        if not form.is_valid():
            return form
        user = form.save()
        # The session goes on under another key, and is the only one whose hash still fits.
        update_session_auth_hash(request, user)
        return end_others(user.pk, request.session.session_key or "")

    done = await sync_to_async(changed)()
    if isinstance(done, OwnPasswordForm):
        return await shown_account(request, viewer, password=done, http_status=400)
    note_own_act(request, "change the password")
    ended = (
        gettext(" {other} ended.").format(
            other=count_of(done, "{count} other session", "{count} other sessions")
        )
        if done
        else ""
    )
    messages.success(request, gettext("The password is changed.{ended}").format(ended=ended))
    return redirect("/account/")


@action
async def end_session(request: HttpRequest, _viewer: Viewer) -> HttpResponseBase:
    """POST /account/sessions/end/: the one named."""
    asked = request.POST.get("session", "")
    if await sync_to_async(end_sign_in)(id_of(request), asked):
        note_own_act(request, "end a session")
        messages.success(request, gettext("The session is ended."))
    else:
        messages.error(request, gettext("Nothing was changed: the session is over already."))
    return redirect("/account/")


@action
async def end_sessions(request: HttpRequest, _viewer: Viewer) -> HttpResponseBase:
    """POST /account/sessions/end-others/: all but this one."""
    ended = await sync_to_async(end_others)(id_of(request), request.session.session_key or "")
    if ended:
        note_own_act(request, "end all other sessions")
    messages.success(
        request,
        gettext("{other} ended.").format(
            other=count_of(ended, "{count} other session", "{count} other sessions")
        ),
    )
    return redirect("/account/")


async def shown_account(
    request: HttpRequest, viewer: Viewer, *, password: OwnPasswordForm | None = None, **extra: Any
) -> HttpResponse:
    """The page; `extra` is what a form that was sent adds to it."""
    password = password or await sync_to_async(OwnPasswordForm)(request)
    own = AuditFilter(person=str(id_of(request)))
    acts = await the_store().aread_call(read_audit, own, limit=_ACTS_SHOWN)
    context = {"password": password, **extra}
    query = partial(
        account_page,
        user=request.user,
        session_key=request.session.session_key or "",
        acts=acts,
        extra=context,
    )
    return await shown(request, viewer, _TEMPLATE, query)


def id_of(request: HttpRequest) -> int:
    """The number of the account that asks."""
    user_id = request.user.pk
    assert user_id is not None, "pages are for people who are signed in"
    return int(user_id)
