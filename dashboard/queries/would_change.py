"""Who would lose or gain if a policy or a role were saved as it is typed.

In: a reader, and a policy or a role in place of the stored one. Out: the context of
`_would_change.html`. Every account and token is asked what its compiled rights would be. Managers,
whom no policy changes, are left out, and so are tasks, which bear rights only while they run.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from django.contrib.auth import get_user_model
from django.utils.translation import gettext

from cluster.operations.policy_rights import ANONYMOUS_POLICY, access_by_texts
from cluster.store.ports import RecordReader
from dashboard.access_changes import AccessChange, access_change
from dashboard.own_tokens import makers
from dashboard.people import people_of
from dashboard.queries.rights_told import VERBS
from dashboard.wording import count_of, one_of
from scheduler.access.access import NOBODY, Access
from scheduler.access.within import is_within
from scheduler.state.nouns import ACL_POLICIES, ACL_ROLES, ACL_TOKENS, NAMESPACES
from scheduler.structs.acl_policy import AclPolicy
from scheduler.structs.acl_token import AclRole, AclToken

#: Rows that are shown; what is beyond is counted.
MOST_SHOWN = 100


class BearerChange(NamedTuple):
    """A row: whose rights change, and how."""

    kind: str
    name: str
    change: AccessChange


class _Rules(NamedTuple):
    """Policies and roles as they are, or as they would be."""

    policies: Mapping[str, AclPolicy]
    roles: Mapping[str, AclRole]

    def access(self, policies: Iterable[str], roles: Iterable[str] = ()) -> Access:
        """What these policies, and those of these roles, give together."""
        names = [*policies]
        for role_id in roles:
            role = self.roles.get(role_id)
            names += [link.name for link in role.policies] if role is not None else []
        return access_by_texts(
            self.policies[name].rules for name in names if name in self.policies
        )


def would_change(
    reader: RecordReader,
    now: int,
    *,
    policy: AclPolicy | None = None,
    role: AclRole | None = None,
) -> dict[str, Any]:
    """The context: what changes for whom once the policy or the role is saved so."""
    now_policies = {each.name: each for each in reader.list_all(ACL_POLICIES)}
    now_roles = {each.id: each for each in reader.list_all(ACL_ROLES)}
    before = _Rules(now_policies, now_roles)
    after = _Rules(
        now_policies | ({policy.name: policy} if policy else {}),
        now_roles | ({role.id: role} if role else {}),
    )
    instead = {policy.name: policy} if policy else {}
    namespaces = [each.name for each in reader.list_all(NAMESPACES)]
    rows = [
        BearerChange(kind, name, change)
        for kind, name, old, new in _bearers(reader, now, before, after, instead)
        if any(change := access_change(old, new, namespaces, VERBS))
    ]
    rows.sort(key=lambda row: (not row.change.lost, row.kind != "person", row.name))
    return {
        "changes": rows[:MOST_SHOWN],
        "changes_more": max(0, len(rows) - MOST_SHOWN),
        "changes_told": _told(rows),
        "is_looked_at": True,
    }


def _bearers(
    reader: RecordReader,
    at: int,
    before: _Rules,
    after: _Rules,
    instead: Mapping[str, AclPolicy],
) -> Iterator[tuple[str, str, Access, Access]]:
    """Kind, name, and what may be done before and after, of everybody but managers."""
    users = list(get_user_model().objects.filter(is_active=True))
    now, then = people_of(users), people_of(users, instead)
    for user in users:
        if not now[user.pk].is_management:
            yield "person", user.get_username(), now[user.pk].access, then[user.pk].access
    made_by = makers()
    for token in reader.list_all(ACL_TOKENS):
        if token.is_management or token.is_expired(at):
            continue
        old, new = _of_token(before, token), _of_token(after, token)
        if token.accessor_id in made_by:
            maker = made_by[token.accessor_id] or 0
            old = _bounded(old, now[maker].access if maker in now else NOBODY)
            new = _bounded(new, then[maker].access if maker in then else NOBODY)
        yield "token", token.name or token.accessor_id[:8], old, new
    nobody = gettext("whoever shows no token")
    old, new = (rules.access([ANONYMOUS_POLICY]) for rules in (before, after))
    yield "nobody", nobody, old, new


def _of_token(rules: _Rules, token: AclToken) -> Access:
    return rules.access(token.policies, (link.id for link in token.roles))


def _bounded(access: Access, maker: Access) -> Access:
    """A token that somebody made for themselves does nothing that they may not."""
    return access if is_within(access, maker) else NOBODY


def _told(rows: list[BearerChange]) -> str:
    losing = [row for row in rows if row.change.lost]
    gaining = [row for row in rows if row.change.gained]
    if not rows:
        return gettext("Nobody would lose or gain anything.")
    return gettext("{losing} would lose, {gaining} would gain.").format(
        losing=_counted(losing), gaining=_counted(gaining)
    )


def _counted(rows: list[BearerChange]) -> str:
    people = sum(row.kind == "person" for row in rows)
    tokens = sum(row.kind == "token" for row in rows)
    parts = [
        count_of(people, "{count} person", "{count} people") if people else "",
        count_of(tokens, "{count} token", "{count} tokens") if tokens else "",
        *(row.name for row in rows if row.kind == "nobody"),
    ]
    found = [part for part in parts if part]
    return one_of(found, "and") if found else gettext("nobody")
