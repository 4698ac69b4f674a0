"""When launches are reported as due; what becomes of them is for the conformance suite.

Schedules here name the full hours, so that no calendar is needed.
"""

import pytest

from scheduler.commands import LaunchPeriodic
from scheduler.ports import Change
from scheduler.state.events import WriteKind
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.periodic_noun import PERIODIC_LAUNCHES
from scheduler.state.writes.jobs import purge_job, stop_job, write_job
from scheduler.state.writes.launches import launches_of, note_launches
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, Periodic
from scheduler.structs.moment import Moment
from scheduler.structs.periodic_launch import FAR_AHEAD, PeriodicLaunch
from scheduler.watchers.periodic import AT_ONCE, Launches
from tests.builders import SECOND, SOME_MOMENT, make_job

ETL = JobKey("default", "etl")
HOUR = 3600 * SECOND
NINE = SOME_MOMENT - SOME_MOMENT % HOUR
NEVER = "never"


def full_hours(job: Job, after: int) -> int | None:
    assert job.periodic is not None, "nobody else is asked about"
    return None if job.periodic.spec == NEVER else after // HOUR * HOUR + HOUR


def hourly(job_id: str = "etl", spec: str = "hourly", **fields: object) -> Job:
    return make_job(id=job_id, type="batch", periodic=Periodic(spec=spec), **fields)


class Desk:
    """A watcher with its store; moments are hours since nine."""

    def __init__(self) -> None:
        self.store = MemoryStateStore()
        self.watcher = Launches(full_hours)
        self._seen = self.store.index

    def moment(self, hour: float) -> Moment:
        return Moment(NINE + round(hour * HOUR), 3600.0 * hour)

    def write(self, hour: float, work, kind: str = WriteKind.JOB_REGISTERED) -> None:
        self.store.write(kind, work, now=self.moment(hour).now)
        for frame in self.store.frames_since(self._seen):
            self.watcher.observe(frame, self.moment(hour))
        self._seen = self.store.index

    def register(self, hour: float, *jobs: Job) -> None:
        for job in jobs:
            self.write(hour, lambda change, job=job: write_job(change, job))

    def decide(self, hour: float, to: float, key: JobKey = ETL) -> None:
        """Somebody has decided everything up to a time."""

        def work(change: Change) -> None:
            job = change.job(key)
            assert job is not None, "it was registered"
            decided = PeriodicLaunch(job_id=key.job_id, decided_to=self.moment(to).now)
            note_launches(change, decided, ())

        self.write(hour, work, WriteKind.JOB_LAUNCH_DECIDED)

    def restore(self, hour: float) -> None:
        self.watcher.restore(self.store, self.moment(hour))

    def due_in(self, hour: float) -> float | None:
        """Hours until it wants to be asked."""
        deadline = self.watcher.next_deadline(self.moment(hour))
        return None if deadline is None else deadline / 3600.0 - hour

    def reported(self, hour: float) -> list[tuple[str, bool]]:
        commands = self.watcher.tick(self.store, self.moment(hour))
        assert all(isinstance(command, LaunchPeriodic) for command in commands)
        return [(each.key.job_id, each.catches_up) for each in commands]


@pytest.fixture
def desk():
    return Desk()


def test_nothing_is_asked_for_without_periodic_jobs(desk):
    desk.register(0, make_job())
    assert desk.due_in(0.5) is None
    assert desk.reported(9) == []


def test_a_job_is_reported_when_it_is_due_and_then_the_next_time(desk):
    desk.register(0.5, hourly())
    assert desk.due_in(0.5) == pytest.approx(0.5)
    assert desk.reported(0.9) == []
    assert desk.reported(1) == [("etl", False)]
    desk.decide(1, to=1)
    assert desk.due_in(1) == pytest.approx(1)
    assert desk.reported(1.5) == []
    assert desk.reported(2) == [("etl", False)]


def test_what_nobody_decides_is_reported_again_after_a_while(desk):
    desk.register(0.5, hourly())
    assert desk.reported(1) == [("etl", False)]
    assert desk.reported(1 + 4 / 3600) == []
    assert desk.reported(1 + 6 / 3600) == [("etl", False)]


def test_what_was_due_before_a_leader_came_is_said_to_be_so(desk):
    desk.register(0.5, hourly(), hourly("other"))
    desk.decide(1.5, to=1.5, key=JobKey("default", "other"))
    desk.restore(1.6)
    assert desk.reported(1.6) == [("etl", True)]
    desk.decide(1.6, to=1.6)
    assert desk.reported(2) == [("etl", False), ("other", False)]


def test_a_launch_by_hand_does_not_decide_what_was_due_before(desk):
    desk.register(0.5, hourly())
    desk.restore(1.6)
    desk.decide(1.6, to=0.5)
    assert desk.reported(1.6) == [("etl", True)]


def test_a_clock_that_is_set_back_delays_and_one_set_forward_makes_due(desk):
    desk.register(0.5, hourly())
    desk.decide(1, to=1)
    assert desk.reported(0.2) == []
    assert desk.due_in(0.2) == pytest.approx(1.8)
    assert desk.reported(2.2) == [("etl", False)]


def test_what_is_decided_far_in_the_future_is_not_believed(desk):
    desk.register(0.5, hourly())
    desk.decide(0.6, to=0.6 + FAR_AHEAD / HOUR + 1)
    assert desk.reported(0.6) == [("etl", False)]


def test_a_job_without_a_decision_is_reported_at_once(desk):
    desk.register(0.5, hourly())

    def forget(change: Change) -> None:
        change.put(PERIODIC_LAUNCHES, PeriodicLaunch(job_id="etl"))

    desk.store.write(PERIODIC_LAUNCHES.upserted, forget, now=NINE)
    desk.restore(0.6)
    assert desk.reported(0.6) == [("etl", True)]


@pytest.mark.parametrize(
    "job",
    [
        pytest.param(hourly(spec=NEVER), id="no-time-left"),
        pytest.param(hourly(stop=True), id="stopped"),
        pytest.param(
            make_job(id="etl", type="batch", periodic=Periodic(spec="hourly", enabled=False)),
            id="switched-off",
        ),
    ],
)
@pytest.mark.parametrize("is_new", [True, False], ids=["from-the-beginning", "later"])
def test_a_job_that_is_not_to_be_launched_is_not_reported(desk, job, is_new):
    if not is_new:
        desk.register(0.5, hourly())
    desk.register(0.6, job)
    assert desk.due_in(0.6) is None
    desk.restore(0.7)
    assert desk.reported(9) == []


def test_a_job_that_is_stopped_or_purged_is_forgotten(desk):
    desk.register(0.5, hourly(), hourly("other"))
    desk.write(0.6, lambda change: stop_job(change, JobKey("default", "etl")))
    desk.write(0.6, lambda change: purge_job(change, JobKey("default", "other")))
    assert desk.due_in(0.6) is None
    desk.register(0.7, hourly("other"))
    assert desk.reported(1) == [("other", False)]


def test_a_launch_noted_with_a_purge_pending_is_of_no_consequence(desk):
    """A row of launches whose job is gone from the same record."""
    desk.store.write(
        PERIODIC_LAUNCHES.upserted,
        lambda change: change.put(PERIODIC_LAUNCHES, launches_of(change, hourly("gone"))),
        now=NINE,
    )
    desk.restore(0.5)
    assert desk.due_in(0.5) is None


def test_of_many_jobs_due_at_once_some_are_reported_at_a_time(desk):
    desk.register(0.5, *(hourly(f"job-{number:02}") for number in range(AT_ONCE + 3)))
    first = desk.reported(1)
    second = desk.reported(1)
    assert len(first) == AT_ONCE
    assert len(second) == 3
    assert len({*first, *second}) == AT_ONCE + 3
