import pytest

from cluster.bench.audience import Arrival, OpenPage
from cluster.bench.moments import Commit
from cluster.bench.sockets import spans_of
from dashboard.live.messages import Frame, Hint, Reload, TopicRefused, UpToDate, encoded
from scheduler.state.events import Topic

AT = 1_700_000_000_000_000_000


def frame(topic="nodes", since=5, index=7):
    return Frame(topic=topic, since=since, index=index, at=1, pieces=())


@pytest.mark.parametrize(
    ("message", "goes_on", "have"),
    [
        pytest.param(frame(), True, {"nodes": 7, "jobs": 5}, id="frame-continues"),
        pytest.param(frame(since=3), True, {"nodes": 7, "jobs": 5}, id="frame-overlaps"),
        pytest.param(frame(since=6), False, {"nodes": 5, "jobs": 5}, id="frame-leaves-a-gap"),
        pytest.param(UpToDate(index=9, at=1), True, {"nodes": 9, "jobs": 9}, id="beat"),
        pytest.param(
            Reload(reason="r", index=4), True, {"nodes": 4, "jobs": 4}, id="reload-starts-again"
        ),
        pytest.param(Hint(topic="jobs", pieces=()), True, {"nodes": 5, "jobs": 5}, id="hint"),
    ],
)
def test_a_page_keeps_count_of_what_it_has(message, goes_on, have):
    page = OpenPage({"nodes": 5, "jobs": 5})
    assert page.take(encoded(message), AT) is goes_on
    assert page.have == have


def test_a_page_tells_gaps_reloads_and_refusals_apart():
    page = OpenPage({"nodes": 5})
    page.take(encoded(frame(since=6)), AT)
    page.take(encoded(Reload(reason="trimmed", index=8)), AT)
    page.take(encoded(TopicRefused(topic="nodes", reason="unknown")), AT)
    assert (page.gaps, page.reloads, page.refused) == (1, 1, ["unknown"])


def test_every_commit_a_page_shows_counts_from_its_own_instant():
    commits = [
        Commit(6, AT, {Topic.NODE: 1}),
        Commit(7, AT + 4_000_000, {Topic.JOB: 1}),
        Commit(8, AT + 9_000_000, {Topic.NODE: 2}),
    ]
    page = OpenPage({"nodes": 8, "navigation": 8})
    page.arrivals += [
        Arrival("nodes", 5, 8, AT + 10_000_000),
        Arrival("navigation", 5, 8, AT + 99_000_000),
    ]
    assert spans_of([page], commits) == [10.0, 1.0]
