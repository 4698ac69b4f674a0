"""The events: page by page down the log, narrowed, until a moment, and live on the newest page."""

from types import SimpleNamespace

import pytest

from cluster.store.log_reader import index_at
from dashboard.feeds.events import EventsFeed
from dashboard.queries import events
from dashboard.queries.events import EventsWish, events_page
from dashboard.subscription import Subscription
from scheduler.access.access import MANAGEMENT
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.structs.evaluation import EvalStatus
from tests.builders import SECOND, SOME_MOMENT, make_evaluation

VIEWER = SimpleNamespace(access=MANAGEMENT, looks_at=None, chosen="")


@pytest.fixture
def store(sqlite_store):
    """One evaluation ends each second, every third of them fails."""
    for number in range(1, 31):
        put(sqlite_store, number)
    return sqlite_store


def put(store, number):
    status = EvalStatus.FAILED if number % 3 == 0 else EvalStatus.COMPLETE
    now = SOME_MOMENT + number * SECOND

    def work(change):
        made = make_evaluation(
            number, job_id=f"job-{number}", status=status, create_index=1,
            modify_index=change.index, create_time=SOME_MOMENT, modify_time=now,
        )  # fmt: skip
        put_found(change, made)

    store.write(WriteKind.EVALUATION_UPDATED, work, now=now)


def asked(store, address=""):
    query = dict(part.split("=") for part in address.partition("?")[2].split("&") if part)
    wish = EventsWish.from_query(query)
    return store.read(lambda reader: events_page(reader, VIEWER, wish=wish))


def names(page):
    return [row.name for row in page["rows"]]


def test_older_pages_follow_until_all_was_told_once(store, monkeypatch):
    monkeypatch.setattr(events, "MOST_ROWS", 7)
    page, told = asked(store), []
    assert page["live_topics"]
    assert not page["newest_url"]
    while True:
        told += names(page)
        if not page["older_url"]:
            break
        page = asked(store, page["older_url"])
        assert not page["live_topics"]
        assert page["newest_url"] == "/events/"
    assert told == [f"job-{number}" for number in range(30, 0, -1)]


def test_a_page_looks_through_a_piece_of_the_log_and_says_so(store, monkeypatch):
    monkeypatch.setattr(events, "LOOKED_THROUGH", 10)
    monkeypatch.setattr(events, "_STEP", 5)
    page = asked(store, "?q=job-2")
    assert page["is_cut"]
    assert names(page) == [f"job-{number}" for number in range(29, 19, -1)]
    assert "q=job-2" in page["older_url"]
    further = asked(store, page["older_url"])
    assert (names(further), further["is_cut"]) == ([], True)
    assert names(asked(store, further["older_url"])) == ["job-2"]


@pytest.mark.parametrize(
    ("query", "count"),
    [("what=problems", 10), ("what=evaluations", 30), ("what=nodes", 0), ("q=JOB-7", 1),
     ("what=rubbish", 30), ("before=rubbish&until=rubbish", 30)],
)  # fmt: skip
def test_it_is_narrowed_by_what_happened_and_by_words(store, query, count):
    assert len(asked(store, f"?{query}")["rows"]) == count


def test_it_may_end_at_a_moment(store):
    def at(reader):
        moments = (-1, SOME_MOMENT + 5 * SECOND, SOME_MOMENT + 99 * SECOND)
        return [index_at(reader, moment) for moment in moments]

    before, fifth, last = store.read(at)
    assert (before, last) == (0, store.index)
    assert fifth == last - 25
    page = asked(store, f"?before={fifth + 1}")
    assert names(page) == [f"job-{number}" for number in range(5, 0, -1)]


def test_an_open_page_tells_what_a_fresh_one_tells(store, monkeypatch):
    monkeypatch.setattr(events, "MOST_ROWS", 5)
    feed = EventsFeed(Subscription("events", "*/what=problems", None, frozenset({"node:read"})))
    store.read(feed.load)
    for number in range(31, 40):
        since, now = store.index, SOME_MOMENT + number * SECOND
        put(store, number)
        for frame in store.frames_since(since):
            feed.observe(frame)
        assert feed.is_due(now)
        pieces = store.read(lambda reader, now=now: feed.flush(reader, now))
        fresh = asked(store, "?what=problems")["rows"]
        if number % 3 == 0:
            (panel,) = pieces
            assert all(f">{row.name}<" in panel.html for row in fresh)
            assert panel.html.count("</tr>") == 1 + len(fresh)
