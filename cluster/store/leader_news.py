"""What the leader tells of its memory: numbers for pages, a hint in Redis that may be lost.

In: the stats of the leader, once a second. Out: what it told last, or nothing when nobody leads or
Redis is away. Never truth: pages say when it was told, and what they know without it.
"""

from functools import cache

import msgspec
import redis

from scheduler.leader_stats import LeaderStats
from scheduler.structs.wire import Wire

KEY = "leader:news"
#: Nobody is told of a leader that has been silent for longer, s.
EXPIRES_S = 5
_PATIENCE_S = 0.25


class LeaderNews(Wire, frozen=True):
    """The stats of one moment, and who told them."""

    #: Wall clock, ns.
    at: int
    epoch: int
    stats: LeaderStats


_DECODER = msgspec.msgpack.Decoder(LeaderNews)


def encoded_news(news: LeaderNews) -> bytes:
    """As it lies in Redis."""
    return msgspec.msgpack.encode(news)


def decoded_news(body: bytes | None) -> LeaderNews | None:
    """None for what is not there or cannot be read."""
    if not body:
        return None
    try:
        return _DECODER.decode(body)
    except msgspec.MsgspecError:
        return None


def read_news(url: str) -> LeaderNews | None:
    """What the leader told last; None when nobody leads or Redis does not answer."""
    try:
        body = _client(url).get(KEY)
    except (redis.RedisError, OSError):
        return None
    return decoded_news(body if isinstance(body, bytes) else None)


@cache
def _client(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url, socket_timeout=_PATIENCE_S, socket_connect_timeout=_PATIENCE_S
    )
