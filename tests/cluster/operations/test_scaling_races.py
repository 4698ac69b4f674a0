"""Scaling and registering at once, on a real database: one after the other, nothing half done."""

from cluster.operations.errors import OperationRefused
from cluster.operations.jobs import JobRegistration, register_job
from cluster.operations.scaling import ScalingRequest, scale_job
from scheduler.state.scaling_nouns import SCALING_EVENTS
from scheduler.structs.identity import JobKey
from tests.builders import CountingIDs
from tests.callers import MANAGER
from tests.cluster.operations.at_once import at_once
from tests.cluster.operations.plain_jobs import plain_job

NOW = 1_750_000_000_000_000_000
KEY = JobKey("default", "web")
ROUNDS = 8


def register(store, ids, **fields):
    request = JobRegistration(job=plain_job(id="web", **fields))
    return register_job(store, request, by=MANAGER, now=NOW, ids=ids)


def scale(store, ids, count, **options):
    group = store.read(lambda reader: reader.job(KEY)).task_groups[0].name
    request = ScalingRequest(task_group=group, count=count, **options)
    return scale_job(store, KEY, request, by=MANAGER, now=NOW, ids=ids)


def found(store):
    """Versions with their counts and priorities, evaluations, events, all in order of writes."""

    def read(reader):
        versions = reader.job_versions(KEY)[::-1]
        events = reader.list_by(SCALING_EVENTS, "job", KEY)
        return (
            [(job.version, job.task_groups[0].count, job.priority) for job in versions],
            [(each.id, each.triggered_by) for each in reader.evaluations_by_job(KEY)],
            [(each.count, each.previous_count) for each in events],
        )  # fmt: skip

    return store.read(read)


def test_j03_of_a_registration_and_a_scaling_of_what_it_replaced_the_later_is_refused(
    sqlite_store,
):
    store = sqlite_store
    first = register(store, CountingIDs(prefix="f"), priority=50).index
    registered, scaled = at_once(
        store,
        lambda: register(store, CountingIDs(prefix="a"), priority=60),
        lambda: scale(store, CountingIDs(prefix="b"), 4, job_modify_index=first),
    )

    versions, evaluations, events = found(store)
    text = (
        f"Enforcing job modify index {first}: job exists with conflicting job modify index:"
        f" {registered.index}"
    )
    if isinstance(scaled, OperationRefused):
        assert str(scaled) == text
        assert (len(versions), len(evaluations), events) == (2, 2, [])
    else:
        assert scaled.index < registered.index
        assert (len(versions), len(evaluations), len(events)) == (3, 3, 1)


def test_scaling_and_registering_at_once_loses_neither(sqlite_store):
    store = sqlite_store
    register(store, CountingIDs(prefix="f"), priority=50)
    for number in range(1, ROUNDS + 1):
        before = store.index
        registered, scaled = at_once(
            store,
            lambda number=number: register(
                store, CountingIDs(prefix=f"a{number}"), priority=50 + number
            ),
            lambda number=number: scale(store, CountingIDs(prefix=f"b{number}"), 10 + number),
        )

        versions, evaluations, events = found(store)
        assert {registered.index, scaled.index} == {before + 1, before + 2}
        if scaled.index > registered.index:
            # It scaled the version it found, not the one before.
            assert versions[-1][1:] == (10 + number, 50 + number)
        else:
            assert versions[-1][2] == 50 + number
            assert versions[-2][1] == 10 + number
        assert versions[-1][0] == 2 * number
        assert (scaled.eval_id, "job-scaling") in evaluations
        assert (registered.eval_id, "job-register") in evaluations
        assert len(evaluations) == 1 + 2 * number
        assert events[-1][0] == 10 + number
        assert len(events) == number
