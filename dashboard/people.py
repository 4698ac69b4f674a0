"""What a signed-in account may do: the policies of its groups, compiled into one `Access`.

In: a user of Django's. Out: a `Person`. One read, which also finds groups changed a moment ago;
what a policy says is compiled once. A superuser and a group with `*` may do everything, an account
that is inactive nothing.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db.models import OuterRef, Q, QuerySet, Subquery

from cluster.models import AclPolicyRow
from cluster.policies.read import read_stored_policy
from dashboard.models import MANAGEMENT, OPENS
from dashboard.wording import one_of
from scheduler.access.access import MANAGEMENT as EVERYTHING
from scheduler.access.access import NOBODY, Access, access_of
from scheduler.access.caller import Caller, CallerKind
from scheduler.access.rules import NamespaceRule, PolicyRules, expanded
from scheduler.state.nouns import ACL_POLICIES
from scheduler.structs.acl_policy import AclPolicy

#: Administrators who are named to somebody who needs a right.
MOST_NAMED = 4
#: What a group named `namespace:<name>` grants there, beside the level.
_OPENED = ("read-logs", "read-fs")


class GroupGrant(NamedTuple):
    """That a group has a policy; `policy` is None for one that is not stored."""

    group: str
    name: str
    policy: AclPolicy | None

    @property
    def rules(self) -> PolicyRules:
        """What it says; nothing where it is not stored."""
        return PolicyRules() if self.policy is None else _rules(self.policy.rules)


class Person(NamedTuple):
    """Rights, and where they come from. Equal ones have the same rights."""

    is_management: bool
    grants: frozenset[GroupGrant]
    groups: frozenset[str]

    @property
    def access(self) -> Access:
        """The rights, compiled."""
        if self.is_management:
            return EVERYTHING
        return _compiled(self.grants, self.groups)

    @property
    def has_a_group(self) -> bool:
        """Whether anybody has given this account anything yet."""
        return self.is_management or bool(self.groups)


#: The name of a group, and what its people may do.
PersonOfGroup = tuple[str, Person]

UNKNOWN = Person(is_management=False, grants=frozenset(), groups=frozenset())
SUPERUSER = Person(is_management=True, grants=frozenset(), groups=frozenset())


def person_of(user: Any) -> Person:
    """The rights of an account now. Reads the database once; nothing for a superuser."""
    if not getattr(user, "is_authenticated", False) or not user.is_active:
        return UNKNOWN
    if user.is_superuser:
        return SUPERUSER
    return person_with(grants_of(Group.objects.filter(user=user)))


def caller_of(user: Any, person: Person, address: str = "") -> Caller:
    """A signed-in account as operations know one."""
    return Caller(
        kind=CallerKind.PERSON,
        id=str(user.pk),
        name=user.get_username(),
        address=address,
        access=person.access,
    )


def people_of(
    users: Collection[Any], instead: Mapping[str, AclPolicy] = MappingProxyType({})
) -> dict[int, Person]:
    """By their ids, the rights of several active accounts, in one read.

    `instead`: policies by name, in place of those that are stored.
    """
    held: dict[int, list[GroupGrant]] = {user.pk: [] for user in users}
    for user_id, grant in _grants(Group.objects.filter(user__in=list(held)), "user"):
        policy = instead.get(grant.name, grant.policy)
        held[user_id].append(grant._replace(policy=policy))
    return {
        user.pk: SUPERUSER if user.is_superuser else person_with(held[user.pk]) for user in users
    }


def grants_of(groups: QuerySet[Group]) -> list[GroupGrant]:
    """The policies of these groups; a group without one is told with an empty name."""
    return [grant for _, grant in _grants(groups, "pk")]


def stored_grants(names: Collection[str]) -> list[GroupGrant]:
    """Those of these policies that are stored, of no group."""
    rows = AclPolicyRow.objects.filter(name__in=names).values_list("name", "body")
    return [GroupGrant("", name, _decoded(bytes(body))) for name, body in rows]


def people_of_groups() -> list[PersonOfGroup]:
    """What somebody in each group alone may do, by the groups' names; one read."""
    held: dict[str, list[GroupGrant]] = {}
    for grant in grants_of(Group.objects.all()):
        held.setdefault(grant.group, []).append(grant)
    return [(name, person_with(held[name])) for name in sorted(held)]


def groups_with(holds: Callable[[Access], bool]) -> list[str]:
    """The names of the groups whose people have a right, by a question to their `Access`."""
    return [name for name, person in people_of_groups() if holds(person.access)]


def groups_by_policy() -> dict[str, tuple[str, ...]]:
    """By the name of a policy, the groups that have it."""
    found: dict[str, list[str]] = {}
    for grant in grants_of(Group.objects.exclude(policies=None).order_by("name")):
        found.setdefault(grant.name, []).append(grant.group)
    return {name: tuple(groups) for name, groups in found.items()}


def whom_to_ask() -> str:
    """Who gives rights: what the setting says, else a few administrators by name; "" for none."""
    if settings.BIVOUAC_ACCESS_CONTACT:
        return str(settings.BIVOUAC_ACCESS_CONTACT)
    names = _administrators()
    return one_of(names) if names else ""


def _administrators() -> list[str]:
    users = get_user_model().objects.filter(is_active=True)
    mighty = Q(is_superuser=True) | Q(groups__policies__policy=MANAGEMENT)
    names = users.filter(mighty).order_by("username").values_list("username", flat=True)
    return list(names.distinct()[:MOST_NAMED])


def _grants(groups: QuerySet[Group], of: str) -> list[tuple[int, GroupGrant]]:
    body = AclPolicyRow.objects.filter(name=OuterRef("policies__policy")).values("body")[:1]
    rows = groups.annotate(body=Subquery(body)).values_list(of, "name", "policies__policy", "body")
    return [
        (key, GroupGrant(name, policy or "", _decoded(bytes(body)) if body else None))
        for key, name, policy, body in rows
    ]


def person_with(grants: Iterable[GroupGrant]) -> Person:
    """Who has these policies and no others."""
    held = frozenset(grants)
    return Person(
        is_management=any(grant.name == MANAGEMENT for grant in held),
        grants=frozenset(grant for grant in held if grant.policy is not None),
        groups=frozenset(grant.group for grant in held),
    )


@lru_cache(maxsize=1024)
def _decoded(body: bytes) -> AclPolicy:
    return ACL_POLICIES.decode(body)


@lru_cache(maxsize=1024)
def _rules(text: str) -> PolicyRules:
    return read_stored_policy(text)


@lru_cache(maxsize=1024)
def _compiled(grants: frozenset[GroupGrant], groups: frozenset[str]) -> Access:
    policies = [grant.rules for grant in sorted(grants, key=lambda each: each[:2])]
    granted = access_of(policies) if policies else NOBODY
    # A rule of the very name speaks before any glob: it must not narrow what a policy grants.
    opened = [
        name
        for name in sorted(
            group.removeprefix(OPENS) for group in groups if group.startswith(OPENS)
        )
        if not granted.allows(name, "read-job")
    ]
    if not opened:
        return granted
    return access_of([*policies, PolicyRules(namespaces=tuple(map(_opened, opened)))])


def _opened(namespace: str) -> NamespaceRule:
    return NamespaceRule(
        name=namespace, policy="read", capabilities=expanded("namespace", "read", _OPENED)
    )
