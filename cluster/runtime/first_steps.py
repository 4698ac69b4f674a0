"""What `up` needs from outside before it starts anything: a record of this release, and Redis.

In: settings. Out: nothing, once both are there; what does not answer is waited for, and said once.
"""

import time
from collections.abc import Callable
from urllib.parse import urlsplit

import redis

from cluster.runtime.data_lock import CannotStart
from cluster.store.upgrade import RecordServerSilent, RecordUnusable, upgrade_record

#: Seconds between two tries.
TRY_AGAIN_S = 1.0
_PING_S = 3.0


def await_record(write: Callable[[str], None], alias: str = "default") -> None:
    """Bring the record up to date, as soon as its server answers. Raises CannotStart."""

    def look() -> str:
        try:
            upgrade_record(alias)
        except RecordServerSilent as error:
            return str(error)
        except RecordUnusable as error:
            raise CannotStart(str(error)) from None
        return ""

    _wait(look, write)


def await_redis(url: str, write: Callable[[str], None]) -> None:
    """Return as soon as the Redis at `url` answers."""
    parts = urlsplit(url)
    # Without name and password.
    place = f"{parts.hostname or parts.path}" + (f":{parts.port}" if parts.port else "")

    def look() -> str:
        client = redis.Redis.from_url(url, socket_connect_timeout=_PING_S, socket_timeout=_PING_S)
        try:
            client.ping()
        except redis.AuthenticationError as error:
            raise CannotStart(f"Redis at {place} (REDIS_URL) refuses: {error}.") from None
        except (redis.ConnectionError, redis.TimeoutError) as error:
            return f"Redis at {place} (REDIS_URL) does not answer: {error}."
        except redis.RedisError as error:
            raise CannotStart(f"Redis at {place} (REDIS_URL) refuses: {error}.") from None
        finally:
            client.close()
        return ""

    _wait(look, write)


def _wait(look: Callable[[], str], write: Callable[[str], None]) -> None:
    said = ""
    while problem := look():
        if problem != said:
            write(f"{problem} Waiting for it; Ctrl-C ends this.")
        said = problem
        time.sleep(TRY_AGAIN_S)
    if said:
        write("It answers now.")
