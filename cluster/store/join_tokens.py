"""Join tokens: what an agent shows once so that its node becomes known. Only hashes are kept.

In: tokens as agents send them, or what lists call them. Out: whether they open the door, and what
is known of each. No cluster state, so no index.
"""

import hashlib
import secrets
from typing import NamedTuple

from django.db import DEFAULT_DB_ALIAS, transaction
from django.db.models import F, OuterRef, Subquery

from cluster.models import JoinedNodeRow, JoinTokenRow, NodeRow
from cluster.store.transactions import writes_patiently
from scheduler.structs.wire import Nanoseconds

UNLIMITED = -1
#: Letters of the hash that lists call a token by; they open nothing.
_ID_LETTERS = 12


class JoinToken(NamedTuple):
    """What is known of a token."""

    id: str
    name: str
    created: Nanoseconds
    #: 0: never.
    expires: Nanoseconds
    #: UNLIMITED: any number.
    uses_left: int
    nodes_joined: int


def new_join_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(32)


def add_join_token(
    token: str, *, name: str, now: Nanoseconds, expires: Nanoseconds = 0, uses: int = UNLIMITED
) -> JoinToken:
    """Let agents that show this token join. The same token again renews it."""
    hashed = _hash(token)
    row = JoinTokenRow(
        secret_hash=hashed,
        name=name,
        created=now,
        expires=expires,
        uses_left=uses,
        nodes_joined=_nodes_joined(hashed),
    )
    writes_patiently(lambda: JoinTokenRow.by_store.insert(DEFAULT_DB_ALIAS, row, or_replace=True))
    return _join_token(row)


def use_join_token(token: str, node_id: str, *, now: Nanoseconds) -> bool:
    """Whether the token lets one more node join; a limited one has one use less afterwards."""
    row = _row(token) if token else None
    if row is None or (row.expires and row.expires <= now):
        return False
    return writes_patiently(lambda: _used(row, node_id, now))


def nodes_by_join_token() -> dict[str, list[tuple[str, str]]]:
    """By a token's id, the nodes that joined by it and are still there: id and name, by names."""
    there = NodeRow.objects.filter(pk=OuterRef("pk")).values("name")[:1]
    rows = JoinedNodeRow.objects.annotate(name=Subquery(there)).exclude(name=None)
    found: dict[str, list[tuple[str, str]]] = {}
    for token_id, node_id, name in rows.order_by("name").values_list("join_token", "pk", "name"):
        found.setdefault(token_id, []).append((node_id, name))
    return found


def knows_join_token(token: str) -> bool:
    """Whether the record has the token, of use or not."""
    return _row(token) is not None


def list_join_tokens() -> list[JoinToken]:
    """All of them, expired ones that are still there included, oldest first."""
    return [_join_token(row) for row in JoinTokenRow.objects.order_by("created", "secret_hash")]


def revoke_join_token(token_id: str) -> bool:
    """Let nobody join by it any more; False when there is none. Nodes that joined stay."""
    if len(token_id) != _ID_LETTERS:
        return False
    rows = JoinTokenRow.by_store.filter(secret_hash__startswith=token_id)
    return bool(writes_patiently(rows.delete)[0])


@transaction.atomic
def _used(row: JoinTokenRow, node_id: str, now: Nanoseconds) -> bool:
    uses = JoinTokenRow.by_store.filter(secret_hash=row.secret_hash)
    if row.uses_left == UNLIMITED:
        opens = uses.update(nodes_joined=F("nodes_joined") + 1)
    else:
        # Conditional, so that two agents do not share the last use.
        left = uses.filter(uses_left__gt=0)
        opens = left.update(uses_left=F("uses_left") - 1, nodes_joined=F("nodes_joined") + 1)
    if opens:
        joined = JoinedNodeRow(node_id=node_id, join_token=row.secret_hash[:_ID_LETTERS], at=now)
        JoinedNodeRow.by_store.insert(DEFAULT_DB_ALIAS, joined, or_replace=True)
    return bool(opens)


def _row(token: str) -> JoinTokenRow | None:
    return JoinTokenRow.objects.filter(secret_hash=_hash(token)).first()


def _nodes_joined(hashed: str) -> int:
    counts = JoinTokenRow.objects.filter(secret_hash=hashed).values_list("nodes_joined", flat=True)
    return counts.first() or 0


def _join_token(row: JoinTokenRow) -> JoinToken:
    return JoinToken(
        id=row.secret_hash[:_ID_LETTERS],
        name=row.name,
        created=row.created,
        expires=row.expires,
        uses_left=row.uses_left,
        nodes_joined=row.nodes_joined,
    )


def _hash(token: str) -> str:
    return hashlib.sha256(b"bivouac join token\0" + token.encode()).hexdigest()
