"""What nodes prove themselves with: their secret, or an identity that the cluster signed for them.

In: a node, what its agent shows, the present. Out: whether that proves it; a new identity where
one is due (node-agent-2.md 15.1). An identity names the incarnation of its node: one that was
made for a purged node proves nothing of another that joined under the same id.
"""

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from cluster.keyring.tokens import TokenRefused, is_token, key_named, proved, signed
from cluster.operations.errors import NotAllowed, NotFound, OperationRefused
from cluster.operations.keyring import signing_key
from cluster.operations.rights import require_writes
from scheduler.access.caller import Caller
from scheduler.ports import Change, IDSource, StateReader, StateStore
from scheduler.state.events import WriteKind
from scheduler.state.keyring_noun import ROOT_KEYS
from scheduler.state.nouns import NODE_POOLS
from scheduler.structs.identity import DEFAULT_NODE_POOL
from scheduler.structs.node import DEFAULT_IDENTITY_TTL, Node

NODE_NOT_FOUND = "node not found"
NOT_ITS_OWN = "node secret ID does not match"

_SECOND = 1_000_000_000
_NODE = "nomad_node_id"
_POOL = "nomad_node_pool"
_NAME = "nomad_node_name"
#: Our own: which of the nodes that ever had this id it is.
_SINCE = "bivouac_node_create_index"
_INTRODUCTION = "node-introduction:"


def hash_secret(secret: str) -> str:
    """What the record keeps of a node's secret."""
    return hashlib.sha256(b"bivouac node secret\0" + secret.encode()).hexdigest()


def holds_secret(node: Node, secret: str) -> bool:
    """Whether the secret is this node's own."""
    return bool(secret) and hmac.compare_digest(node.secret_id, hash_secret(secret))


def why_not(reader: StateReader, node: Node, shown: str, *, now: int) -> str:
    """Why what an agent shows does not prove that it is this node; "" when it does."""
    if not is_token(shown):
        return "" if holds_secret(node, shown) else NOT_ITS_OWN
    try:
        claims = _proved(reader, shown, now)
    except TokenRefused as refused:
        return f"node identity refused: {refused}"
    if claims.get(_NODE) != node.id or claims.get(_SINCE) != node.create_index:
        return "node identity refused: it is that of another node"
    return ""


def require_proof(reader: StateReader, node: Node, shown: str, *, by: Caller, now: int) -> None:
    """Refuse whoever neither proves to be the node nor manages everything."""
    if by.access.is_management:
        return
    reason = why_not(reader, node, shown, now=now)
    if reason:
        raise NotAllowed(reason)


def is_identity_due(reader: StateReader, shown: str, *, now: int) -> bool:
    """Whether a node that shows this needs a new identity: two thirds of its life are over."""
    if not is_token(shown):
        return True
    try:
        claims = _proved(reader, shown, now)
    except TokenRefused:
        return True
    began, ends = int(claims["nbf"]), int(claims["exp"])
    return ends * _SECOND - now <= (ends - began) * _SECOND // 3


def issue_node_identity(  # noqa: PLR0913 - what an agent shows, and where it is
    store: StateStore,
    node_id: str,
    *,
    by: Caller,
    secret: str = "",
    region: str = "global",
    now: int,
    ids: IDSource,
) -> str:
    """A signed identity for a node that proved itself; "" while nothing can be signed.

    `secret` is what it shows. The record notes the key: one that is in use is not deleted.
    """
    node, pool, key = store.read(
        lambda reader: (
            (node := reader.node(node_id)),
            reader.get(NODE_POOLS, node.node_pool) if node else None,
            signing_key(reader),
        )
    )
    if node is None:
        raise NotFound(NODE_NOT_FOUND)
    store.read(lambda reader: require_proof(reader, node, secret, by=by, now=now))
    life = pool.node_identity_ttl if pool else DEFAULT_IDENTITY_TTL
    if key is None or life < _SECOND:
        return ""

    def work(change: Change) -> None:
        found = change.node(node_id)
        if found is None:
            raise NotFound(NODE_NOT_FOUND)
        require_proof(change, found, secret, by=by, now=now)
        changed = replace(
            found, identity_signing_key_id=key.key_id, modify_index=change.index
        )  # fmt: skip
        change.put_node(changed)

    if node.identity_signing_key_id != key.key_id:
        store.write(WriteKind.NODE_REGISTRATION, work, now=now, by=by)
    claims = {
        "sub": f"node:{region}:{node.node_pool}:{node.id}:default",
        _NODE: node.id,
        _POOL: node.node_pool,
        "nomad_node_datacenter": node.datacenter,
        _SINCE: node.create_index,
    }
    if node.node_class:
        claims["nomad_node_class"] = node.node_class
    return signed(claims, key, now=now, life=life, token_id=ids.next_id())


def introduce_node(  # noqa: PLR0913 - the options of one request
    reader: StateReader,
    *,
    name: str,
    pool: str,
    life: int,
    region: str,
    by: Caller,
    now: int,
    ids: IDSource,
) -> str:
    """A token by which one node, or any of a pool, may join for a while; nothing is written."""
    require_writes(by, "node")
    key = signing_key(reader)
    if key is None:
        raise OperationRefused("keyring has not been initialized yet")
    pool = pool or DEFAULT_NODE_POOL
    claims = {"sub": f"{_INTRODUCTION}{region}:{pool}:{name}:default", _POOL: pool}
    if name:
        claims[_NAME] = name
    return signed(claims, key, now=now, life=life, token_id=ids.next_id())


def is_introduced(reader: StateReader, node: Node, token: str, *, now: int) -> bool:
    """Whether a new node shows a token that was made for it, or for its pool."""
    if not is_token(token):
        return False
    try:
        claims = _proved(reader, token, now)
    except TokenRefused:
        return False
    return (
        str(claims.get("sub", "")).startswith(_INTRODUCTION)
        and claims.get(_POOL) == (node.node_pool or DEFAULT_NODE_POOL)
        and claims.get(_NAME, node.name) == node.name
    )


def _proved(reader: StateReader, token: str, now: int) -> Mapping[str, Any]:
    return proved(token, reader.get(ROOT_KEYS, key_named(token)), now=now)
