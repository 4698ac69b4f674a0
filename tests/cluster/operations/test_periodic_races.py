"""Launches at once with one another, with stops and purges, on a real database."""

from functools import partial

import pytest
from msgspec.structs import replace

from cluster.operations.jobs import JobRegistration, deregister_job, register_job
from cluster.operations.periodic import Launched, force_launch, launch_due
from scheduler.access.caller import CLUSTER
from scheduler.state.nouns import JOB_SUMMARIES
from scheduler.state.periodic_noun import PERIODIC_LAUNCHES
from scheduler.structs.identity import JobKey
from scheduler.structs.job import JobChildrenSummary, Periodic
from tests.builders import SECOND, CountingIDs
from tests.callers import MANAGER
from tests.cluster.operations.at_once import at_once
from tests.cluster.operations.plain_jobs import plain_job

NOW = 1_750_000_000 * SECOND
KEY = JobKey("default", "tick")
ROUNDS = 8
JOB = plain_job(id="tick", type="batch", periodic=Periodic(specs=("* * * * * * *",)))


@pytest.fixture
def store(sqlite_store):
    return sqlite_store


def register(store, now=NOW, **fields):
    request = JobRegistration(job=replace(JOB, **fields))
    return register_job(store, request, by=MANAGER, now=now, ids=CountingIDs(prefix="e"))


def launch(store, prefix, now):
    return launch_due(store, KEY, by=CLUSTER, now=now, ids=CountingIDs(prefix=prefix))


def force(store, prefix, now):
    return force_launch(store, KEY, by=MANAGER, now=now, ids=CountingIDs(prefix=prefix))


def remove(store, now, *, purge):
    ids = CountingIDs(prefix="d")
    return deregister_job(store, KEY, purge=purge, by=MANAGER, now=now, ids=ids)


def children(store):
    return store.read(lambda reader: [job.id for job in reader.jobs() if job.parent_id])


def launches(store):
    return store.read(lambda reader: reader.get(PERIODIC_LAUNCHES, KEY))


def evaluations(store):
    return store.read(lambda reader: [each.job_id for each in reader.evaluations()])


def test_a_launch_decided_several_times_at_once_is_made_once(store):
    register(store)
    for number in range(1, ROUNDS + 1):
        now = NOW + number * SECOND
        outcomes = at_once(
            store,
            *(partial(launch, store, f"{who}{number}", now) for who in "abc"),
        )
        assert len([each for each in outcomes if each.child_id]) == 1
    names = [f"tick/periodic-{NOW // SECOND + number}" for number in range(1, ROUNDS + 1)]
    assert children(store) == names
    assert sorted(evaluations(store)) == names
    assert launches(store).launched == ROUNDS


@pytest.mark.parametrize("purge", [False, True], ids=["stop", "purge"])
def test_a_launch_and_the_end_of_its_job_leave_it_made_whole_or_not_at_all(store, purge):
    for number in range(1, ROUNDS + 1):
        now = NOW + 100 * number * SECOND
        register(store, now)
        before = set(children(store))
        launched, removed = at_once(
            store,
            lambda now=now, n=number: launch(store, f"a{n}", now + SECOND),
            lambda now=now: remove(store, now + SECOND, purge=purge),
        )
        made = set(children(store)) - before
        assert made == ({launched.child_id} if launched.child_id else set())
        assert made <= set(evaluations(store))
        assert not launched.child_id or launched.index < removed.index
        if purge:
            assert launches(store) is None
        assert launch(store, f"b{number}", now + 5 * SECOND).child_id == ""


def test_a_launch_by_hand_at_once_with_one_that_is_due_makes_one_child(store):
    register(store)
    for number in range(1, ROUNDS + 1):
        now = NOW + number * SECOND
        both = at_once(
            store,
            lambda now=now, n=number: launch(store, f"a{n}", now),
            lambda now=now, n=number: force(store, f"b{n}", now),
        )
        assert {each.child_id for each in both} == {f"tick/periodic-{now // SECOND}"}
    assert len(children(store)) == ROUNDS
    outcomes = [each.outcome.value for each in launches(store).history]
    assert (outcomes.count("ran"), outcomes.count("forced")) == (ROUNDS, ROUNDS)
    summary = store.read(lambda reader: reader.get(JOB_SUMMARIES, KEY))
    assert summary.children == JobChildrenSummary(pending=ROUNDS)


def test_a_new_version_at_once_with_a_launch_loses_none(store):
    register(store)
    for number in range(1, ROUNDS + 1):
        now = NOW + number * SECOND
        launched, _ = at_once(
            store,
            lambda now=now, n=number: launch(store, f"a{n}", now),
            lambda now=now, n=number: register(store, now, priority=10 + n),
        )
        assert isinstance(launched, Launched)
        assert launched.child_id == f"tick/periodic-{now // SECOND}"
