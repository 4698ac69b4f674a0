"""Commits that no leader saw, through the loops of two leaders and the lease between them."""

import threading
from collections.abc import Callable

import msgspec
import pytest
from msgspec.structs import replace

from cluster.runtime import leader_process
from cluster.runtime.clock import SystemClock
from cluster.runtime.drainer import TYPES
from cluster.runtime.leader_channel import LeaderChannel
from cluster.runtime.leader_process import LeaderProcess
from cluster.runtime.leader_protocol import DEQUEUE, DequeueBody
from cluster.store.leases import LeaseKeeper, read_lease
from scheduler.messages import SCHEDULER_VERSION, Delivery
from scheduler.state.events import WriteKind
from scheduler.state.nouns import SCHEDULER_SETTINGS
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.node import NodeEligibility
from scheduler.structs.scheduler_settings import SchedulerSettings
from tests.builders import make_evaluation, make_node
from tests.process_store import store

__all__ = ["store"]

from tests.patience import PATIENCE_S

pytestmark = pytest.mark.usefixtures("wakes_nobody")

CLOCK = SystemClock()
OPEN = make_node()
BLOCKED = make_evaluation(status=EvalStatus.BLOCKED, snapshot_index=1000)
CLOSED = replace(OPEN, scheduling_eligibility=NodeEligibility.INELIGIBLE)


class Until(threading.Event):
    """Stops a leader as soon as something holds."""

    def __init__(self, holds: Callable[[], bool], what: str) -> None:
        super().__init__()
        self._holds, self._what = holds, what
        self._end = CLOCK.monotonic() + PATIENCE_S

    def is_set(self) -> bool:
        if CLOCK.monotonic() >= self._end:
            pytest.fail(f"not in time: {self._what}")
        return self._holds()


def lead(record, redis_url, holds, what):
    LeaderProcess(record, LeaseKeeper("leader", f"for {what}"), redis_url).run(Until(holds, what))


def write(record, kind, work):
    record.write(kind, work, now=CLOCK.now())


class Worker:
    """Asks once for an evaluation, and remembers the answer."""

    def __init__(self, redis_url: str) -> None:
        self.answer: tuple[Delivery, ...] | None = None
        self._channel = LeaderChannel(redis_url, "worker@here")
        self._wait_s = 2.0

    def was_answered(self) -> bool:
        if not self._channel.has_pending:
            body = DequeueBody("worker@here", TYPES, 1, self._wait_s, SCHEDULER_VERSION)
            self._channel.send(DEQUEUE, body)
        for answer in self._channel.collect(0.0):
            assert not answer.error
            self.answer = msgspec.msgpack.decode(answer.body, type=tuple[Delivery, ...])
        return self.answer is not None

    def close(self) -> None:
        self._channel.close()


@pytest.fixture
def worker(redis_url):
    worker = Worker(redis_url)
    yield worker
    worker.close()


def has_followed(record):
    def holds() -> bool:
        lease = read_lease("leader")
        return lease is not None and lease.followed_index == record.index

    return holds


@pytest.fixture
def waiting(store, redis_url):
    """An evaluation that waits for a closed node, known to a leader that has gone."""

    def fill(change):
        change.put_node(CLOSED)
        change.put_evaluation(BLOCKED)

    write(store, WriteKind.EVALUATION_UPDATED, fill)
    lead(store, redis_url, has_followed(store), "the first leader has followed")


@pytest.mark.usefixtures("waiting")
def test_room_that_appeared_between_two_leaders_is_noticed_by_the_second(store, redis_url, worker):
    write(store, WriteKind.NODE_ELIGIBILITY, lambda change: change.put_node(OPEN))
    lead(store, redis_url, worker.was_answered, "it runs again")
    assert [each.evaluation.id for each in worker.answer] == [BLOCKED.id]


@pytest.mark.usefixtures("waiting")
def test_what_a_leader_has_heard_is_not_told_again(store, redis_url, worker):
    lead(store, redis_url, worker.was_answered, "there is nothing")
    assert worker.answer == ()


@pytest.mark.usefixtures("waiting")
def test_of_too_many_commits_none_is_read(store, redis_url, worker, monkeypatch):
    monkeypatch.setattr(leader_process, "MOST_UNHEARD", 0)
    write(store, WriteKind.NODE_ELIGIBILITY, lambda change: change.put_node(CLOSED))
    lead(store, redis_url, worker.was_answered, "it runs again to be safe")
    assert [each.evaluation.id for each in worker.answer] == [BLOCKED.id]


@pytest.mark.usefixtures("waiting")
def test_room_that_appeared_while_the_broker_was_paused_is_noticed_when_it_goes_on(
    store, redis_url, worker
):
    def pause(paused):
        settings = SchedulerSettings(pause_eval_broker=paused)
        write(
            store,
            WriteKind.SCHEDULER_SETTINGS_UPDATED,
            lambda change: change.put(SCHEDULER_SETTINGS, settings),
        )

    pause(True)
    write(store, WriteKind.NODE_ELIGIBILITY, lambda change: change.put_node(OPEN))
    looks = iter(range(10_000))

    def goes_on_after_a_while():
        if next(looks) == 3:
            pause(False)
        return worker.was_answered()

    lead(store, redis_url, goes_on_after_a_while, "it runs again")
    assert [each.evaluation.id for each in worker.answer] == [BLOCKED.id]
