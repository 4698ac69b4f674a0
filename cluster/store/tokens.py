"""Secrets of people and programs: API tokens and one-time login links. Only hashes are kept.

In: a store and a secret. Out: whom it stands for, or None. A secret is made here and shown once;
nobody can read it back. Each function takes the store first.
"""

import hashlib
import secrets
from typing import NamedTuple

import msgspec
from django.db import connections

from cluster.models import ApiTokenRow, JoinTokenRow, OneTimeLoginRow
from cluster.store.transactions import read_transaction, writes_patiently
from cluster.store.writer import DjangoStateStore
from scheduler.structs.wire import Nanoseconds

MANAGEMENT, CLIENT = "management", "client"
EVERY_NAMESPACE = "*"

_FIND = (
    "SELECT accessor_id, name, type, capabilities, created, expires FROM api_token"
    " WHERE secret_hash = %s"
)
_CAPABILITIES = msgspec.json.Decoder(dict[str, str])


class ApiToken(NamedTuple):
    """What a token may do. `capabilities`: namespace (or `*`) to `read` or `write`."""

    accessor_id: str
    name: str
    type: str
    capabilities: dict[str, str]
    created: Nanoseconds
    #: 0: never.
    expires: Nanoseconds

    @property
    def is_management(self) -> bool:
        """Whether it may do everything."""
        return self.type == MANAGEMENT


def create_api_token(store: DjangoStateStore, token: ApiToken, secret: str = "") -> str:
    """Store a token and return its secret, which is made when none is given."""
    secret = secret or _uuid_like(secrets.token_bytes(16))
    row = ApiTokenRow(
        accessor_id=token.accessor_id,
        secret_hash=_hash(secret),
        name=token.name,
        type=token.type,
        capabilities=token.capabilities,
        created=token.created,
        expires=token.expires,
    )
    writes_patiently(lambda: row.save(using=store.alias, force_insert=True))
    return secret


def find_api_token(store: DjangoStateStore, secret: str, *, now: Nanoseconds) -> ApiToken | None:
    """The token of a secret; None for an unknown or expired one.

    Asked for every request. It is read each time, so that a token taken back opens nothing more in
    any process; and below the models, which costs a tenth.
    """
    if not secret:
        return None
    connection = connections[store.alias]
    with read_transaction(connection), connection.cursor() as cursor:
        cursor.execute(_FIND, (_hash(secret),))
        row = cursor.fetchone()
    if row is None:
        return None
    accessor_id, name, kind, capabilities, created, expires = row
    if expires and expires <= now:
        return None
    return ApiToken(accessor_id, name, kind, _CAPABILITIES.decode(capabilities), created, expires)


def list_api_tokens(store: DjangoStateStore) -> list[ApiToken]:
    """All tokens, expired ones included, oldest first."""
    return [_api_token(row) for row in ApiTokenRow.objects.using(store.alias).order_by("created")]


def delete_api_token(store: DjangoStateStore, accessor_id: str) -> bool:
    """Take a token back; False when there was none."""
    rows = ApiTokenRow.objects.using(store.alias).filter(accessor_id=accessor_id)
    return bool(writes_patiently(rows.delete)[0])


def create_login(
    store: DjangoStateStore, user_id: int, *, now: Nanoseconds, valid_for: Nanoseconds
) -> str:
    """A secret that logs the user in once, within `valid_for` ns."""
    secret = secrets.token_urlsafe(32)
    row = OneTimeLoginRow(secret_hash=_hash(secret), user_id=user_id, expires=now + valid_for)
    writes_patiently(lambda: row.save(using=store.alias, force_insert=True))
    return secret


def use_login(store: DjangoStateStore, secret: str, *, now: Nanoseconds) -> int | None:
    """The user of a login secret, which is worthless from then on; None when it already was."""
    rows = OneTimeLoginRow.objects.using(store.alias).filter(secret_hash=_hash(secret))
    fresh = rows.filter(used=False, expires__gt=now)
    # The update is the claim: of two who come at once, one sees a row changed.
    if not writes_patiently(lambda: fresh.update(used=True)):
        return None
    return rows.values_list("user_id", flat=True).get()


def forget_expired(store: DjangoStateStore, *, now: Nanoseconds) -> None:
    """Remove secrets that open nothing any more."""
    logins = OneTimeLoginRow.objects.using(store.alias)
    joins = JoinTokenRow.objects.using(store.alias)
    writes_patiently(logins.filter(expires__lte=now).delete)
    writes_patiently(joins.filter(expires__gt=0, expires__lte=now).delete)


def _api_token(row: ApiTokenRow) -> ApiToken:
    return ApiToken(
        row.accessor_id, row.name, row.type, row.capabilities, row.created, row.expires
    )


def _hash(secret: str) -> str:
    """Secrets are long and random, so a plain hash cannot be guessed back."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _uuid_like(random: bytes) -> str:
    """Command lines of the reference take only secrets that look like a UUID."""
    text = random.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
