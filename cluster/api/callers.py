"""Who sends a request: the token in its headers, looked up in the record.

In: a Django request. Out: a `Caller`; refused are unknown and expired tokens, which look alike
from outside. Whoever shows no token may do what the policy `anonymous` says, if there is one.
"""

from django.http import HttpRequest
from msgspec.structs import replace

from cluster.client_address import address_of
from cluster.operations.acl_rights import access_of_nobody, bearer_of
from cluster.operations.errors import NotAllowed
from cluster.store.access import the_store
from scheduler.access.caller import ANONYMOUS, Caller, CallerKind

TOKEN_HEADER = "X-Nomad-Token"  # noqa: S105 - the name of a header
_BEARER = "bearer "


async def caller_of(request: HttpRequest) -> Caller:
    """The bearer of the request's token, or whoever shows none. Raises NotAllowed."""
    secret = secret_of(request)
    address = address_of(request)
    if not secret:
        access = await the_store().ashort_call(access_of_nobody)
        return replace(ANONYMOUS, address=address, access=access)
    now = request.clock.now()  # type: ignore[attr-defined] # set by the middleware
    bearer = await the_store().ashort_call(bearer_of, secret, now=now)
    if bearer is None:
        raise NotAllowed
    return Caller(
        kind=CallerKind.TOKEN,
        id=bearer.token.accessor_id,
        name=bearer.token.name,
        address=address,
        access=bearer.access,
    )


def secret_of(request: HttpRequest) -> str:
    """The secret of a request: the token header, else a bearer; other schemes are not read."""
    given = request.headers.get(TOKEN_HEADER, "").strip()
    if given:
        return given
    authorization = request.headers.get("Authorization", "")
    if authorization[: len(_BEARER)].lower() == _BEARER:
        return authorization[len(_BEARER) :].strip()
    return ""
