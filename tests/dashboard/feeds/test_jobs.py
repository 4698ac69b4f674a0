"""The live list of jobs: a job and its counts change in different writes and make one row."""

import pytest

from cluster.operations.jobs import JobRegistration, deregister_job, register_job
from dashboard.feeds.jobs import JobsFeed
from dashboard.feeds.pieces import Facts
from dashboard.subscription import Subscription
from scheduler.structs.identity import JobKey
from tests.builders import SOME_MOMENT, CountingIDs, make_job
from tests.callers import MANAGER

KEY = JobKey("default", "web")
TARGET = "jobs-default/web"


@pytest.fixture
def ids():
    return CountingIDs()


@pytest.fixture
def see(sqlite_store):
    """What a feed says about everything above an index."""

    def see(namespaces=None, since=0):
        feed = JobsFeed(Subscription("jobs", "*", namespaces))
        sqlite_store.read(feed.load)
        for frame in sqlite_store.frames_since(since):
            feed.observe(frame)
        return sqlite_store.read(lambda reader: feed.flush(reader, SOME_MOMENT))

    return see


def said(pieces):
    return [(piece.target, piece.mode, piece.container) for piece in pieces]


def test_a_new_job_goes_on_top(sqlite_store, see, ids):
    register_job(
        sqlite_store, JobRegistration(job=make_job(id="web")), by=MANAGER, now=SOME_MOMENT, ids=ids
    )
    assert said(see()) == [(TARGET, "upsert", "jobs")]


def test_a_changed_job_stays_in_its_row(sqlite_store, see, ids):
    register_job(
        sqlite_store, JobRegistration(job=make_job(id="web")), by=MANAGER, now=SOME_MOMENT, ids=ids
    )
    changed = JobRegistration(job=make_job(id="web", priority=70))
    written = register_job(sqlite_store, changed, by=MANAGER, now=SOME_MOMENT, ids=ids)
    (piece,) = see(since=written.index - 1)
    assert said([piece]) == [(TARGET, "replace", "")]
    assert ">70<" in piece.html


def test_a_purged_job_leaves(sqlite_store, see, ids):
    register_job(
        sqlite_store, JobRegistration(job=make_job(id="web")), by=MANAGER, now=SOME_MOMENT, ids=ids
    )
    gone = deregister_job(sqlite_store, KEY, purge=True, by=MANAGER, now=SOME_MOMENT, ids=ids)
    assert said(see(since=gone.index - 1)) == [(TARGET, "remove", "")]


def test_a_job_of_another_namespace_is_not_said(sqlite_store, see, ids):
    register_job(
        sqlite_store, JobRegistration(job=make_job(id="web")), by=MANAGER, now=SOME_MOMENT, ids=ids
    )
    assert see(namespaces=frozenset({"team"})) == ()


def test_one_flush_says_a_job_once(sqlite_store, see, ids):
    for priority in (40, 50, 60):
        job = make_job(id="web", priority=priority)
        register_job(sqlite_store, JobRegistration(job=job), by=MANAGER, now=SOME_MOMENT, ids=ids)
    assert said(see()) == [(TARGET, "upsert", "jobs")]


def test_a_viewer_who_missed_frames_gets_their_rows(sqlite_store, ids):
    register_job(
        sqlite_store, JobRegistration(job=make_job(id="web")), by=MANAGER, now=SOME_MOMENT, ids=ids
    )
    feed = JobsFeed(Subscription("jobs", "*", None))
    frames = sqlite_store.frames_since(0)
    pieces = sqlite_store.read(lambda reader: feed.replay(frames, reader, SOME_MOMENT))
    assert said(pieces) == [(TARGET, "upsert", "jobs")]


def test_the_head_counts_the_jobs_that_are_there_now(sqlite_store, ids):
    feed = JobsFeed(Subscription("jobs", "*", None))
    sqlite_store.read(feed.load)

    def told(since):
        for frame in sqlite_store.frames_since(since):
            feed.observe(frame)
        pieces = sqlite_store.read(lambda reader: feed.flush(reader, SOME_MOMENT))
        return [piece.values for piece in pieces if isinstance(piece, Facts)]

    first = JobRegistration(job=make_job(id="web"))
    index = register_job(sqlite_store, first, by=MANAGER, now=SOME_MOMENT, ids=ids).index
    assert told(0) == [{"jobs-all": "1 job"}]
    deregister_job(sqlite_store, KEY, purge=False, by=MANAGER, now=SOME_MOMENT, ids=ids)
    assert told(index) == []
    index = sqlite_store.index
    deregister_job(sqlite_store, KEY, purge=True, by=MANAGER, now=SOME_MOMENT, ids=ids)
    assert told(index) == [{"jobs-all": "0 jobs"}]
