"""Secrets of people and programs: API tokens and one-time login links. Only hashes are kept.

In: a store and a secret. Out: whom it stands for, or None. A secret is made here and shown once;
nobody can read it back. Each function takes the store first.
"""

import hashlib
import secrets
from functools import lru_cache
from typing import Any, NamedTuple

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from cluster.models import JoinedNodeRow, JoinTokenRow, NodeRow, OneTimeLoginRow, OneTimeTokenRow
from cluster.store.plain_cursor import plain_cursor
from cluster.store.transactions import read_transaction, writes_patiently
from cluster.store.writer import DjangoStateStore
from scheduler.state.nouns import ACL_POLICIES, ACL_ROLES, ACL_TOKENS
from scheduler.structs.acl_token import AclToken
from scheduler.structs.wire import Nanoseconds

#: Longer ones are nobody's; hashing them would only cost time.
_LONGEST_SECRET = 256
_DAY = 86_400 * 10**9
_INDEX_OF = "(SELECT value FROM table_index WHERE name = '{}')"
_INDEXES = (
    f"COALESCE({_INDEX_OF.format(ACL_POLICIES.table_index)}, 0),"
    f" COALESCE({_INDEX_OF.format(ACL_ROLES.table_index)}, 0)"
)
_FIND = f"SELECT body, {_INDEXES} FROM {ACL_TOKENS.table} WHERE {ACL_TOKENS.secret_column} = %s"  # noqa: S608 - names of our own tables only
_READ_INDEXES = f"SELECT {_INDEXES}"


class RightsVersion(NamedTuple):
    """Moves whenever a policy or a role is written."""

    policies: int
    roles: int


class FoundToken(NamedTuple):
    """The token of a secret, and what its rights were compiled from if they are known for it."""

    token: AclToken
    version: RightsVersion


def new_secret() -> str:
    """A secret that nobody guesses, in the only form command lines of the reference take."""
    text = secrets.token_bytes(16).hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def hash_of_secret(secret: str) -> str:
    """What the record keeps of one. They are long and random: no hash can be guessed back."""
    return hashlib.sha256(secret.encode()).hexdigest()


def find_token(store: DjangoStateStore, secret: str) -> FoundToken | None:
    """The token of a secret, also of an expired one; None for an unknown one.

    Asked for every request. It is read each time, so that a token taken back opens nothing more in
    any process; and below the models, which costs a tenth.
    """
    if not secret or len(secret) > _LONGEST_SECRET:
        return None
    row = _row(store, _FIND, hash_of_secret(secret))
    if row is None:
        return None
    body, policies, roles = row
    return FoundToken(_decoded(bytes(body)), RightsVersion(policies, roles))


@lru_cache(maxsize=256)
def _decoded(body: bytes) -> AclToken:
    """What a row says; the rows of those who ask often are the same each time."""
    return ACL_TOKENS.decode(body)


def rights_version(store: DjangoStateStore) -> RightsVersion:
    """Of the policies and roles as they are now."""
    row = _row(store, _READ_INDEXES)
    assert row is not None, "a row of two numbers always comes"
    return RightsVersion(*row)


def create_login(
    store: DjangoStateStore, user_id: int, *, now: Nanoseconds, valid_for: Nanoseconds
) -> str:
    """A secret that logs the user in once, within `valid_for` ns."""
    secret = secrets.token_urlsafe(32)
    row = OneTimeLoginRow(
        secret_hash=hash_of_secret(secret), user_id=user_id, expires=now + valid_for
    )
    writes_patiently(lambda: OneTimeLoginRow.by_store.insert(store.alias, row))
    return secret


def use_login(store: DjangoStateStore, secret: str, *, now: Nanoseconds) -> int | None:
    """The user of a login secret, which is worthless from then on; None when it already was."""
    rows = OneTimeLoginRow.by_store.using(store.alias).filter(secret_hash=hash_of_secret(secret))
    fresh = rows.filter(used=False, expires__gt=now)
    # The update is the claim: of two who come at once, one sees a row changed.
    if not writes_patiently(lambda: fresh.update(used=True)):
        return None
    return rows.values_list("user_id", flat=True).get()


def forget_expired(store: DjangoStateStore, *, now: Nanoseconds) -> None:
    """Remove secrets that open nothing any more."""
    logins = OneTimeLoginRow.by_store.using(store.alias)
    joins = JoinTokenRow.by_store.using(store.alias)
    writes_patiently(logins.filter(expires__lte=now).delete)
    exchanges = OneTimeTokenRow.by_store.using(store.alias)
    writes_patiently(joins.filter(expires__gt=0, expires__lte=now).delete)
    writes_patiently(exchanges.filter(expires__lte=now).delete)
    # Between a token's use and the node's first row lies a moment.
    joined = JoinedNodeRow.by_store.using(store.alias).filter(at__lte=now - _DAY)
    gone = joined.exclude(pk__in=NodeRow.objects.using(store.alias).values("pk"))
    writes_patiently(gone.delete)


def _row(store: DjangoStateStore, statement: str, *parameters: str) -> tuple[Any, ...] | None:
    connection = connections[store.alias]
    # One statement sees one index by itself; a transaction's part here is to drop what is broken.
    if connection.vendor == "sqlite":
        return _first(connection, statement, parameters)
    with read_transaction(connection):
        return _first(connection, statement, parameters)


def _first(
    connection: BaseDatabaseWrapper, statement: str, parameters: tuple[str, ...]
) -> tuple[Any, ...] | None:
    with plain_cursor(connection) as cursor:
        cursor.execute(statement, parameters)
        row: tuple[Any, ...] | None = cursor.fetchone()
        return row
