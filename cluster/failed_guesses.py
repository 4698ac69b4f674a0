"""Guesses that failed, by key, counted by all processes together: how long the next has to wait.

In: keys, each with the number of failures that cost nothing. Out: seconds to wait. Counted
in Redis; where it is away, each process goes by what it saw itself, which it always notes.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import cast

import redis
from redis.exceptions import RedisError

#: The first wait; each further failure doubles it, up to the longest.
FIRST_WAIT_S = 2.0
LONGEST_WAIT_S = 300.0
#: Failures are forgotten after this long without a further one.
FORGET_S = 900.0
#: Keys that a process remembers; the oldest go first.
MOST_KEYS = 20_000
_PATIENCE_S = 0.2
#: Before Redis is asked again after it failed.
_PAUSE_S = 5.0
#: In Redis' own time. Tells the longest wait of the keys; notes a failure if asked to and there
#: is none to wait for: a guess that was not looked at does not count.
_SCRIPT = """
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local first, longest, forget = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local wait, counts = 0, {}
for i, key in ipairs(KEYS) do
  local held = redis.call('HMGET', key, 'count', 'at')
  local count, at = tonumber(held[1] or 0), tonumber(held[2] or now)
  local free = tonumber(ARGV[4 + i])
  if now - at >= forget then count = 0 end
  if count > free then
    local full = math.min(first * 2 ^ math.min(count - free - 1, 20), longest)
    wait = math.max(wait, at + full - now)
  end
  counts[i] = count
end
if ARGV[1] == 'note' and wait <= 0 then
  for i, key in ipairs(KEYS) do
    redis.call('HSET', key, 'count', counts[i] + 1, 'at', string.format('%.6f', now))
    redis.call('PEXPIRE', key, math.ceil(forget * 1000))
  end
end
return string.format('%.6f', wait)
"""

#: Keys with the number of failures that cost nothing.
Keys = Mapping[str, int]


class OwnGuesses:
    """The failures that one process saw; `now` is seconds on a clock that never jumps."""

    def __init__(self) -> None:
        self._noted: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def wait_s(self, keys: Keys, now: float) -> float:
        """Seconds until a guess is looked at; 0 when at once."""
        return max(self._wait(key, free, now) for key, free in keys.items())

    def note(self, keys: Keys, now: float) -> None:
        """A guess failed. One that was not looked at does not count."""
        if self.wait_s(keys, now):
            return
        for key in keys:
            count, at = self._noted.pop(key, (0, now))
            self._noted[key] = (count + 1 if now - at < FORGET_S else 1, now)
        while len(self._noted) > MOST_KEYS:
            self._noted.popitem(last=False)

    def forgive(self, key: str) -> None:
        """The right one came."""
        self._noted.pop(key, None)

    def clear(self) -> None:
        self._noted.clear()

    def _wait(self, key: str, free: int, now: float) -> float:
        count, at = self._noted.get(key, (0, now))
        if count <= free or now - at >= FORGET_S:
            return 0.0
        wait = min(FIRST_WAIT_S * 2.0 ** min(count - free - 1, 20), LONGEST_WAIT_S)
        return max(0.0, at + wait - now)


class SharedGuesses:
    """The same of all processes at one Redis; used from any thread."""

    def __init__(self, url: str) -> None:
        self.own = OwnGuesses()
        self._client = redis.Redis.from_url(
            url, socket_timeout=_PATIENCE_S, socket_connect_timeout=_PATIENCE_S
        )
        self._lock = threading.Lock()
        self._away_until = 0.0

    def wait_s(self, keys: Keys, now: float) -> float:
        """See `OwnGuesses`."""
        shared = self._asked("wait", keys, now)
        if shared is not None:
            return shared
        with self._lock:
            return self.own.wait_s(keys, now)

    def note(self, keys: Keys, now: float) -> None:
        """See `OwnGuesses`."""
        self._asked("note", keys, now)
        with self._lock:
            self.own.note(keys, now)

    def forgive(self, key: str, now: float) -> None:
        """See `OwnGuesses`."""
        with self._lock:
            self.own.forgive(key)
        if now >= self._away_until:
            try:
                self._client.delete(_name(key))
            except (RedisError, OSError):
                self._away_until = now + _PAUSE_S

    def close(self) -> None:
        """End the connections."""
        self._client.close()

    def _asked(self, what: str, keys: Keys, now: float) -> float | None:
        """The longest wait; None while Redis is away."""
        if now < self._away_until:
            return None
        rules = (what, FIRST_WAIT_S, LONGEST_WAIT_S, FORGET_S)
        given = [*map(_name, keys), *map(str, (*rules, *keys.values()))]
        try:
            told = cast("bytes", self._client.eval(_SCRIPT, len(keys), *given))
        except (RedisError, OSError):
            self._away_until = now + _PAUSE_S
            return None
        return max(0.0, float(told))


def _name(key: str) -> str:
    """Names and addresses of people are not left lying in Redis."""
    return f"bivouac:guesses:{hashlib.sha256(key.encode()).hexdigest()[:32]}"
