"""From the operator's demand to the deleted rows, through the leader's own loop."""

import threading

import pytest

from cluster.operations.garbage import demand_collection
from cluster.runtime.clock import SystemClock
from cluster.runtime.leader_process import LeaderProcess
from cluster.store.leases import LeaseKeeper
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.job import JobStatus
from tests.builders import make_allocation, make_evaluation, make_job
from tests.callers import MANAGER
from tests.process_store import store

__all__ = ["store"]

from tests.patience import PATIENCE_S


class Operator(threading.Event):
    """Looks in on a leader's loop: demands collection once it leads, and ends it when all is done.

    What a leader does not yet follow it would not hear of.
    """

    def __init__(self, record, is_done):
        super().__init__()
        self._record = record
        self._is_done = is_done
        self._clock = SystemClock()
        self._end = self._clock.monotonic() + PATIENCE_S
        self._looks = 0

    def is_set(self):
        self._looks += 1
        if self._looks == 3:
            demand_collection(self._record, by=MANAGER, now=self._clock.now())
        if self._clock.monotonic() >= self._end:
            pytest.fail("it was not collected")
        return self._record.read(self._is_done)


def test_what_may_go_is_gone_soon_after_it_was_demanded(store, redis_url):
    now = SystemClock().now()
    ended = make_job(status=JobStatus.DEAD.value, stop=True, submit_time=now)
    alive = make_job(id="alive", status=JobStatus.RUNNING.value, submit_time=now)
    moments = {"create_time": now, "modify_time": now}
    evaluation = make_evaluation(status=EvalStatus.COMPLETE, **moments)
    alloc = make_allocation(
        ended, eval_id=evaluation.id, client_status=ClientStatus.COMPLETE, **moments
    )

    def fill(change):
        change.put_job(ended)
        change.put_job(alive)
        put_found(change, evaluation)
        put_found(change, alloc)

    store.write(WriteKind.PLAN_RESULT, fill, now=now)
    operator = Operator(store, lambda reader: reader.job(ended.key) is None)

    LeaderProcess(store, LeaseKeeper("leader", "leader@here"), redis_url).run(operator)

    def left(reader):
        rows = (reader.jobs(), reader.evaluations(), reader.allocations())
        return [[row.id for row in each] for each in rows]

    assert store.read(left) == [["alive"], [], []]
