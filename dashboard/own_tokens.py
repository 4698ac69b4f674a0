"""Tokens that people make for themselves: with some of their own policies, for a time.

In: an account and what it asks for. Out: a token with at most the rights of its maker, or a
refusal. Fewer policies may grant more than all of them together, so this is asked, not assumed.
"""

from collections.abc import Collection
from typing import Any
from weakref import WeakKeyDictionary

from django.contrib.auth import get_user_model
from django.db import DEFAULT_DB_ALIAS
from msgspec.structs import replace

from cluster.operations.acl_tokens import TokenMade, create_token, delete_tokens, token_limits
from cluster.operations.errors import NotFound, OperationRefused
from cluster.store.access import StoreAccess
from dashboard.models import MANAGEMENT, OwnToken
from dashboard.people import Person, person_of, person_with, stored_grants
from scheduler.access.access import MANAGEMENT as EVERYTHING
from scheduler.access.access import NOBODY, Access
from scheduler.access.caller import Caller
from scheduler.access.within import is_within
from scheduler.ports import IDSource
from scheduler.structs.acl_token import AclToken, TokenType

_SECOND = 1_000_000_000
_MOST_KEPT = 16_384
#: By accessor, the key of the account that made a token; None: nobody did. It never changes, for a
#: secret is shown once its token has a maker; where the account is gone it finds nobody.
_makers: WeakKeyDictionary[StoreAccess, dict[str, tuple[int | None] | None]] = WeakKeyDictionary()
#: What is offered, in seconds; what the settings do not allow is left out.
_SPANS = (3600, 8 * 3600, 24 * 3600, 7 * 86_400, 30 * 86_400, 90 * 86_400)


def spans() -> list[int]:
    """How long a token may live, ns: what is offered, and always the longest that is allowed."""
    limits = token_limits()
    offered = [
        span * _SECOND for span in _SPANS if limits.shortest <= span * _SECOND < limits.longest
    ]
    return [*offered, limits.longest]


def own_policies(person: Person) -> list[str]:
    """The policies somebody may hand on."""
    return sorted({grant.name for grant in person.grants})


def make_own_token(
    store: StoreAccess,
    user: Any,
    asked: AclToken,
    *,
    by: Caller,
    now: int,
    ids: IDSource,
) -> TokenMade:
    """A token of the account, whose secret is shown once. Raises OperationRefused."""
    person = person_of(user)
    if not asked.expiration_ttl:
        raise OperationRefused("a token of your own ends after a time: choose one")
    if not asked.name:
        raise OperationRefused("a token needs a name: say what it is for")
    if asked.type == TokenType.MANAGEMENT:
        if not person.is_management:
            raise OperationRefused("only who may do everything makes a token for everything")
    else:
        _check(person, asked.policies)
    # What it may do was asked above, so the right to make tokens is not.
    proved = replace(by, access=EVERYTHING)
    made = create_token(store, asked, by=proved, now=now, ids=ids)
    OwnToken.objects.create(accessor_id=made.token.accessor_id, user=user)
    return made


def revoke_own_token(
    store: StoreAccess, user: Any, accessor_id: str, *, by: Caller, now: int
) -> None:
    """Take back a token of the account, and of no other. Raises OperationRefused."""
    rows = OwnToken.objects.filter(accessor_id=accessor_id, user=user)
    if not rows.exists():
        raise NotFound("you have no such token")
    # It is theirs, so the right to take tokens back is not asked for.
    delete_tokens(store, [accessor_id], by=replace(by, access=EVERYTHING), now=now)
    rows.delete()


def _check(person: Person, names: Collection[str]) -> None:
    if not names:
        raise OperationRefused("choose at least one policy")
    grants = stored_grants(names)
    missing = sorted(set(names) - {grant.name for grant in grants})
    if missing or MANAGEMENT in names:
        raise OperationRefused(f"there is no policy {', '.join(missing)}")
    foreign = sorted(set(names) - set(own_policies(person)))
    if foreign and not person.is_management:
        raise OperationRefused(f"you do not have the policy {', '.join(foreign)}")
    if not is_within(person_with(grants).access, person.access):
        raise OperationRefused(
            "these policies alone would grant more than you may: a policy that you left out"
            " takes something away"
        )


def access_of_maker(store: StoreAccess, accessor_id: str) -> Access | None:
    """What the maker of a token may do now; None for one that nobody made for themselves."""
    if store.alias != DEFAULT_DB_ALIAS:
        # Another record, which people have no accounts in.
        return None
    known = _makers.setdefault(store, {})
    if accessor_id not in known:
        if len(known) >= _MOST_KEPT:
            known.clear()
        rows = OwnToken.objects.filter(pk=accessor_id).values_list("user_id")
        found: tuple[int | None] | None = rows.first()
        if found == (None,):
            # Not kept: an older record may have the account again.
            return NOBODY
        known[accessor_id] = found
    maker = known[accessor_id]
    if maker is None:
        return None
    user = get_user_model().objects.filter(pk=maker[0] or 0).first()
    return NOBODY if user is None else person_of(user).access


def makers() -> dict[str, int | None]:
    """By accessor, the key of the account that made a token for itself; None: it is deleted."""
    return dict(OwnToken.objects.values_list("accessor_id", "user_id"))


def owners() -> dict[str, str]:
    """By accessor, the name of the account that made a token for itself."""
    rows = OwnToken.objects.select_related("user")
    return {
        row.accessor_id: row.user.get_username() if row.user else "a deleted account"
        for row in rows
    }


def accessors_of(user: Any) -> list[str]:
    """The tokens that an account made for itself, of which some may be gone."""
    return list(OwnToken.objects.filter(user=user).values_list("accessor_id", flat=True))
