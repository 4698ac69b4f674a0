"""How a page or a command asks the demo's process for a scenario: two keys in Redis.

In: the name of a scenario. Out: whether it began. Wishes may get lost: then nothing happens, and
whoever asked is told so. What happens then is in the record, as everything is.
"""

import msgspec
import redis

from cluster.installation import typed_start

#: List of `Wish`es, taken by the demo's process.
WISHES = "demo:wishes"
#: Set while the demo's process lives: a `Presence`.
PRESENCE = "demo:presence"
#: List of one `Reply`, by the wish's id.
REPLY_PREFIX = "demo:reply:"
#: Seconds: a reply that is not fetched goes; a presence that is not renewed ends.
REPLY_EXPIRY_S, PRESENCE_EXPIRY_S = 30, 5
#: Seconds that who asks waits for the reply.
PATIENCE_S = 4.0


class NoDemo(Exception):
    """The demo's process does not answer; the message says what to do."""


class Wish(msgspec.Struct, frozen=True, array_like=True):
    """A scenario is to begin."""

    id: str
    name: str
    #: Who wants it, for the audit.
    by: str = ""


class Reply(msgspec.Struct, frozen=True, array_like=True):
    """Whether it began, and a sentence for who asked."""

    has_begun: bool
    text: str


class Presence(msgspec.Struct, frozen=True, array_like=True):
    """The demo's process lives."""

    #: Names of the scenarios that are under way.
    running: tuple[str, ...] = ()
    #: What failed last, as a sentence; empty when nothing did.
    failed: str = ""
    #: Where its pages are.
    address: str = ""


def ask(redis_url: str, wish: Wish) -> Reply:
    """Have a scenario begin. Raises NoDemo."""
    try:
        with _connection(redis_url) as connection:
            if not connection.exists(PRESENCE):
                raise NoDemo(f"No demo runs here. Start one with `{typed_start('demo')}`.")
            connection.rpush(WISHES, msgspec.msgpack.encode(wish))
            popped = connection.blpop([REPLY_PREFIX + wish.id], timeout=PATIENCE_S)
    except redis.RedisError as error:
        raise NoDemo(f"Redis does not answer, so the demo cannot be asked: {error}.") from None
    if popped is None:
        raise NoDemo("The demo did not answer; nothing was started. Try again in a moment.")
    return msgspec.msgpack.decode(popped[1], type=Reply)


def presence(redis_url: str) -> Presence | None:
    """What the demo's process says of itself; None when there is none."""
    try:
        with _connection(redis_url) as connection:
            raw = connection.get(PRESENCE)
            return msgspec.msgpack.decode(raw, type=Presence) if raw else None
    except (redis.RedisError, msgspec.DecodeError):
        return None


def _connection(redis_url: str) -> redis.Redis:
    return redis.Redis.from_url(redis_url, socket_timeout=PATIENCE_S + 1, socket_connect_timeout=1)
