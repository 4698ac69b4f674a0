"""Many pages on one server: none is refused, idle ones stay, who does not read is told so."""

import time

import httpx
import pytest

from cluster.bench.audience import Audience, Seat
from tests.live.world import MOCK, job, until

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

IDLE_PAGES = 300
#: So many messages are written within this time, if anything is.
NOISE, NOISE_S = 300, 60
#: Three times what libraries with their defaults let an idle socket live.
IDLE_S = 15
EVERYTHING = ("evaluations", "allocations", "jobs", "overview:*")


@pytest.fixture(scope="module")
def cookie(world):
    """The session of the one who used the login link."""
    if not world.session:
        with httpx.Client(follow_redirects=True, trust_env=False) as person:
            person.get(world.stack.login_link).raise_for_status()
            world.session = [
                {"name": item.name, "value": item.value, "url": world.stack.address}
                for item in person.cookies.jar
            ]
    return "; ".join(f"{item['name']}={item['value']}" for item in world.session)


def newest(world) -> int:
    return int(world.api.get("/v1/evaluations").headers["X-Nomad-Index"])


def test_three_hundred_idle_pages_are_let_in_and_stay(world, cookie):
    seat = Seat(("evaluations",), newest(world))
    with Audience(world.stack.address, cookie, [seat] * IDLE_PAGES) as audience:
        before = [page.messages for page in audience.pages]
        time.sleep(IDLE_S)
        pages = audience.pages
        told = [page.messages - had for page, had in zip(pages, before, strict=True)]
    assert [page.refused for page in pages] == [[]] * IDLE_PAGES
    assert [page.opened for page in pages] == [1] * IDLE_PAGES
    assert [page.closed for page in pages] == [[]] * IDLE_PAGES
    assert min(told) >= IDLE_S // 2


def test_a_page_that_does_not_read_is_dropped_and_comes_back_whole(world, cookie):
    seat = Seat(EVERYTHING, newest(world))
    noisy: list[str] = []
    try:
        with Audience(world.stack.address, cookie, [seat]) as audience:
            (reader,) = audience.pages
            (slow,) = audience.stop_reading([seat])
            wanted = reader.messages + NOISE
            deadline = time.monotonic() + NOISE_S
            while reader.messages < wanted:
                assert time.monotonic() < deadline, f"{reader.messages} of {wanted} messages"
                noisy.append(f"noise-{len(noisy)}")
                world.register(job(noisy[-1], task=MOCK))
            audience.read_again([slow])
            until(lambda: slow.closed, "the slow page's line is cut")
            until(lambda: slow.index >= newest(world), "the slow page is whole")
            assert (reader.closed, reader.gaps, reader.reloads) == ([], 0, 0)
            assert (slow.gaps, slow.reloads, slow.refused) == (0, 0, [])
    finally:
        for name in noisy:
            world.purge(name)
