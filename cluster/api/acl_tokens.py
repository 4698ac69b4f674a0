"""Tokens: list, read, write, take back; one-time tokens; the first one (access.md 4)."""

from typing import Any

from django.conf import settings
from django.http import HttpResponse

from cluster.api.acl_callers import TOKEN_NOT_FOUND, is_anonymous, token_of
from cluster.api.blocking_read import answer_read
from cluster.api.body import Body, read_optional_body
from cluster.api.callers import secret_of
from cluster.api.encode import instant_text, to_plain
from cluster.api.paging import BY_CREATION, BY_ID, check_uuid, page_of, read_listing_by_uuid
from cluster.api.parameters import read_flag
from cluster.api.request import Call
from cluster.api.respond import Found, answer_found, answer_write
from cluster.api.watches import watch_row, watch_table
from cluster.operations.acl_bootstrap import bootstrap
from cluster.operations.acl_one_time import exchange_one_time_token, make_one_time_token
from cluster.operations.acl_rights import roles_of
from cluster.operations.acl_tokens import (
    UUID,
    create_token,
    delete_tokens,
    update_token,
)
from cluster.operations.audit import note_done
from cluster.operations.errors import NotAllowed, OperationRefused
from cluster.operations.rights import require_management
from cluster.store.access import the_store
from cluster.store.audit_entries import Act, actor_of
from scheduler.ports import StateReader
from scheduler.state.nouns import ACL_TOKENS
from scheduler.structs.acl_token import AclToken, RoleLink, TokenType

_LOOKUP = "acl token lookup failed: "
_WRITE_LOOKUP = f"token lookup failed: {_LOOKUP}"
_MISSING_ACCESSOR = "Missing Token Accessor"
#: What lists leave to a read of one token.
_LONG = ("SecretID", "ExpirationTTL")
#: Whom callers without a token are.
_ANONYMOUS: dict[str, Any] = to_plain(
    AclToken(accessor_id="anonymous", name="Anonymous Token", policies=("anonymous",))
) | {"SecretID": "", "Roles": None, "Hash": None, "CreateTime": "0001-01-01T00:00:00Z"}


async def list_tokens(call: Call) -> HttpResponse:
    """GET /v1/acl/tokens."""
    require_management(call.caller)
    listing = read_listing_by_uuid(call.query, _LOOKUP)
    only_global = read_flag(call.query, "global") or False

    def work(reader: StateReader) -> Found:
        wanted = (
            token
            for token in reader.list_all(ACL_TOKENS)
            if token.accessor_id.startswith(listing.prefix) and (token.global_ or not only_global)
        )
        page = page_of(wanted, listing, BY_ID if listing.prefix else BY_CREATION)
        return Found(
            index=reader.table_index("acl_tokens"),
            body=[_stub(reader, token) for token in page.items],
            next_token=page.next_token,
        )

    return await answer_read(call, work, watch_table("acl_tokens"))


async def read_token(call: Call, accessor: str) -> HttpResponse:
    """GET /v1/acl/token/<accessor>: for managers, and for the token itself."""
    if not accessor:
        raise OperationRefused(_MISSING_ACCESSOR)
    if call.caller.id != accessor:
        require_management(call.caller)
    check_uuid(accessor, _LOOKUP)
    return await _answer_token(call, accessor)


async def read_own_token(call: Call) -> HttpResponse:
    """GET /v1/acl/token/self."""
    if is_anonymous(call.caller):
        return answer_found(call.request, Found(index=0, body=_ANONYMOUS))
    return await _answer_token(call, call.caller.id)


async def write_token(call: Call, accessor: str | None = None) -> HttpResponse:
    """PUT /v1/acl/token, PUT /v1/acl/token/<accessor>."""
    require_management(call.caller)
    if accessor == "":
        raise OperationRefused(_MISSING_ACCESSOR)
    body = call.body("ACLToken")
    asked = _token_of(body)
    if accessor is not None and asked.accessor_id != accessor:
        raise OperationRefused("ACL token accessor does not match request path")
    if asked.accessor_id:
        check_uuid(asked.accessor_id, _WRITE_LOOKUP)
    secret = body.text("SecretID")
    if not asked.accessor_id or await _is_brought_along(call, asked, secret):
        made = await call.write(
            create_token,
            asked,
            # Without an accessor of its own a token gets no secret of its own either.
            secret=secret if asked.accessor_id else "",
        )
        form = await call.read(lambda reader: token_form(reader, made.token, made.secret))
        return answer_write(call.request, form, made.index)
    index, token = await call.write(update_token, asked, ids=False)
    form = await call.read(lambda reader: token_form(reader, token))
    return answer_write(call.request, form, index)


async def remove_token(call: Call, accessor: str) -> HttpResponse:
    """DELETE /v1/acl/token/<accessor>."""
    require_management(call.caller)
    if not accessor:
        raise OperationRefused(_MISSING_ACCESSOR)
    check_uuid(accessor, _WRITE_LOOKUP)
    index = await call.write(delete_tokens, (accessor,), ids=False)
    return answer_write(call.request, None, index)


async def write_one_time_token(call: Call) -> HttpResponse:
    """PUT /v1/acl/token/onetime: a text that stands, once, for the caller's own token."""
    if is_anonymous(call.caller):
        raise OperationRefused(f"{_LOOKUP}missing secret id")
    made = await call.write(make_one_time_token, secret_of(call.request), ids=False)
    index = await call.read(lambda reader: reader.index)
    body = {
        "OneTimeToken": {
            "OneTimeSecretID": made.text,
            "AccessorID": made.accessor_id,
            "ExpiresAt": instant_text(made.expires),
            "CreateIndex": index,
            "ModifyIndex": index,
        },
        "Index": index,
    }
    return answer_write(call.request, body, index)


async def exchange(call: Call) -> HttpResponse:
    """PUT /v1/acl/token/onetime/exchange: the token behind such a text."""
    text = call.body("OneTimeTokenExchangeRequest").text("OneTimeSecretID")
    found = await call.write(exchange_one_time_token, text, ids=False)
    if found is None:
        raise NotAllowed
    token, secret = found
    act = Act("exchange a one-time token", "token", token.accessor_id)
    note_done(the_store(), actor_of(call.caller), act, at=call.now)
    index, form = await call.read(lambda reader: (reader.index, token_form(reader, token, secret)))
    return answer_write(call.request, {"Token": form, "Index": index}, index)


async def start(call: Call) -> HttpResponse:
    """PUT /v1/acl/bootstrap: the first management token."""
    try:
        body = read_optional_body(call.raw_body, "ACLBootstrapRequest")
    except OperationRefused as error:
        raise OperationRefused(f"failed to decode request body: {error}") from None
    made = await call.write(
        bootstrap,
        secret=body.text("BootstrapSecret"),
        reset_file=settings.BIVOUAC_DATA_DIR / "server" / "acl-bootstrap-reset",
    )
    form = await call.read(lambda reader: token_form(reader, made.token, made.secret))
    return answer_write(call.request, form, made.index)


def token_form(reader: StateReader, token: AclToken, secret: str = "") -> dict[str, Any]:
    """A token as a read shows it; the secret only to whom it was made for or who showed it.

    Roles that are gone are left out, the others have the names of today.
    """
    roles = [{"ID": role.id, "Name": role.name} for role in roles_of(reader, token)]
    lists: dict[str, Any] = {"Policies": None, "Roles": None}
    if not token.is_management:
        lists = {"Policies": list(token.policies), "Roles": roles}
    return to_plain(token) | lists | {"SecretID": secret}


def _stub(reader: StateReader, token: AclToken) -> dict[str, Any]:
    form = token_form(reader, token)
    return {name: item for name, item in form.items() if name not in _LONG}


async def _answer_token(call: Call, accessor: str) -> HttpResponse:
    is_own = accessor == call.caller.id

    def work(reader: StateReader) -> Found:
        token = token_of(reader, call.caller) if is_own else reader.get(ACL_TOKENS, accessor)
        if token is None:
            index = reader.table_index("acl_tokens")
            return Found(index=index, missing=TOKEN_NOT_FOUND)
        secret = secret_of(call.request) if is_own else ""
        return Found(index=token.modify_index, body=token_form(reader, token, secret))

    return await answer_read(call, work, watch_row("acl_tokens", accessor))


async def _is_brought_along(call: Call, asked: AclToken, secret: str) -> bool:
    """Whether a token of elsewhere is to be made here, under the ids it has."""
    if asked.type != TokenType.CLIENT or not UUID.fullmatch(secret):
        return False
    stored = await call.read(lambda reader: reader.get(ACL_TOKENS, asked.accessor_id))
    return stored is None


def _token_of(body: Body) -> AclToken:
    return AclToken(
        accessor_id=body.text("AccessorID"),
        name=body.text("Name"),
        type=body.text("Type"),
        policies=body.list_of_texts("Policies"),
        roles=tuple(
            RoleLink(id=link.text("ID"), name=link.text("Name")) for link in body.objects("Roles")
        ),
        global_=body.flag("Global"),
        create_time=body.instant("CreateTime"),
        expiration_time=body.instant("ExpirationTime"),
        expiration_ttl=body.duration("ExpirationTTL"),
    )
