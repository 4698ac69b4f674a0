"""The leader's desk and who asks it for evaluations; numbers are rows of evaluations.md 17."""

import pytest

from cluster.runtime.inbox import Inbox
from cluster.runtime.leader_channel import LeaderChannel
from cluster.runtime.leader_desk import LeaderDesk
from cluster.runtime.leader_protocol import DEQUEUE, DequeueBody
from scheduler.messages import SCHEDULER_VERSION
from tests.builders import make_evaluation
from tests.patience import PATIENCE_S
from tests.scheduler.leading import make_world, pause_broker

WAIT_S = 0.05


class Lease:
    name = "leader"
    epoch = 7


class Office:
    """A leader at its desk, and one worker process that writes to it."""

    def __init__(self, redis_url: str) -> None:
        self.world = make_world()
        self.inbox = Inbox(redis_url, Lease.epoch)
        self.inbox.start()
        self.desk = LeaderDesk(self.world.leader, self.inbox, self.world.store, Lease())
        self.channel = LeaderChannel(redis_url, "worker@here")

    def ask(self, wait_s=WAIT_S, types=("service",), version=SCHEDULER_VERSION):
        self.channel.send(DEQUEUE, DequeueBody("worker@here", types, 1, wait_s, version))
        self.channel.flush()
        requests = self.inbox.drain(PATIENCE_S)
        assert len(requests) == 1
        self.desk.serve(requests)
        self.desk.serve_parked()

    def answer(self):
        """The error, and what was delivered; None while there is no answer."""
        for answer in self.channel.collect(0.01):
            found = None if answer.error else DEQUEUE.read_answer(answer)
            return answer.error, found
        return None

    def answer_in_time(self):
        for _ in range(100):
            # Nothing else comes in: the leader's own way of letting time pass.
            self.inbox.drain(WAIT_S)
            self.desk.serve_parked()
            if (answer := self.answer()) is not None:
                return answer
        pytest.fail("no answer came")

    def close(self):
        self.channel.close()
        self.inbox.stop()


@pytest.fixture
def office(redis_url):
    opened = Office(redis_url)
    yield opened
    opened.close()


def test_30_who_finds_nothing_waits_as_long_as_it_said_and_goes_with_nothing(office):
    office.ask()
    assert office.answer() is None
    assert office.answer_in_time() == ("", ())


def test_30_who_waits_is_answered_by_what_comes_in(office):
    office.ask(wait_s=PATIENCE_S)
    assert office.answer() is None
    office.world.put_evaluations(make_evaluation())
    error, (delivery,) = office.answer_in_time()
    assert (error, delivery.evaluation.id) == ("", make_evaluation().id)


def test_31_who_waits_gets_the_most_urgent_of_what_comes_in_together(office):
    office.ask(wait_s=PATIENCE_S)
    numbers = range(10, 100, 10)
    office.world.put_evaluations(
        *(make_evaluation(n, job_id=f"j{n}", priority=n) for n in numbers)
    )
    error, (delivery,) = office.answer_in_time()
    assert (error, delivery.evaluation.priority) == ("", 90)


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        pytest.param(
            {"version": 0},
            "dequeue disallowed: calling scheduler version is 0; leader version is 2",
            id="85-another-version",
        ),
        pytest.param(
            {"types": ()}, "dequeue requires at least one scheduler type", id="85-no-types"
        ),
    ],
)
def test_who_could_not_work_is_told_why_at_once(office, asked, text):
    office.world.put_evaluations(make_evaluation())
    office.ask(wait_s=PATIENCE_S, **asked)
    assert office.answer_in_time() == (text, None)
    assert office.world.leader.stats().broker.total_ready == 1


def test_86_who_asks_a_paused_broker_goes_with_nothing_and_no_error(office):
    office.world.put_evaluations(make_evaluation())
    pause_broker(office.world, paused=True)
    office.ask()
    assert office.answer() is None
    assert office.answer_in_time() == ("", ())
