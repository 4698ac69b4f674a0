"""From the operator's demand to the deleted rows: a leader's loop, workers as processes."""

import threading

import pytest

from cluster.operations.garbage import demand_collection
from cluster.runtime.clock import SystemClock
from cluster.runtime.leader_process import LeaderProcess
from cluster.store.leases import LeaseKeeper
from scheduler.state.collection_noun import COLLECTIONS
from scheduler.state.events import Topic, WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import EVALUATION_STUBS
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.job import JobStatus
from tests.builders import make_allocation, make_evaluation, make_job
from tests.callers import MANAGER
from tests.cluster.runtime.worker_process import start_worker
from tests.patience import PATIENCE_S
from tests.process_store import store

__all__ = ["store"]

pytestmark = pytest.mark.usefixtures("wakes_nobody")

CLOCK = SystemClock()
HOUR_AGO = CLOCK.now() - 3600 * 10**9
ENDED = make_job(status=JobStatus.DEAD.value, stop=True, submit_time=HOUR_AGO)
#: More than two runs take, and many writes.
MANY = 5000


class Operator(threading.Event):
    """Looks in on a leader's loop, demands collection, and ends the loop when all is done."""

    def __init__(self, record, looks_on):
        super().__init__()
        self._record = record
        self._looks_on = looks_on
        self._end = CLOCK.monotonic() + PATIENCE_S
        demand_collection(record, by=MANAGER, now=CLOCK.now())

    def is_set(self):
        if CLOCK.monotonic() >= self._end:
            pytest.fail("it was not collected")
        self._record.read(self._looks_on)
        return self._record.read(has_ended)


def has_ended(reader):
    row = reader.get(COLLECTIONS, "force-gc")
    return not row.is_awaited


class Workers:
    """One worker process after another."""

    def __init__(self, data, redis_url):
        self._means = data, redis_url
        self.running = None
        self.count = 0

    def start(self):
        self.running = start_worker(*self._means)
        self.count += 1

    def kill(self):
        if self.running is not None:
            self.running.kill()
            self.running.wait()
            self.running = None


@pytest.fixture
def workers(tmp_path, redis_url):
    started = Workers(tmp_path, redis_url)
    yield started
    started.kill()


def lead(store, redis_url, looks_on=lambda reader: None):
    keeper = LeaseKeeper("leader", "leader@here")
    LeaderProcess(store, keeper, redis_url).run(Operator(store, looks_on))


def test_what_may_go_is_gone_soon_after_it_was_demanded(store, redis_url, workers):
    alive = make_job(id="alive", status=JobStatus.RUNNING.value, submit_time=HOUR_AGO)
    moments = {"create_time": HOUR_AGO, "modify_time": HOUR_AGO}
    evaluation = make_evaluation(status=EvalStatus.COMPLETE, **moments)
    alloc = make_allocation(
        ENDED, eval_id=evaluation.id, client_status=ClientStatus.COMPLETE, **moments
    )

    def fill(change):
        change.put_job(ENDED)
        change.put_job(alive)
        put_found(change, evaluation)
        put_found(change, alloc)

    before, _ = store.write(WriteKind.PLAN_RESULT, fill, now=HOUR_AGO)
    workers.start()

    lead(store, redis_url)

    def left(reader):
        rows = (reader.jobs(), reader.evaluations(), reader.allocations())
        return [[row.id for row in each] for each in rows]

    assert store.read(left) == [["alive"], [], []]
    row = store.read(lambda reader: reader.get(COLLECTIONS, "force-gc"))
    assert (row.jobs, row.evaluations, row.allocations) == (1, 1, 1)
    assert row.demanded_at <= row.started_at <= row.ended_at
    told = [event for frame in store.frames_since(before) for event in frame.events]
    assert {event.key for event in told if event.topic == Topic.EVALUATION} == {evaluation.id}
    assert not any(event.topic == Topic.LIFECYCLE for event in told)
    stubs = store.read(lambda reader: reader.list_all(EVALUATION_STUBS))
    assert [stub.id for stub in stubs] == [evaluation.id]


def test_a_worker_killed_in_the_middle_is_followed_by_another_that_ends_it(
    store, redis_url, workers
):
    evaluations = [
        make_evaluation(n, status=EvalStatus.COMPLETE, modify_time=HOUR_AGO) for n in range(MANY)
    ]

    def fill(change):
        change.put_job(ENDED)
        for evaluation in evaluations:
            put_found(change, evaluation)

    store.write(WriteKind.PLAN_RESULT, fill, now=HOUR_AGO)
    left_when_killed = []
    workers.start()

    def looks_on(reader):
        row = reader.get(COLLECTIONS, "force-gc")
        if workers.count == 1 and row.evaluations:
            workers.kill()
            left_when_killed.append(len(reader.evaluation_ids(ENDED.key, MANY, only_open=False)))
            workers.start()

    lead(store, redis_url, looks_on)

    assert 0 < left_when_killed[0] < MANY, "it was killed in the middle"
    row = store.read(lambda reader: reader.get(COLLECTIONS, "force-gc"))
    assert (row.jobs, row.evaluations) == (1, MANY)
    assert store.read(lambda reader: [*reader.jobs(), *reader.evaluations()]) == []
