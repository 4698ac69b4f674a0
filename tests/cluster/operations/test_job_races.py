"""Dispatching, going back and tagging at once, on a real database: whole, or not at all."""

import pytest

from cluster.operations.admission import JobMovedOn
from cluster.operations.errors import OperationRefused
from cluster.operations.job_dispatch import Dispatch, JobDispatched, dispatch_job
from cluster.operations.job_versions import (
    TagTaken,
    VersionNotFound,
    revert_job,
    tag_version,
)
from cluster.operations.jobs import JobRegistration, deregister_job, register_job
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.nouns import JOB_SUMMARIES
from scheduler.structs.identity import JobKey
from scheduler.structs.job import ParameterizedJob
from tests.builders import CountingIDs
from tests.callers import MANAGER
from tests.cluster.operations.at_once import at_once
from tests.cluster.operations.plain_jobs import plain_job

NOW = 1_750_000_000_000_000_000
KEY = JobKey("default", "web")
ROUNDS = 8


def register(store, prefix="f", **fields):
    request = JobRegistration(job=plain_job(id="web", **fields))
    return register_job(store, request, by=MANAGER, now=NOW, ids=CountingIDs(prefix=prefix))


def register_parent(store):
    return register(store, type="batch", parameterized_job=ParameterizedJob())


def dispatch(store, prefix, **asked):
    ids = CountingIDs(prefix=prefix)
    return dispatch_job(store, KEY, Dispatch(**asked), by=MANAGER, now=NOW, ids=ids)


def remove(store, *, purge):
    ids = CountingIDs(prefix="d")
    return deregister_job(store, KEY, purge=purge, by=MANAGER, now=NOW, ids=ids)


def revert(store, prefix, version=0, **options):
    ids = CountingIDs(prefix=prefix)
    return revert_job(store, KEY, version, by=MANAGER, now=NOW, ids=ids, **options)


def tag(store, name, version):
    return tag_version(store, KEY, name, version=version, by=MANAGER, now=NOW)


def children(store):
    return store.read(lambda reader: [job for job in reader.jobs() if job.parent_id])


def evaluations(store):
    return store.read(lambda reader: list(reader.evaluations()))


def test_j15_two_dispatches_with_one_token_make_one_child(sqlite_store):
    store = sqlite_store
    register_parent(store)
    for number in range(1, ROUNDS + 1):
        before = store.index
        token = f"token-{number}"
        both = at_once(
            store,
            lambda token=token, n=number: dispatch(store, f"a{n}", idempotency_token=token),
            lambda token=token, n=number: dispatch(store, f"b{n}", idempotency_token=token),
        )

        (made,) = [each for each in both if not each.was_there]
        (found,) = [each for each in both if each.was_there]
        assert made.index == before + 1
        assert found == JobDispatched(
            index=made.index,
            job_id=made.job_id,
            job_create_index=made.index,
            was_there=True,
        )
        assert len(children(store)) == len(evaluations(store)) == number
        assert store.index == before + 1
    summary = store.read(lambda reader: reader.get(JOB_SUMMARIES, KEY))
    assert summary.children.pending == ROUNDS


@pytest.mark.parametrize("purge", [False, True], ids=["stopped", "purged"])
def test_a_dispatch_of_what_goes_meanwhile_comes_before_it_or_not_at_all(sqlite_store, purge):
    store = sqlite_store
    texts = {'Specified job "web" is stopped', "parameterized job not found"}
    for number in range(1, ROUNDS + 1):
        register_parent(store)
        known = len(children(store))
        dispatched, removed = at_once(
            store,
            lambda number=number: dispatch(store, f"a{number}"),
            lambda: remove(store, purge=purge),
        )
        if isinstance(dispatched, OperationRefused):
            assert str(dispatched) in texts
            assert len(children(store)) == known
        else:
            assert dispatched.index < removed.index
            assert len(children(store)) == known + 1
        assert len(evaluations(store)) == len(children(store))


def test_j10_of_two_that_go_back_from_one_version_the_later_is_refused(sqlite_store):
    store = sqlite_store
    register(store, priority=10)
    register(store, "e", priority=20)
    both = at_once(
        store,
        lambda: revert(store, "a", enforce_prior_version=1),
        lambda: revert(store, "b", enforce_prior_version=1),
    )
    (refused,) = [each for each in both if isinstance(each, OperationRefused)]
    assert isinstance(refused, JobMovedOn)
    assert str(refused) == "Current job has version 2; enforcing version 1"
    kept = store.read(lambda reader: reader.job_versions(KEY))
    assert [(job.version, job.priority) for job in kept] == [(2, 10), (1, 20), (0, 10)]
    assert len(evaluations(store)) == 3


def test_going_back_to_what_is_purged_meanwhile_leaves_nothing(sqlite_store):
    store = sqlite_store
    for number in range(1, ROUNDS + 1):
        register(store, f"1{number}", priority=10)
        register(store, f"2{number}", priority=20)
        reverted, _ = at_once(
            store,
            lambda number=number: revert(store, f"3{number}"),
            lambda number=number: deregister_job(
                store,
                KEY,
                purge=True,
                by=MANAGER,
                now=NOW,
                ids=CountingIDs(prefix=f"4{number}"),
            ),
        )
        assert store.read(lambda reader: reader.job(KEY)) is None
        if isinstance(reverted, OperationRefused):
            assert isinstance(reverted, VersionNotFound)
            assert str(reverted) == 'job "web" not found'


def test_one_tag_for_two_versions_at_once_is_given_to_one(sqlite_store):
    store = sqlite_store
    register(store, priority=10)
    register(store, "e", priority=20)
    for number in range(1, ROUNDS + 1):
        name = f"tag-{number}"
        both = at_once(
            store,
            lambda name=name: tag(store, name, 0),
            lambda name=name: tag(store, name, 1),
        )
        (refused,) = [each for each in both if isinstance(each, OperationRefused)]
        (tagged,) = [each for each in both if not isinstance(each, OperationRefused)]
        assert isinstance(refused, TagTaken)
        kept = store.read(lambda reader: reader.job_versions(KEY))
        named = [job.version for job in kept if job.version_tag and job.version_tag.name == name]
        assert named == [tagged.version]


class Meanwhile:
    """A store in which something else happens right after the next read."""

    def __init__(self, store, act):
        self._store, self._act = store, act

    def __getattr__(self, name):
        return getattr(self._store, name)

    def read(self, work):
        found = self._store.read(work)
        self._act()
        return found


def test_what_is_registered_is_the_version_that_is_there_when_it_is_written():
    store = MemoryStateStore()
    register(store, priority=10)
    register(store, "e", priority=20)

    def begin_anew():
        remove(store, purge=True)
        register(store, "1", priority=30)
        register(store, "2", priority=40)

    revert(Meanwhile(store, begin_anew), "a")

    assert [job.priority for job in store.job_versions(KEY)] == [30, 40, 30]
