"""Whose account it is that a provider signs in, and its groups as the provider says them.

In: proved claims. Out: an account, made at its first sign-in, whose groups follow the claim. An
account is known by issuer and subject; a name alone proves nothing, so that nobody gets an account
of ours by choosing its name there.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext

from cluster.logins.claims import found_claim
from dashboard.models import ProviderAccount

_NAME = re.compile(r"[\w.@+-]{1,150}\Z")
#: Further claims that may name an account, where the one of the settings does not.
_OTHER_NAMES = ("email", "sub")
_MOST_GROUPS = 500


class AccountRefused(Exception):
    """The provider knows who it is, and still nobody is signed in; the message is for people."""


class Entrance(NamedTuple):
    """An account that is signed in, and what its provider's claim did to its groups."""

    user: User
    #: As the provider calls them, those without a group of ours included.
    told: tuple[str, ...]
    given: tuple[str, ...]
    taken: tuple[str, ...]


def entrance_for(claims: Mapping[str, Any]) -> Entrance:
    """The account of these claims, with the groups they give. Raises AccountRefused."""
    try:
        return _entrance(claims)
    except IntegrityError:
        # Two first sign-ins at once: the other one made the account.
        return _entrance(claims)


def groups_told(claims: Mapping[str, Any]) -> tuple[str, ...]:
    """The groups that the claim names, once each; none for a claim of another shape."""
    found = found_claim(claims, settings.BIVOUAC_OIDC_GROUPS_CLAIM)
    items = found if isinstance(found, list) else [found]
    return tuple(dict.fromkeys(item for item in items if isinstance(item, str) and item))[
        :_MOST_GROUPS
    ]


def is_of_provider(user: Any) -> bool:
    """Whether an account is signed in by a provider, and so has no password here."""
    return ProviderAccount.objects.filter(user=user).exists()


@transaction.atomic
def _entrance(claims: Mapping[str, Any]) -> Entrance:
    known = _account_of(claims)
    if not known.user.is_active:
        raise AccountRefused(
            gettext("The account {get_username} is closed here.").format(
                get_username=known.user.get_username()
            )
        )
    told = groups_told(claims)
    wanted = set(Group.objects.filter(name__in=_ours(told)))
    held, given_before = set(known.user.groups.all()), set(known.groups.all())
    # What somebody gave here stays theirs to take.
    given, taken = wanted - held, (given_before - wanted) & held
    known.user.groups.add(*given)
    known.user.groups.remove(*taken)
    known.groups.set((given_before & wanted) | given)
    return Entrance(known.user, told, _names(given), _names(taken))


def _ours(told: tuple[str, ...]) -> set[str]:
    pairs: Mapping[str, tuple[str, ...]] = settings.BIVOUAC_OIDC_GROUPS
    if not pairs:
        return set(told)
    return {ours for theirs in told for ours in pairs.get(theirs, ())}


def _account_of(claims: Mapping[str, Any]) -> ProviderAccount:
    issuer, subject = str(claims["iss"]), str(claims["sub"])
    known = ProviderAccount.objects.select_related("user")
    found = known.filter(issuer=issuer, subject=subject).first()
    if found is not None:
        return found
    name = _name_in(claims)
    if get_user_model().objects.filter(username__iexact=name).exists():
        raise AccountRefused(
            gettext(
                "There is an account named {name} here already that your provider does "
                "not sign in."
            ).format(name=name)
        )
    email = claims.get("email")
    user = User.objects.create_user(name, email=email if isinstance(email, str) else "")
    return ProviderAccount.objects.create(user=user, issuer=issuer, subject=subject)


def _name_in(claims: Mapping[str, Any]) -> str:
    for source in (settings.BIVOUAC_OIDC_NAME_CLAIM, *_OTHER_NAMES):
        name = found_claim(claims, source)
        if isinstance(name, str) and _NAME.match(name):
            return name
    raise AccountRefused(gettext("Your provider calls you by no name that an account can have."))


def _names(groups: set[Group]) -> tuple[str, ...]:
    return tuple(sorted(group.name for group in groups))
