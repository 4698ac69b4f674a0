"""One-time tokens: how a browser gets the token of a command line without seeing it in a link.

In: a store and the secret of a known token, or the text made for it. Out: the text, or the token
and its secret again. Valid for ten minutes, once; the record can give neither away.
"""

from typing import NamedTuple

from cluster.operations.acl_rights import bearer_of
from cluster.operations.errors import NotAllowed
from cluster.store.access import StoreAccess
from cluster.store.one_time_tokens import create_one_time_token, use_one_time_token
from scheduler.access.caller import Caller
from scheduler.structs.acl_token import AclToken

VALID_NS = 10 * 60 * 1_000_000_000


class OneTimeToken(NamedTuple):
    """What is exchanged for the token, until when (ns)."""

    text: str
    accessor_id: str
    expires: int


def make_one_time_token(store: StoreAccess, secret: str, *, by: Caller, now: int) -> OneTimeToken:
    """A text for the token of that secret, which is the caller's own; the last one ends."""
    bearer = bearer_of(store, secret, now=now)
    if bearer is None or bearer.token.accessor_id != by.id:
        raise NotAllowed
    accessor, expires = bearer.token.accessor_id, now + VALID_NS
    text = create_one_time_token(store, accessor, secret, expires=expires)
    return OneTimeToken(text, accessor, expires)


def exchange_one_time_token(
    store: StoreAccess, text: str, *, by: Caller, now: int
) -> tuple[AclToken, str] | None:
    """The token behind a text, and its secret; None when it is used, expired or unknown.

    Whoever has the text may: `by` is nobody yet.
    """
    del by
    secret = use_one_time_token(store, text, now=now)
    bearer = None if secret is None else bearer_of(store, secret, now=now)
    return None if bearer is None or secret is None else (bearer.token, secret)
