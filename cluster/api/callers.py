"""Who sends a request: the token in its headers, looked up in the record.

In: a Django request. Out: a `Caller`, or None for a missing, unknown or expired token: the three
look alike from outside.
"""

from django.http import HttpRequest

from cluster.api.access import Caller
from cluster.store.access import the_store
from cluster.store.tokens import EVERY_NAMESPACE, ApiToken, find_api_token

TOKEN_HEADER = "X-Nomad-Token"  # noqa: S105 - the name of a header
_BEARER = "bearer "
_WRITE = "write"
#: Longer ones are nobody's; hashing them would only cost time.
_LONGEST_SECRET = 256


async def caller_of(request: HttpRequest) -> Caller | None:
    """The bearer of the request's token."""
    secret = secret_of(request)
    if not secret or len(secret) > _LONGEST_SECRET:
        return None
    now = request.clock.now()  # type: ignore[attr-defined] # set by the middleware
    token = await the_store().aread_call(find_api_token, secret, now=now)
    return None if token is None else caller_for(token)


def secret_of(request: HttpRequest) -> str:
    """The secret of a request: the token header, else a bearer; other schemes are not read."""
    given = request.headers.get(TOKEN_HEADER, "").strip()
    if given:
        return given
    authorization = request.headers.get("Authorization", "")
    if authorization[: len(_BEARER)].lower() == _BEARER:
        return authorization[len(_BEARER) :].strip()
    return ""


def caller_for(token: ApiToken) -> Caller:
    """What a token's bearer may do."""
    everywhere = token.is_management or EVERY_NAMESPACE in token.capabilities
    writable = frozenset(name for name, right in token.capabilities.items() if right == _WRITE)
    return Caller(
        accessor_id=token.accessor_id,
        name=token.name,
        is_management=token.is_management,
        reads=None if everywhere else frozenset(token.capabilities),
        writes=None if token.is_management or EVERY_NAMESPACE in writable else writable,
    )
