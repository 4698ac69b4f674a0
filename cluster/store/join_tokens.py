"""Join tokens: what an agent shows once so that its node becomes known. Only hashes are kept.

In: tokens as agents send them. Out: whether they open the door. No cluster state, so no index.
"""

import hashlib

from django.db.models import F

from cluster.models import JoinTokenRow
from scheduler.structs.wire import Nanoseconds

UNLIMITED = -1


def add_join_token(
    token: str, *, name: str, now: Nanoseconds, expires: Nanoseconds = 0, uses: int = UNLIMITED
) -> None:
    """Let agents that show this token join. The same token again renews it."""
    JoinTokenRow.objects.update_or_create(
        secret_hash=_hash(token),
        defaults={"name": name, "created": now, "expires": expires, "uses_left": uses},
    )


def use_join_token(token: str, *, now: Nanoseconds) -> bool:
    """Whether the token lets one more node join; a limited one has one use less afterwards."""
    row = JoinTokenRow.objects.filter(secret_hash=_hash(token)).first() if token else None
    if row is None or (row.expires and row.expires <= now):
        return False
    if row.uses_left == UNLIMITED:
        return True
    # Conditional, so that two agents do not share the last use.
    left = JoinTokenRow.objects.filter(secret_hash=row.secret_hash, uses_left__gt=0)
    return bool(left.update(uses_left=F("uses_left") - 1))


def _hash(token: str) -> str:
    return hashlib.sha256(b"bivouac join token\0" + token.encode()).hexdigest()
