"""Processes count together: guesses and requests, by one Redis; alone where it is away."""

import asyncio

import pytest
import redis

from cluster.failed_guesses import FORGET_S, SharedGuesses
from cluster.request_rates import Rate, RequestRates, address_key
from cluster.runtime.clock import SystemClock

NOWHERE = "redis://127.0.0.1:1/0"
KEYS = {"one name": 4, "one address": 40}
#: So slow that nothing comes back within a test, however slow that is.
SLOW = Rate(per_s=0.0001, burst=6)


@pytest.fixture
def guesses(redis_url):
    """What two processes see of guesses."""
    both = SharedGuesses(redis_url), SharedGuesses(redis_url)
    yield both
    for one in both:
        one.close()


@pytest.fixture
async def rates(redis_url):
    """What three processes see of requests."""
    all_three = [RequestRates(redis_url) for _ in range(3)]
    yield all_three
    for one in all_three:
        await one.close()


def test_guesses_are_counted_together_by_two_processes(guesses):
    one, other = guesses
    for number in range(4):
        (one, other)[number % 2].note(KEYS, 0.0)
    assert one.wait_s(KEYS, 0.0) == other.wait_s(KEYS, 0.0) == 0
    other.note(KEYS, 0.0)
    assert 0 < one.wait_s(KEYS, 0.0) <= 2
    assert 0 < other.wait_s(KEYS, 0.0) <= 2


def test_a_guess_that_was_not_looked_at_does_not_count(guesses):
    one, other = guesses
    for _ in range(15):
        one.note(KEYS, 0.0)
        other.note(KEYS, 0.0)
    # The sixth was never looked at, so the wait did not double.
    assert one.wait_s(KEYS, 0.0) <= 2


def test_an_address_that_tries_many_names_waits_in_every_process(guesses):
    one, other = guesses
    for number in range(41):
        one.note({f"name {number}": 4, "one address": 40}, 0.0)
    assert other.wait_s({"another name": 4, "one address": 40}, 0.0) > 0
    assert other.wait_s({"another name": 4, "another address": 40}, 0.0) == 0


def test_the_right_one_forgives_in_every_process(guesses):
    one, other = guesses
    for _ in range(5):
        one.note({"one name": 4}, 0.0)
    assert other.wait_s({"one name": 4}, 0.0) > 0
    other.forgive("one name", 0.0)
    assert one.wait_s({"one name": 4}, 0.0) == 0


def test_no_name_lies_in_redis(redis_url, guesses):
    guesses[0].note({"address 10.1.7.22 name kim": 4}, 0.0)
    with redis.Redis.from_url(redis_url) as client:
        [key] = client.keys("*")
        assert b"kim" not in key
        assert 0 < client.pttl(key) <= FORGET_S * 1000


def test_without_redis_a_process_goes_by_what_it_saw_itself():
    guesses = SharedGuesses(NOWHERE)
    waits = []
    for _ in range(6):
        waits.append(guesses.wait_s(KEYS, 0.0))
        guesses.note(KEYS, 0.0)
    assert waits == [0, 0, 0, 0, 0, 2]
    assert guesses.wait_s(KEYS, 2.0) == 0


def test_what_was_counted_in_redis_is_known_once_it_is_away(guesses):
    for _ in range(5):
        guesses[0].note(KEYS, 0.0)
    guesses[0]._away_until = 60.0
    assert guesses[0].wait_s(KEYS, 0.0) == 2


async def test_requests_are_counted_together_by_two_processes(rates):
    now = SystemClock().monotonic()
    waits = [await rates[n % 2].wait_s("token a", SLOW, now) for n in range(8)]
    assert waits[:6] == [0] * 6
    assert all(wait > 0 for wait in waits[6:])
    assert await rates[0].wait_s("token b", SLOW, now) == 0


async def test_a_process_that_holds_some_back_gives_out_no_more_than_is_allowed(rates):
    now = SystemClock().monotonic()
    rate = Rate(per_s=0.0001, burst=400)
    waits = [await rates[n % 3].wait_s("a", rate, now) for n in range(600)]
    assert waits.count(0) == 400


async def test_after_the_wait_one_more_passes(rates):
    clock = SystemClock()
    own, rate = rates[0], Rate(per_s=20, burst=3)
    for _ in range(100):
        wait = await own.wait_s("a", rate, clock.monotonic())
        if wait:
            break
    assert 0 < wait <= 0.05
    await asyncio.sleep(wait)
    for _ in range(1000):
        if not await own.wait_s("a", rate, clock.monotonic()):
            return
        await asyncio.sleep(0.01)
    pytest.fail("nothing ever passed again")


async def test_without_redis_each_process_has_a_bucket_of_its_own():
    rates, rate = RequestRates(NOWHERE), Rate(per_s=2, burst=3)
    assert [await rates.wait_s("a", rate, 0.0) for _ in range(4)] == [0, 0, 0, 0.5]
    assert await rates.wait_s("a", rate, 0.25) == 0.25
    assert await rates.wait_s("a", rate, 0.5) == 0


@pytest.mark.parametrize(
    ("one", "other", "are_alike"),
    [
        ("10.1.7.22", "10.1.7.22", True),
        ("10.1.7.22", "10.1.7.23", False),
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("", "nonsense", False),
    ],
)
def test_whom_an_address_stands_for(one, other, are_alike):
    assert (address_key(one) == address_key(other)) is are_alike
