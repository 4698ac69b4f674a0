"""What a bearer may do: the policies a token has itself and by its roles, made into an `Access`.

In: a store and a secret. Out: rights as they are now. What was compiled is kept until a policy or
a role is written, so that a change is felt by the next request.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from cluster.operations.policy_rights import ANONYMOUS_POLICY, access_by_policies
from cluster.store.access import StoreAccess
from cluster.store.tokens import RightsVersion, find_token, rights_version
from scheduler.access.access import MANAGEMENT, NOBODY, Access
from scheduler.access.within import is_within
from scheduler.ports import StateReader
from scheduler.state.nouns import ACL_POLICIES, ACL_ROLES
from scheduler.structs.acl_token import AclRole, AclToken

#: Sets of policies and roles kept compiled.
_MOST_KEPT = 4096

Makers: TypeAlias = Callable[[StoreAccess, str], Access | None]
_Names = tuple[tuple[str, ...], tuple[str, ...]]


class Bearer(NamedTuple):
    """A token somebody showed, and what it lets them do."""

    token: AclToken
    access: Access


class _Kept:
    """What was compiled under one version of policies and roles."""

    def __init__(self, version: RightsVersion) -> None:
        self.version = version
        self.by_names: dict[_Names, Access] = {}


#: Threads may both compile what is missing; the last one's result stays, and both are right.
_makers: list[Makers] = []
_kept: WeakKeyDictionary[StoreAccess, _Kept] = WeakKeyDictionary()


def bearer_of(store: StoreAccess, secret: str, *, now: int) -> Bearer | None:
    """Who shows a secret; None for an unknown or expired one."""
    found = find_token(store, secret)
    if found is None or found.token.is_expired(now):
        return None
    if found.token.is_management:
        return _bounded(store, found.token, MANAGEMENT)
    roles = tuple(link.id for link in found.token.roles)
    return _bounded(
        store, found.token, _compiled(store, (found.token.policies, roles), found.version)
    )


def bound_tokens_by(makers: Makers) -> None:
    """From now on, tokens that somebody made for themselves ask what their makers may do.

    By store and accessor; None for other tokens. Those above, who know people, say it once.
    """
    _makers[:] = [makers]


def _bounded(store: StoreAccess, token: AclToken, access: Access) -> Bearer:
    """With no right at all where the maker has fewer rights than the token."""
    for access_of_maker in _makers:
        limit = access_of_maker(store, token.accessor_id)
        if limit is not None and not is_within(access, limit):
            return Bearer(token, NOBODY)
    return Bearer(token, access)


def access_of_nobody(store: StoreAccess) -> Access:
    """What callers without a token may do: what the policy of that name says, if there is one."""
    return _compiled(store, ((ANONYMOUS_POLICY,), ()), rights_version(store))


def policies_of(reader: StateReader, token: AclToken) -> tuple[str, ...]:
    """The names of all policies of a token, its own before those of its roles, once each."""
    names = dict.fromkeys(token.policies)
    for role in roles_of(reader, token):
        names |= dict.fromkeys(link.name for link in role.policies)
    return tuple(names)


def roles_of(reader: StateReader, token: AclToken) -> list[AclRole]:
    """The roles of a token that are still there."""
    roles = (reader.get(ACL_ROLES, link.id) for link in token.roles)
    return [role for role in roles if role is not None]


def _compiled(store: StoreAccess, names: _Names, version: RightsVersion) -> Access:
    kept = _kept.get(store)
    if kept is None or kept.version != version:
        kept = _kept[store] = _Kept(version)
    access = kept.by_names.get(names)
    if access is None:
        access, of_version = store.read(lambda reader: _compile(reader, names))
        if of_version == version and len(kept.by_names) < _MOST_KEPT:
            kept.by_names[names] = access
    return access


def _compile(reader: StateReader, names: _Names) -> tuple[Access, RightsVersion]:
    policies, role_ids = names
    wanted = dict.fromkeys(policies)
    for role_id in role_ids:
        role = reader.get(ACL_ROLES, role_id)
        wanted |= dict.fromkeys(link.name for link in (role.policies if role else ()))
    version = RightsVersion(
        reader.table_index(ACL_POLICIES.table_index), reader.table_index(ACL_ROLES.table_index)
    )
    return access_by_policies(reader, wanted), version
