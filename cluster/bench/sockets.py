"""Many pages open while a storm passes: who is served, what is lost, how late (goals.md P9, F21).

200 sockets follow the product's list pages. First rows change at the steady pace of ui.md 2.6;
then a tenth of the storm in `storm.py` passes twice, as fast as it can, the second time with some
that do not read; at last all lose their line and come back at once. A transition is one commit
that a page shows.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import cycle, islice
from time import sleep

import httpx

from cluster.bench.audience import Audience, OpenPage, Seat
from cluster.bench.moments import Commit, Moments
from cluster.bench.paces import BUSY, register_at
from cluster.bench.passive_fleet import PassiveFleet
from cluster.bench.processes import Meter
from cluster.bench.scenario import Figures, Options, passive, percentile, require, target
from cluster.bench.storm import fill, fleets
from cluster.bench.target import NotSettled, Target
from cluster.fleet.blueprint import FleetOptions
from cluster.runtime.clock import SystemClock
from scheduler.state.events import Topic

NODES = 10
SLOW = 20
STEADY_S = 20
PATHS = ("/evaluations/", "/", "/allocations/", "/nodes/")
#: Of each page's own topic, whose rows' commits it shows; what all pages follow is not counted.
_SHOWN = {
    "evaluations": Topic.EVALUATION,
    "overview": Topic.EVALUATION,
    "allocations": Topic.ALLOCATION,
    "nodes": Topic.NODE,
}
#: The nodes for what comes steadily: those of the storm are just large enough for it.
_ELSEWHERE = FleetOptions(
    nodes=NODES, cpu=(64_000,), memory=(131_072,), datacenters=("steady",), name_prefix="steady"
)
_IDLE_S = 10
_ARRIVED_S = 60
#: What a page says that it follows, and from which index on.
FOLLOWED = re.compile(r'<body\s+data-live="(?P<topics>[^"]*)"\s+data-index="(?P<index>\d+)"')
_CLOCK = SystemClock()


def run(options: Options) -> Figures:
    """Fill a cluster, let the audience in, and measure each part of it."""
    home, spare = fleets(options.scaled(NODES))
    with target(options) as aim, passive(aim, home) as at_home:
        moments = Moments(aim)
        fill(aim, home.nodes)
        with passive(aim, spare) as elsewhere, passive(aim, _ELSEWHERE):
            aim.until_quiet()
            cookie, seats = _seats(aim, options.viewers)
            before = _web_mb(aim)
            with Audience(aim.address, cookie, seats) as audience:
                figures = _at_rest(aim, audience, before)
                figures |= _steady(aim, moments, audience, STEADY_S * options.scale)
                since = moments.index()
                figures |= _storm(aim, moments, audience, at_home, "storm")
                figures |= _with_slow_ones(aim, moments, audience, elsewhere, seats)
                figures |= _back_alone(aim, moments, audience, seats, since)
                figures |= _back_at_once(aim, moments, audience, since)
    return figures


def _seats(aim: Target, count: int) -> tuple[str, list[Seat]]:
    """Sign in once and load the pages; the cookie, and what each socket follows."""
    assert aim.stack is not None, "Moments refuses other clusters"
    seats = []
    with httpx.Client(base_url=aim.address, trust_env=False, follow_redirects=True) as person:
        person.get(aim.stack.login_link).raise_for_status()
        for path in PATHS:
            found = FOLLOWED.search(person.get(path).raise_for_status().text)
            assert found is not None, f"{path} is a live page"
            seats.append(Seat(tuple(found["topics"].split(",")), int(found["index"])))
        cookie = "; ".join(f"{name}={value}" for name, value in person.cookies.items())
    return cookie, [*islice(cycle(seats), count)]


def _at_rest(aim: Target, audience: Audience, before: float) -> Figures:
    sleep(_IDLE_S)
    pages = audience.pages
    require(f"refused, {_reasons(pages)}", sum(len(page.refused) for page in pages), 0)
    return {
        "viewers": len(pages),
        "refused": 0,
        "idle_closed": sum(len(page.closed) for page in pages),
        "web_memory_mb": before,
        "memory_per_viewer_kb": (_web_mb(aim) - before) * 1024 / len(pages),
    }


def _steady(aim: Target, moments: Moments, audience: Audience, seconds: float) -> Figures:
    """Jobs are registered at the pace that the budget names."""

    def work() -> None:
        register_at(BUSY, aim, seconds, _ELSEWHERE.datacenters)
        aim.until_quiet()

    return _told(aim, moments, audience, work, "steady")


def _storm(
    aim: Target, moments: Moments, audience: Audience, fleet: PassiveFleet, name: str
) -> Figures:
    """The nodes of a fleet go down and come back; every page gets to know all of it."""

    def work() -> None:
        for status in ("down", "ready"):
            fleet.say(status)
            aim.until_quiet()

    return _told(aim, moments, audience, work, name)


def _told(
    aim: Target, moments: Moments, audience: Audience, work: Callable[[], None], name: str
) -> Figures:
    """What the pages are told of the commits that `work` brings about, and when."""
    since = moments.index()
    for page in audience.pages:
        page.arrivals.clear()
    troubled, before = _troubles(audience.pages), _web_mb(aim)
    meter = Meter({"web": aim.pids["web"]})
    began = _CLOCK.monotonic()
    work()
    took = _CLOCK.monotonic() - began
    _all_at(aim, audience.pages, moments.index())
    commits = moments.commits(since)
    rows = sum(sum(commit.rows.values()) for commit in commits)
    spans = spans_of(audience.pages, commits)
    shown = sum(len(_shown(topic, commits)) for page in audience.pages for topic in page.have)
    return {
        f"{name}_s": took,
        f"{name}_commits": len(commits),
        f"{name}_rows": rows,
        f"{name}_rows_per_s": rows / took,
        f"{name}_delivered": len(spans),
        f"{name}_delivered_per_s": len(spans) / took,
        f"{name}_lost": shown - len(spans),
        f"{name}_had_to_resync": _troubles(audience.pages) - troubled,
        f"{name}_p50_ms": percentile(spans, 0.50),
        f"{name}_p95_ms": percentile(spans, 0.95),
        f"{name}_p99_ms": percentile(spans, 0.99),
        f"{name}_web_cpu_s": meter.cpu_s()["web_cpu_s"],
        f"{name}_web_grew_mb": _web_mb(aim) - before,
    }


def _with_slow_ones(
    aim: Target, moments: Moments, audience: Audience, fleet: PassiveFleet, seats: Sequence[Seat]
) -> Figures:
    index = moments.index()
    slow = audience.stop_reading([Seat(seat.topics, index) for seat in seats[:SLOW]])
    figures = _storm(aim, moments, audience, fleet, "slow_storm")
    began = _CLOCK.monotonic()
    audience.read_again(slow)
    _all_at(aim, slow, moments.index())
    return figures | {
        "slow_readers": len(slow),
        "slow_readers_dropped": sum(bool(page.closed) for page in slow),
        "slow_readers_whole_after_s": _CLOCK.monotonic() - began,
    }


def _back_alone(
    aim: Target, moments: Moments, audience: Audience, seats: Sequence[Seat], since: int
) -> Figures:
    """One page of each kind comes back, one after the other; the slowest counts."""
    newest = moments.index()
    commits = moments.commits(since)
    spans = []
    for seat in seats[: len(PATHS)]:
        began = _CLOCK.monotonic()
        _all_at(aim, audience.come([Seat(seat.topics, since)]), newest)
        spans.append(_CLOCK.monotonic() - began)
    return {
        "return_missed_rows": sum(sum(commit.rows.values()) for commit in commits),
        "return_alone_whole_after_s": max(spans),
    }


def _back_at_once(aim: Target, moments: Moments, audience: Audience, since: int) -> Figures:
    newest = moments.index()
    reloads = sum(page.reloads for page in audience.pages)
    refused = sum(len(page.refused) for page in audience.pages)
    began = _CLOCK.monotonic()
    audience.all_again_from(since)
    _all_at(aim, audience.pages, newest)
    return {
        "return_missed_commits": newest - since,
        "return_all_whole_after_s": _CLOCK.monotonic() - began,
        "return_told_to_reload": sum(page.reloads for page in audience.pages) - reloads,
        "return_tried_again": sum(len(page.refused) for page in audience.pages) - refused,
    }


def _all_at(aim: Target, pages: Sequence[OpenPage], index: int) -> None:
    try:
        aim.until(lambda: all(page.index >= index for page in pages), "", _ARRIVED_S)
    except NotSettled:
        behind = [page for page in pages if page.index < index]
        raise NotSettled(
            f"{len(behind)} of {len(pages)} pages did not come to {index} within {_ARRIVED_S} s;"
            f" one is {behind[0].told()}"
        ) from None


def _reasons(pages: Sequence[OpenPage]) -> str:
    return "; ".join(sorted({reason for page in pages for reason in page.refused})[:3])


def _troubles(pages: Sequence[OpenPage]) -> int:
    return sum(page.gaps + page.reloads + len(page.closed) for page in pages)


def _shown(topic: str, commits: Sequence[Commit]) -> list[Commit]:
    wanted = _SHOWN.get(topic.partition(":")[0])
    return [commit for commit in commits if wanted in commit.rows]


def spans_of(pages: Sequence[OpenPage], commits: Sequence[Commit]) -> list[float]:
    """Milliseconds from each shown commit to its arrival, page by page."""
    shown = {topic: _shown(topic, commits) for page in pages for topic in page.have}
    indexes = {topic: [commit.index for commit in of] for topic, of in shown.items()}
    spans = []
    for page in pages:
        for arrival in page.arrivals:
            known = indexes[arrival.topic]
            first, last = bisect_right(known, arrival.since), bisect_right(known, arrival.index)
            spans += [
                (arrival.at - commit.at) / 1e6 for commit in shown[arrival.topic][first:last]
            ]
    return spans


def _web_mb(aim: Target) -> float:
    """Memory of the web server. Raises NotSettled when it has just died."""
    with suppress(KeyError):
        return Meter({"web": aim.pids["web"]}).memory_mb()["web_memory_mb"]
    raise NotSettled("the web server is not running")
