"""The live list of jobs: a job and its counts change in different writes and make one row."""

import pytest

from cluster.operations.jobs import JobRegistration, deregister_job, register_job
from dashboard.live.jobs_room import JobsRoom
from dashboard.live.subscriptions import Subscription
from scheduler.structs.identity import JobKey
from tests.builders import SOME_MOMENT, CountingIDs, make_job

KEY = JobKey("default", "web")
TARGET = "jobs-default/web"


@pytest.fixture
def ids():
    return CountingIDs()


@pytest.fixture
def see(sqlite_store):
    """What a room says about everything above an index."""

    def see(namespaces=None, since=0):
        room = JobsRoom(Subscription("jobs", "*", namespaces))
        for frame in sqlite_store.frames_since(since):
            room.observe(frame)
        return sqlite_store.read(lambda reader: room.flush(reader, SOME_MOMENT))

    return see


def said(pieces):
    return [(piece.target, piece.mode, piece.container) for piece in pieces]


def test_a_new_job_goes_on_top(sqlite_store, see, ids):
    register_job(sqlite_store, JobRegistration(job=make_job(id="web")), now=SOME_MOMENT, ids=ids)
    assert said(see()) == [(TARGET, "upsert", "jobs")]


def test_a_changed_job_stays_in_its_row(sqlite_store, see, ids):
    register_job(sqlite_store, JobRegistration(job=make_job(id="web")), now=SOME_MOMENT, ids=ids)
    changed = JobRegistration(job=make_job(id="web", priority=70))
    written = register_job(sqlite_store, changed, now=SOME_MOMENT, ids=ids)
    (piece,) = see(since=written.index - 1)
    assert said([piece]) == [(TARGET, "replace", "")]
    assert ">70<" in piece.html


def test_a_purged_job_leaves(sqlite_store, see, ids):
    register_job(sqlite_store, JobRegistration(job=make_job(id="web")), now=SOME_MOMENT, ids=ids)
    gone = deregister_job(sqlite_store, KEY, purge=True, now=SOME_MOMENT, ids=ids)
    assert said(see(since=gone.index - 1)) == [(TARGET, "remove", "")]


def test_a_job_of_another_namespace_is_not_said(sqlite_store, see, ids):
    register_job(sqlite_store, JobRegistration(job=make_job(id="web")), now=SOME_MOMENT, ids=ids)
    assert see(namespaces=frozenset({"team"})) == ()


def test_one_flush_says_a_job_once(sqlite_store, see, ids):
    for priority in (40, 50, 60):
        job = make_job(id="web", priority=priority)
        register_job(sqlite_store, JobRegistration(job=job), now=SOME_MOMENT, ids=ids)
    assert said(see()) == [(TARGET, "upsert", "jobs")]


def test_a_viewer_who_missed_frames_gets_their_rows(sqlite_store, ids):
    register_job(sqlite_store, JobRegistration(job=make_job(id="web")), now=SOME_MOMENT, ids=ids)
    room = JobsRoom(Subscription("jobs", "*", None))
    frames = sqlite_store.frames_since(0)
    pieces = sqlite_store.read(lambda reader: room.replay(frames, reader, SOME_MOMENT))
    assert said(pieces) == [(TARGET, "upsert", "jobs")]
