"""Deletions at the leader's desk: under a token, one at a time, and told when they fail."""

import pytest

from cluster.operations.garbage import demand_collection
from cluster.runtime.clock import SystemClock
from cluster.runtime.leader_protocol import REAP, ReapBody
from scheduler.errors import Fenced
from scheduler.messages import Reap, Reaped, ReapRequest
from scheduler.state.found_rows import put_found
from scheduler.structs.collection import forced_cutoffs
from scheduler.structs.evaluation import EvalStatus
from tests.builders import make_evaluation
from tests.callers import MANAGER
from tests.cluster.runtime.test_leader_desk import Office
from tests.patience import PATIENCE_S

#: The desk's own.
CLOCK = SystemClock()
OLD = 1
ENDED = [make_evaluation(n, status=EvalStatus.COMPLETE, modify_time=OLD) for n in (1, 2)]


class CoreOffice(Office):
    """A worker that was handed a forced collection."""

    def __init__(self, redis_url):
        super().__init__(redis_url)
        world = self.world
        world.store.write("t", lambda change: [put_found(change, each) for each in ENDED], now=OLD)
        world.follow()
        demand_collection(world.store, by=MANAGER, now=CLOCK.now())
        world.follow()
        world.leader.tick(CLOCK.moment())
        [self.delivery] = world.leader.dequeue("worker@here", ("_core",), 1, CLOCK.moment())

    def ask_for(self, *eval_ids, token=""):
        """Send a request to delete evaluations; served, but not done yet."""
        now = CLOCK.now()
        request = ReapRequest(
            eval_id=self.delivery.evaluation.id,
            token=token or self.delivery.token,
            reap=Reap(
                core_job="force-gc",
                started_at=now,
                cutoffs=forced_cutoffs(now),
                evaluations=eval_ids,
            ),
        )
        self.channel.send(REAP, ReapBody("worker@here", request))
        self.channel.flush()
        self.desk.serve(self.inbox.drain(PATIENCE_S))

    def told(self):
        """What the answers say that have come, each its error or what was deleted."""
        return [answer.error or REAP.read_answer(answer) for answer in self.channel.collect(0.01)]

    def left(self):
        return [row.id for row in self.world.store.evaluations()]


@pytest.fixture
def office(redis_url):
    opened = CoreOffice(redis_url)
    yield opened
    opened.close()


def test_one_deletion_is_done_at_a_time_and_the_next_one_soon(office):
    for evaluation in ENDED:
        office.ask_for(evaluation.id)
    assert office.told() == []
    assert office.desk.next_deadline() == 0.0
    office.desk.reap()
    assert (office.told(), office.left()) == ([Reaped(evaluations=1)], [ENDED[1].id])
    office.desk.reap()
    assert (office.told(), office.left()) == ([Reaped(evaluations=1)], [])
    assert office.desk.next_deadline() is None
    office.desk.reap()


def test_a_stranger_to_the_delivery_deletes_nothing(office):
    office.ask_for(ENDED[0].id, token="another")
    office.desk.reap()
    assert office.told() == ["evaluation token does not match"]
    assert len(office.left()) == 2


def test_more_than_one_write_may_delete_is_refused(office):
    office.ask_for(*map(str, range(7282)))
    office.desk.reap()
    assert office.told() == ["too much to be deleted in one write"]


def test_a_write_that_fails_is_told_and_the_leader_goes_on(office, monkeypatch):
    def fail(*_args, **_means):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(office.world.store, "write", fail)
        office.ask_for(ENDED[0].id)
        office.desk.reap()
    assert office.told() == ["the deletion could not be committed"]
    office.ask_for(ENDED[0].id)
    office.desk.reap()
    assert office.told() == [Reaped(evaluations=1)]


def test_a_leader_that_is_none_any_more_steps_down(office):
    office.world.store.grant_lease("leader", 8)
    office.ask_for(ENDED[0].id)
    with pytest.raises(Fenced):
        office.desk.reap()
    assert len(office.left()) == 2
