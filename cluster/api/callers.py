"""Who sends a request: the token in its headers, looked up in the record.

In: a Django request. Out: a `Caller`; refused are unknown and expired tokens, which look alike
from outside. Whoever shows no token may do what the policy `anonymous` says, if there is one.
"""

from django.http import HttpRequest
from msgspec.structs import replace

from cluster.client_address import address_of
from cluster.keyring.tokens import is_token
from cluster.operations.acl_rights import access_of_nobody, bearer_of
from cluster.operations.errors import NotAllowed
from cluster.operations.workload_identities import workload_of
from cluster.store.access import the_store
from scheduler.access.caller import ANONYMOUS, Caller, CallerKind

TOKEN_HEADER = "X-Nomad-Token"  # noqa: S105 - the name of a header
#: As Django names it among the fields of a request.
TOKEN_FIELD = "HTTP_" + TOKEN_HEADER.upper().replace("-", "_")
_BEARER = "bearer "


async def caller_of(request: HttpRequest) -> Caller:
    """The bearer of the request's token, or whoever shows none. Raises NotAllowed."""
    secret = secret_of(request)
    address = address_of(request)
    if not secret:
        access = await the_store().ashort_call(access_of_nobody)
        return replace(ANONYMOUS, address=address, access=access)
    now = request.clock.now()  # type: ignore[attr-defined] # set by the middleware
    if is_token(secret):
        return await _workload(secret, address, now)
    bearer = await the_store().ashort_call(bearer_of, secret, now=now)
    if bearer is None:
        raise NotAllowed
    the_store().token_uses.note(bearer.token.accessor_id, now)
    return Caller(
        kind=CallerKind.TOKEN,
        id=bearer.token.accessor_id,
        name=bearer.token.name,
        address=address,
        access=bearer.access,
    )


async def _workload(token: str, address: str, now: int) -> Caller:
    """A running task, by the identity that the cluster signed for it."""
    found = await the_store().aread(lambda reader: workload_of(reader, token, now=now))
    if found is None:
        raise NotAllowed
    return Caller(
        kind=CallerKind.WORKLOAD,
        id=found.alloc_id,
        name=found.name,
        address=address,
        access=found.access,
    )


def secret_of(request: HttpRequest) -> str:
    """The secret of a request: the token header, else a bearer; other schemes are not read."""
    # Not by `request.headers`, which reads all of them anew for each request.
    given: str = request.META.get(TOKEN_FIELD, "").strip()
    if given:
        return given
    authorization: str = request.META.get("HTTP_AUTHORIZATION", "")
    if authorization[: len(_BEARER)].lower() == _BEARER:
        return authorization[len(_BEARER) :].strip()
    return ""
