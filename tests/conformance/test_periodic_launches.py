"""Periodic jobs led by real leaders over every store: fail-over, pauses, clocks that jump.

Each leadership has a leader, its commands and its lease; time is a clock that the test holds.
"""

from datetime import UTC, datetime

import pytest

from cluster.jobspec.launch_times import next_due
from cluster.jobspec.parse import parse_job
from cluster.operations.jobs import JobRegistration, deregister_job, register_job
from cluster.operations.leader_commands import CommandRunner, Hands
from cluster.operations.periodic import force_launch
from cluster.store.leases import LeaseKeeper
from scheduler.commands import LaunchPeriodic
from scheduler.errors import Fenced
from scheduler.leader import Leader
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.periodic_noun import PERIODIC_LAUNCHES
from scheduler.structs.identity import JobKey
from scheduler.watchers.periodic import AT_ONCE, Launches
from tests.builders import SECOND, SOME_MOMENT, CountingIDs, FixedClock
from tests.callers import MANAGER

MINUTE = 60 * SECOND
#: A full hour before which the tests begin.
HOUR = SOME_MOMENT - SOME_MOMENT % (3600 * SECOND) + 3600 * SECOND
KEY = JobKey("default", "etl")


class Epoch:
    """A lease of a store in memory."""

    def __init__(self, epoch):
        self.name, self.epoch = "leader", epoch


class Leadership:
    """One leader that follows the record and carries out what it decides, until it is paused."""

    def __init__(self, house, fence):
        self.house = house
        self.leader = Leader(CountingIDs(prefix="a"), lambda: 0.5, watchers=(Launches(next_due),))
        hands = Hands(
            store=house.store,
            clock=house.clock,
            ids=house.ids,
            fence=fence,
            wake=lambda count: None,
        )
        self.room = CommandRunner(self.leader, hands)
        house.store.read(lambda reader: self.leader.restore(reader, house.clock.moment()))

    def follow(self):
        for frame in self.house.store.frames_since(self.leader.index):
            self.leader.observe(frame, self.house.clock.moment())

    def decide(self):
        """What is due now, by what it has seen."""
        moment = self.house.clock.moment()
        due = self.leader.watch_deadline(moment)
        if due is None or due > moment.monotonic:
            return []
        return self.house.store.read(lambda reader: self.leader.watch(reader, moment))

    def step(self):
        self.follow()
        for command in self.decide():
            self.room.perform(command)
        self.follow()


class House:
    """A store, a clock, and whoever leads."""

    def __init__(self, store):
        self.store = store
        self.clock = FixedClock(wall=HOUR - 5 * MINUTE)
        self.ids = CountingIDs()
        self._epoch = 0

    def elect(self):
        """A new leadership; the one before is fenced off, and may not know it."""
        self._epoch += 1
        if isinstance(self.store, MemoryStateStore):
            self.store.grant_lease("leader", self._epoch)
            return Leadership(self, Epoch(self._epoch))
        keeper = LeaseKeeper("leader", f"process {self._epoch}", self.store.alias)
        for monotonic in (0.0, 10.0):
            lease = keeper.step(monotonic)
        return Leadership(self, lease)

    def register(self, job_id="etl", crons=("@hourly",), **periodic):
        task = {"Name": "main", "Driver": "mock_driver"}
        job = parse_job(
            {
                "ID": job_id,
                "Type": "batch",
                "TaskGroups": [{"Name": "group", "Tasks": [task]}],
                "Periodic": {"Specs": list(crons), **periodic},
            }
        )
        register_job(self.store, JobRegistration(job=job), **self.means)

    @property
    def means(self):
        return {"by": MANAGER, "now": self.clock.now(), "ids": self.ids}

    def set_clock(self, wall):
        """Somebody sets the wall clock; the other one goes on."""
        self.clock.wall = wall

    def pass_time(self, leadership, until, stride=10):
        while self.clock.wall < until:
            self.clock.advance(stride)
            leadership.step()

    def children(self):
        jobs = self.store.read(lambda reader: reader.jobs())
        return [job.id for job in jobs if job.parent_id]

    def history(self, key=KEY):
        kept = self.store.read(lambda reader: reader.get(PERIODIC_LAUNCHES, key))
        return [(str(each.outcome), (each.due - HOUR) // SECOND) for each in kept.history]


@pytest.fixture
def house(store):
    return House(store)


def child(wall):
    return f"etl/periodic-{wall // SECOND}"


def test_a_job_is_launched_when_it_is_due_and_the_leader_sleeps_until_then(house):
    leadership = house.elect()
    house.register()
    leadership.step()
    moment = house.clock.moment()
    assert leadership.leader.watch_deadline(moment) == moment.monotonic + 300
    house.clock.advance(299)
    leadership.step()
    assert house.children() == []

    house.clock.advance(1)
    leadership.step()

    assert house.children() == [child(HOUR)]
    moment = house.clock.moment()
    assert leadership.leader.watch_deadline(moment) == moment.monotonic + 3600


def test_j20_an_overlap_is_skipped_by_the_leader(house):
    leadership = house.elect()
    house.register(crons=("* * * * * * *",), ProhibitOverlap=True)
    for _ in range(3):
        house.clock.advance(1)
        leadership.step()
    assert house.history() == [("ran", -299), ("skipped", -298), ("skipped", -297)]
    assert len(house.children()) == 1


def test_j21_a_new_leader_makes_one_launch_for_all_that_nobody_made(house):
    house.register(crons=("*/10 * * * *",))
    house.clock.advance(45 * 60)

    house.elect().step()

    assert house.children() == [child(HOUR + 40 * MINUTE)]
    assert house.history() == [
        ("missed", 0),
        ("missed", 600),
        ("missed", 1200),
        ("missed", 1800),
        ("ran", 2400),
    ]


def test_j21_a_new_leader_launches_nothing_beside_a_child_that_runs(house):
    first = house.elect()
    house.register(ProhibitOverlap=True)
    house.pass_time(first, HOUR)
    house.clock.advance(3605)
    house.elect().step()
    assert house.history() == [("ran", 0), ("skipped", 3600)]
    assert house.children() == [child(HOUR)]


def test_a_launch_during_a_fail_over_is_made_once(house):
    """The old leader has decided it, and writes after the new one has."""
    old = house.elect()
    house.register()
    old.step()
    house.clock.advance(300)
    (decided,) = old.decide()
    assert decided == LaunchPeriodic(key=KEY)

    new = house.elect()
    new.step()
    with pytest.raises(Fenced):
        old.room.perform(decided)
    new.step()

    assert house.history() == [("ran", 0)]
    assert len(house.children()) == 1


def test_a_launch_that_the_old_leader_made_is_not_made_again(house):
    """The new one has restored before it, and decides after it."""
    old = house.elect()
    house.register()
    old.step()
    house.clock.advance(300)
    new = Leadership(house, old.room.fence)
    old.step()

    for command in new.decide():
        new.room.perform(command)
    new.step()

    assert house.history() == [("ran", 0)]
    assert len(house.children()) == 1


def test_a_leader_that_sleeps_through_launches_makes_up_for_them_once(house):
    leadership = house.elect()
    house.register(crons=("* * * * *",))
    leadership.step()
    house.clock.advance(300 + 125)
    leadership.step()
    leadership.step()
    assert house.history()[-2:] == [("missed", 60), ("ran", 120)]
    assert house.children() == [child(HOUR + 125 * SECOND)]


def test_a_clock_set_forward_is_made_up_for_once(house):
    leadership = house.elect()
    house.register(crons=("*/15 * * * *",))
    house.pass_time(leadership, HOUR)
    house.set_clock(house.clock.wall + 3600 * SECOND)
    leadership.step()
    leadership.step()
    assert house.history() == [
        ("ran", 0),
        *[("missed", 900 * number) for number in (1, 2, 3)],
        ("ran", 3600),
    ]
    assert len(house.children()) == 2


@pytest.mark.parametrize("falls_over", [False, True], ids=["same-leader", "new-leader"])
def test_a_clock_set_back_launches_nothing_twice(house, falls_over):
    leadership = house.elect()
    house.register(crons=("*/15 * * * *",))
    house.pass_time(leadership, HOUR + 61 * MINUTE)
    before = house.history()
    house.set_clock(house.clock.wall - 3600 * SECOND)
    if falls_over:
        leadership = house.elect()

    house.pass_time(leadership, HOUR + 61 * MINUTE)

    assert house.history() == before
    house.pass_time(leadership, HOUR + 76 * MINUTE)
    assert house.history()[-1] == ("ran", 75 * 60)


@pytest.mark.parametrize(
    ("day", "cron", "hours"),
    [
        pytest.param((2025, 3, 30), "30 2 * * *", [0.5 + 24], id="J23-skipped-in-spring"),
        pytest.param((2025, 10, 26), "30 2 * * *", [0.5, 1.5, 25.5], id="J23-twice-in-autumn"),
    ],
)
def test_daylight_saving_is_that_of_the_job_s_zone(house, day, cron, hours):
    """Hours count from midnight UTC of the day on which Berlin changes."""
    midnight = round(datetime(*day, tzinfo=UTC).timestamp()) * SECOND
    house.set_clock(midnight - MINUTE)
    leadership = house.elect()
    house.register(crons=(cron,), TimeZone="Europe/Berlin")
    house.pass_time(leadership, midnight + 26 * 60 * MINUTE, stride=600)
    since = (midnight - HOUR) // SECOND
    assert house.history() == [("ran", since + round(hour * 3600)) for hour in hours]
    assert len(house.children()) == len(hours)


def test_a_purge_between_decision_and_launch_leaves_nothing(house):
    leadership = house.elect()
    house.register()
    leadership.step()
    house.clock.advance(300)
    (decided,) = leadership.decide()
    deregister_job(house.store, KEY, purge=True, **house.means)

    leadership.room.perform(decided)
    leadership.step()

    assert house.children() == []
    assert house.store.read(lambda reader: reader.get(PERIODIC_LAUNCHES, KEY)) is None
    assert leadership.leader.watch_deadline(house.clock.moment()) is None


def test_a_job_purged_and_registered_again_is_followed_from_then_on(house):
    leadership = house.elect()
    house.register()
    leadership.step()
    deregister_job(house.store, KEY, purge=True, **house.means)
    house.clock.advance(301)
    house.register()
    leadership.step()
    assert house.children() == []
    house.clock.advance(3599)
    leadership.step()
    assert house.children() == [child(HOUR + 60 * MINUTE)]


def test_a_job_that_is_stopped_is_not_launched_until_it_is_registered_again(house):
    leadership = house.elect()
    house.register()
    deregister_job(house.store, KEY, **house.means)
    leadership.step()
    assert leadership.leader.watch_deadline(house.clock.moment()) is None
    house.clock.advance(7200)
    house.register()
    house.elect().step()
    assert house.children() == []


def test_a_launch_by_hand_leaves_the_next_one_as_it_was(house):
    leadership = house.elect()
    house.register()
    force_launch(house.store, KEY, **house.means)
    house.pass_time(leadership, HOUR)
    assert house.history() == [("forced", -300), ("ran", 0)]


def test_many_jobs_due_at_once_are_launched_a_few_at_a_time(house):
    leadership = house.elect()
    for number in range(AT_ONCE + 5):
        house.register(f"job-{number}")
    leadership.step()
    house.clock.advance(300)
    leadership.step()
    assert len(house.children()) == AT_ONCE
    leadership.step()
    assert len(house.children()) == AT_ONCE + 5


def test_a_launch_that_could_not_be_written_is_tried_again(house, monkeypatch):
    leadership = house.elect()
    house.register()
    leadership.step()
    house.clock.advance(300)

    def fails(*given, **named):
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(house.store, "write", fails)
        leadership.step()
    leadership.step()
    assert house.children() == []
    house.clock.advance(5)
    leadership.step()
    assert house.children() == [child(HOUR)]


def test_a_job_that_was_stored_before_launches_were_kept_is_followed_from_now(house):
    house.register()
    house.store.write(
        PERIODIC_LAUNCHES.upserted,
        lambda change: change.put(
            PERIODIC_LAUNCHES, PERIODIC_LAUNCHES.struct(job_id="etl", create_index=2)
        ),
        now=house.clock.now(),
    )
    house.clock.advance(4000)
    leadership = house.elect()
    leadership.step()
    assert house.children() == []
    house.pass_time(leadership, HOUR + 121 * MINUTE, stride=60)
    assert house.history() == [("ran", 7200)]
    assert len(house.children()) == 1
