"""Changes of accounts and groups in the admin: told to the audit, with somebody left in charge.

In: a page of the admin that is sent a form. Out: its answer; or, where nobody would be left who
may do everything, a sentence, with all of it undone.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext, gettext_noop

from dashboard.acts import note_account_kept, note_admin_act
from dashboard.models import MANAGEMENT

if TYPE_CHECKING:
    _Admin = ModelAdmin[Any]
else:
    _Admin = object

_NOBODY_LEFT = gettext_noop(
    "Nothing was changed: nobody would be left who may do everything. Give somebody else the group"
    " of administrators first."
)


class _NobodyLeft(Exception):
    """Ends the transaction of a form."""


class _Known(NamedTuple):
    """What the audit tells of an account or a group."""

    name: str
    words: frozenset[str]
    #: Compared, never told: by what it is called.
    untold: dict[str, str]


class Watched(_Admin):
    """An admin whose forms change who may do what."""

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """The form of one row, new or not."""
        form = super().changeform_view
        return watched(request, lambda: form(request, *args, **kwargs))

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """The page that deletes one row."""
        page = super().delete_view
        return watched(request, lambda: page(request, *args, **kwargs))

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """The list, which can delete several."""
        page = super().changelist_view
        return watched(request, lambda: page(request, *args, **kwargs))


def watched(request: HttpRequest, view: Callable[[], HttpResponse]) -> HttpResponse:
    """The answer of a page of accounts or groups, once the audit knows what it changed."""
    if request.method != "POST":
        return view()
    before, was_somebody = _known(), _is_somebody_in_charge()
    try:
        with transaction.atomic():
            response = view()
            if was_somebody and not _is_somebody_in_charge():
                raise _NobodyLeft
    except _NobodyLeft:
        note_account_kept(request, "nobody would be left who may do everything")
        # Reading them forgets what was said of a success.
        list(messages.get_messages(request))
        messages.error(request, gettext(_NOBODY_LEFT))
        return HttpResponseRedirect(request.path)
    after = _known()
    for key in sorted({*before, *after}):
        for act, name, detail in _told(key[0], before.get(key), after.get(key)):
            note_admin_act(request, act, key[0], name, detail)
    return response


def _is_somebody_in_charge() -> bool:
    mighty = Q(is_superuser=True) | Q(groups__policies__policy=MANAGEMENT)
    return User.objects.filter(mighty, is_active=True).exists()


def _known() -> dict[tuple[str, int], _Known]:
    """By kind and key, every account and group."""
    found: dict[tuple[str, int], _Known] = {}
    for user in User.objects.prefetch_related("groups").select_related("provider_account"):
        provider = getattr(user, "provider_account", None)
        words = {f"group {group.name}" for group in user.groups.all()}
        words |= {"superuser"} if user.is_superuser else set()
        words |= set() if user.is_active else {"closed"}
        words |= {f"provider's {provider.subject}"} if provider is not None else set()
        details = f"{user.first_name}\n{user.last_name}\n{user.email}"
        untold = {"password": user.password, "details": details}
        found["account", user.pk] = _Known(user.get_username(), frozenset(words), untold)
    for group in Group.objects.prefetch_related("policies"):
        policies = {f"policy {each.policy}" for each in group.policies.all()}
        found["group", group.pk] = _Known(group.name, frozenset(policies), {})
    return found


def _told(
    kind: str, before: _Known | None, after: _Known | None
) -> Iterable[tuple[str, str, str]]:
    """What was done, to whom, and more about it."""
    if before is None and after is not None:
        yield f"create {kind}", after.name, _signed("+", after.words)
    elif before is not None and after is None:
        yield f"delete {kind}", before.name, _signed("-", before.words)
    elif before is not None and after is not None and before != after:
        changes = [
            f"renamed from {before.name}" if before.name != after.name else "",
            _signed("+", after.words - before.words),
            _signed("-", before.words - after.words),
            *(f"new {name}" for name, text in after.untold.items() if before.untold[name] != text),
        ]
        yield f"change {kind}", after.name, ", ".join(filter(None, changes))


def _signed(sign: str, words: Iterable[str]) -> str:
    return ", ".join(f"{sign}{word}" for word in sorted(words))
