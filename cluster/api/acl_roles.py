"""Roles: list, read by id or name, write, delete (access.md 5)."""

from collections.abc import Callable
from typing import Any

from django.http import HttpResponse

from cluster.api.acl_callers import token_of
from cluster.api.blocking_read import answer_read
from cluster.api.body import Body
from cluster.api.encode import to_plain
from cluster.api.paging import BY_ID, page_of, read_listing
from cluster.api.request import Call
from cluster.api.respond import Found, answer_write, refusal
from cluster.api.watches import watch_table
from cluster.operations.acl_rights import roles_of
from cluster.operations.acl_roles import NO_ROLE, delete_role, put_role
from cluster.operations.errors import NotAllowed, OperationRefused
from cluster.operations.rights import require_management
from scheduler.ports import StateReader
from scheduler.state.nouns import ACL_ROLES
from scheduler.structs.acl_token import AclRole, PolicyLink, RoleLink

_MISSING_ID = "missing ACL role ID"
_TABLE = "acl_roles"


async def list_roles(call: Call) -> HttpResponse:
    """GET /v1/acl/roles: all of them for managers, their own for others."""
    listing = read_listing(call.query)

    def work(reader: StateReader) -> Found:
        page = page_of(
            (role for role in _visible(reader, call) if role.id.startswith(listing.prefix)),
            listing,
            BY_ID,
        )
        return Found(
            index=reader.table_index(_TABLE),
            body=[to_plain(role) for role in page.items],
            next_token=page.next_token,
        )

    return await answer_read(call, work, watch_table(_TABLE))


async def read_role(call: Call, role_id: str) -> HttpResponse:
    """GET /v1/acl/role/<id>."""
    if not role_id:
        raise OperationRefused(_MISSING_ID)

    def find(reader: StateReader) -> AclRole | None:
        return reader.get(ACL_ROLES, role_id)

    return await _answer_role(call, find, lambda link: link.id == role_id)


async def read_named_role(call: Call, name: str) -> HttpResponse:
    """GET /v1/acl/role/name/<name>."""
    if not name:
        raise OperationRefused("missing ACL role name")

    def find(reader: StateReader) -> AclRole | None:
        return next(iter(reader.list_by(ACL_ROLES, "name", name)), None)

    return await _answer_role(call, find, lambda link: link.name == name)


async def write_role(call: Call, role_id: str | None = None) -> HttpResponse:
    """PUT /v1/acl/role makes one, PUT /v1/acl/role/<id> replaces it."""
    require_management(call.caller)
    if role_id == "":
        raise OperationRefused(_MISSING_ID)
    body = call.body("ACLRole")
    if role_id is not None and body.text("ID") != role_id:
        raise OperationRefused("ACL role ID does not match request path")
    index, role = await call.write(put_role, _role_of(body))
    return answer_write(call.request, to_plain(role), index)


async def remove_role(call: Call, role_id: str) -> HttpResponse:
    """DELETE /v1/acl/role/<id>."""
    require_management(call.caller)
    if not role_id:
        raise OperationRefused(_MISSING_ID)
    index = await call.write(delete_role, role_id, ids=False)
    return answer_write(call.request, None, index)


async def no_such_uri(call: Call, path: str) -> HttpResponse:
    """Further parts of a path that mean nothing."""
    del call, path
    return refusal(400, "invalid URI")


def _visible(reader: StateReader, call: Call) -> list[AclRole]:
    if call.caller.access.is_management:
        return list(reader.list_all(ACL_ROLES))
    token = token_of(reader, call.caller)
    return [] if token is None else roles_of(reader, token)


async def _answer_role(
    call: Call,
    find: Callable[[StateReader], AclRole | None],
    is_meant: Callable[[RoleLink], bool],
) -> HttpResponse:
    def work(reader: StateReader) -> Found:
        token = token_of(reader, call.caller)
        is_holder = token is not None and any(map(is_meant, token.roles))
        if not call.caller.access.is_management and not is_holder:
            raise NotAllowed
        role = find(reader)
        if role is None:
            return Found(index=reader.table_index(_TABLE), missing=NO_ROLE)
        return Found(index=role.modify_index, body=to_plain(role))

    return await answer_read(call, work, watch_table(_TABLE))


def _role_of(body: Body) -> AclRole:
    links: list[Any] = body.objects("Policies")
    return AclRole(
        id=body.text("ID"),
        name=body.text("Name"),
        description=body.text("Description"),
        policies=tuple(PolicyLink(name=link.text("Name")) for link in links),
    )
