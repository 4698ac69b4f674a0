"""How many requests each caller may send: a bucket of tokens per caller, shared by all processes.

In: a key of a caller, a rate. Out: 0, or seconds to wait. The bucket stands in Redis; a process
takes a handful of tokens from it at a time, so that most requests ask nobody. Where Redis is away,
each process has a bucket of its own.
"""

import asyncio
import hashlib
import math
from collections import OrderedDict
from collections.abc import Awaitable
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple, cast

import redis.asyncio
from django.conf import settings
from redis.exceptions import RedisError

#: Of one's rate: how much a process takes at a time.
_SHARE_S = 0.05
#: Callers that a process remembers; the longest unheard go first.
MOST_CALLERS = 20_000
_PATIENCE_S = 0.2
#: Before Redis is asked again after it failed.
_PAUSE_S = 5.0
#: In Redis' own time, so that processes need not agree on one.
_TAKE = """
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local rate, burst, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local held = redis.call('HMGET', KEYS[1], 'left', 'at')
local left = tonumber(held[1] or burst)
local at = tonumber(held[2] or now)
left = math.min(burst, left + math.max(0, now - at) * rate)
local given = math.floor(math.min(wanted, left))
left = left - given
redis.call('HSET', KEYS[1], 'left', string.format('%.6f', left), 'at', string.format('%.6f', now))
redis.call('PEXPIRE', KEYS[1], math.ceil(burst / rate * 1000) + 1000)
if given > 0 then return {given, '0'} end
return {0, string.format('%.6f', (1 - left) / rate)}
"""


class Rate(NamedTuple):
    """So many requests a second in the long run, and so many at once."""

    per_s: float
    burst: float


class _Bucket:
    """What a process holds for one caller."""

    __slots__ = ("at", "closed_until", "left", "own")

    def __init__(self, burst: float, now: float) -> None:
        #: Taken from the shared bucket, not used yet.
        self.left = 0
        self.closed_until = 0.0
        #: The bucket that counts while Redis is away.
        self.own = burst
        self.at = now


class RequestRates:
    """The buckets of one process; used on its event loop."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._redis: redis.asyncio.Redis | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._away_until = 0.0

    async def wait_s(self, key: str, rate: Rate, now: float) -> float:
        """Count one request; the seconds to wait when it may not pass, else 0.

        `now`: seconds on a clock that never jumps.
        """
        bucket = self._bucket(key, rate, now)
        if bucket.left:
            bucket.left -= 1
            return 0.0
        if now < bucket.closed_until:
            return bucket.closed_until - now
        wait = await self._shared(bucket, key, rate, now)
        if wait is None:
            wait = _own(bucket, rate, now)
        bucket.closed_until = now + wait
        return wait

    async def close(self) -> None:
        """End the connection."""
        client, self._redis = self._redis, None
        if client is not None:
            await client.aclose()

    def _bucket(self, key: str, rate: Rate, now: float) -> _Bucket:
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = _Bucket(rate.burst, now)
            if len(self._buckets) > MOST_CALLERS:
                self._buckets.popitem(last=False)
        else:
            self._buckets.move_to_end(key)
        return bucket

    async def _shared(self, bucket: _Bucket, key: str, rate: Rate, now: float) -> float | None:
        """As `wait_s`, by the bucket that all processes share; None while Redis is away."""
        if now < self._away_until:
            return None
        wanted = max(1, math.floor(min(rate.per_s * _SHARE_S, rate.burst * _SHARE_S)))
        try:
            asked = self._client().eval(_TAKE, 1, _name(key), *map(str, (*rate, wanted)))
            given, wait = await cast("Awaitable[list[bytes]]", asked)
        except (RedisError, OSError, TimeoutError):
            self._away_until = now + _PAUSE_S
            return None
        if not int(given):
            return max(float(wait), 0.001)
        bucket.left += int(given) - 1
        return 0.0

    def _client(self) -> redis.asyncio.Redis:
        """A connection belongs to the loop it was opened on."""
        loop = asyncio.get_running_loop()
        if self._redis is None or self._loop is not loop:
            self._loop = loop
            self._redis = redis.asyncio.Redis.from_url(
                self._url, socket_timeout=_PATIENCE_S, socket_connect_timeout=_PATIENCE_S
            )
        return self._redis


def _own(bucket: _Bucket, rate: Rate, now: float) -> float:
    """As `wait_s`, by this process alone."""
    bucket.own = min(rate.burst, bucket.own + (now - bucket.at) * rate.per_s)
    bucket.at = now
    if bucket.own < 1:
        return (1 - bucket.own) / rate.per_s
    bucket.own -= 1
    return 0.0


def address_key(address: str) -> str:
    """Whom an address stands for: of the longer kind, the network that one customer gets."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return f"address {address[:64]}"
    if isinstance(parsed, IPv6Address):
        return f"network {int(parsed) >> 64:x}"
    return f"address {parsed}"


def rate_of(*, is_management: bool = False) -> Rate | None:
    """What the settings allow a caller; None: as much as it likes."""
    per_s = settings.BIVOUAC_RATE_MANAGEMENT if is_management else settings.BIVOUAC_RATE
    if not per_s:
        return None
    # What is allowed in a second may also come at once.
    return Rate(per_s, max(settings.BIVOUAC_BURST, per_s, 1.0))


def told_to_wait(wait_s: float) -> str:
    """The value of `Retry-After`: whole seconds, at least one."""
    return str(max(1, math.ceil(wait_s)))


def _name(key: str) -> str:
    return f"bivouac:rate:{hashlib.sha256(key.encode()).hexdigest()[:32]}"


RATES = RequestRates(settings.BIVOUAC_REDIS_URL)
