"""Write and delete roles.

In: a store and a role. Out: the role as it is stored, or `OperationRefused`.
"""

from msgspec.structs import replace

from cluster.jobspec.problems import error_text
from cluster.operations.acl_policies import LONGEST_DESCRIPTION, NAME
from cluster.operations.errors import OperationRefused
from cluster.operations.rights import require_management
from scheduler.access.caller import Caller
from scheduler.ports import Change, IDSource, StateStore
from scheduler.state.nouns import ACL_POLICIES, ACL_ROLES
from scheduler.structs.acl_token import AclRole

NO_ROLE = "ACL role not found"


def put_role(
    store: StateStore, role: AclRole, *, by: Caller, now: int, ids: IDSource
) -> tuple[int, AclRole]:
    """Create the role, or replace the one of its id; the index of the write, and the role."""
    require_management(by)
    problems = _problems(role)
    if problems:
        raise OperationRefused(f"role 0 invalid: {error_text(problems)}")
    wanted = replace(
        role,
        id=role.id or ids.next_id(),
        policies=tuple({link.name: link for link in role.policies}.values()),
    )

    def work(change: Change) -> AclRole:
        stored = change.get(ACL_ROLES, wanted.id)
        if role.id and stored is None:
            raise OperationRefused(f"cannot find role {role.id}")
        for other in change.list_by(ACL_ROLES, "name", wanted.name):
            if other.id != wanted.id:
                raise OperationRefused(f"role with name {wanted.name} already exists")
        for link in wanted.policies:
            if change.get(ACL_POLICIES, link.name) is None:
                raise OperationRefused(f"cannot find policy {link.name}")
        created = change.index if stored is None else stored.create_index
        put = replace(wanted, create_index=created, modify_index=change.index)
        change.put(ACL_ROLES, put)
        return put

    return store.write(ACL_ROLES.upserted, work, now=now, by=by)


def delete_role(store: StateStore, role_id: str, *, by: Caller, now: int) -> int:
    """Delete a role; the index of the write. Tokens go on naming it, and have nothing of it."""
    require_management(by)

    def work(change: Change) -> None:
        if change.get(ACL_ROLES, role_id) is None:
            raise OperationRefused(NO_ROLE)
        change.delete(ACL_ROLES, role_id)

    return store.write(ACL_ROLES.deleted, work, now=now, by=by)[0]


def _problems(role: AclRole) -> list[str]:
    problems = []
    if not NAME.fullmatch(role.name):
        problems.append(f"invalid name '{role.name}'")
    if len(role.description) > LONGEST_DESCRIPTION:
        problems.append(f"description longer than {LONGEST_DESCRIPTION}")
    if not role.policies:
        problems.append("at least one policy should be specified")
    return problems
