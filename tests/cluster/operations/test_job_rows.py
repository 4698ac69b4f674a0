"""Rows of control-plane.md 16.7 about registering, stopping, planning and evaluating jobs."""

import pytest
from msgspec.structs import replace

from cluster.api.plan_form import plan_form
from cluster.jobspec.parse import parse_job
from cluster.operations.allocations import stop_allocation
from cluster.operations.errors import OperationRefused
from cluster.operations.job_dispatch import Dispatch, dispatch_job
from cluster.operations.job_plan import plan_job
from cluster.operations.jobs import (
    JobRegistration,
    deregister_job,
    evaluate_job,
    register_job,
)
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.scaling_nouns import SCALING_POLICIES
from scheduler.structs.allocation import ClientStatus, DesiredTransition
from scheduler.structs.identity import JobKey
from scheduler.structs.plan_annotations import DesiredUpdates
from tests.builders import CountingIDs, make_allocation, make_node
from tests.callers import MANAGER

NOW = 1_750_000_000_000_000_000
KEY = JobKey("default", "web")
ALLOC = "bbbbbbbb-0000-0000-0000-00000000000{}"


def make_job(count=1, group=None, cpu=100, **fields):
    task = {"Name": "main", "Driver": "mock_driver", "Resources": {"CPU": cpu, "MemoryMB": 64}}
    whole = {"Name": "group", "Count": count, "Tasks": [task], **(group or {})}
    return parse_job({"ID": "web", "Type": "service", "TaskGroups": [whole], **fields})


@pytest.fixture
def store():
    return MemoryStateStore()


@pytest.fixture
def ids():
    return CountingIDs()


def register(store, ids, job=None, **options):
    request = JobRegistration(job=job or make_job(), **options)
    return register_job(store, request, by=MANAGER, now=NOW, ids=ids)


def place(store, count=1, **fields):
    job = store.job(KEY)
    allocs = [
        make_allocation(job, number, id=ALLOC.format(number), task_group="group", **fields)
        for number in range(count)
    ]
    store.write(
        WriteKind.PLAN_RESULT,
        lambda change: [put_found(change, alloc) for alloc in allocs],
        now=NOW,
    )
    return allocs


def test_j01_a_change_makes_a_version_and_every_registration_an_evaluation(store, ids):
    found = []
    for priority in (50, 70, 70):
        written = register(store, ids, make_job(Priority=priority))
        found.append((store.job(KEY).version, store.evaluation(written.eval_id).priority))
    assert found == [(0, 50), (1, 70), (1, 70)]
    assert len(store.evaluations()) == 3


@pytest.mark.parametrize(
    ("is_stored", "enforced", "text"),
    [
        pytest.param(False, 100, "100: job does not exist", id="J02 100 on a new job"),
        pytest.param(False, 0, "", id="J02 0 on a new job"),
        pytest.param(True, 0, "0: job already exists", id="J02 0 on a stored job"),
        pytest.param(
            True,
            99,
            "99: job exists with conflicting job modify index: 2",
            id="J02 wrong on a stored job",
        ),
        pytest.param(True, 2, "", id="J02 right on a stored job"),
    ],
)
def test_an_enforced_index(store, ids, is_stored, enforced, text):
    if is_stored:
        register(store, ids)
    options = {"enforce_index": True, "job_modify_index": enforced}
    before = store.index

    if not text:
        assert register(store, ids, make_job(Priority=7), **options).eval_id
        return
    with pytest.raises(OperationRefused) as refused:
        register(store, ids, make_job(Priority=7), **options)
    assert str(refused.value) == f"Enforcing job modify index {text}"
    assert store.index == before


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"Periodic": {"Specs": ["0 3 * * *"]}}, id="J04 periodic"),
        pytest.param({"ParameterizedJob": {}}, id="J04 parameterized"),
    ],
)
def test_jobs_that_only_launch_others_are_never_evaluated(store, ids, fields):
    job = make_job(Type="batch", **fields)
    assert register(store, ids, job).eval_id == ""
    assert register(store, ids, replace(job, priority=9)).eval_id == ""
    for purge in (False, True):
        gone = deregister_job(store, KEY, purge=purge, by=MANAGER, now=NOW, ids=ids)
        assert (gone.eval_id, gone.eval_create_index) == ("", 0)
    assert list(store.evaluations()) == []


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        pytest.param(
            None,
            {"dispatched": True},
            "job can't be submitted with 'Dispatched' set",
            id="J05 dispatched flag of a new job",
        ),
        pytest.param(
            {}, {"dispatched": True}, "field 'Dispatched' is read-only", id="J05 dispatched flag"
        ),
        pytest.param(
            {"Type": "batch"},
            {"type": "service"},
            'cannot update job from type "batch" to "service"',
            id="J05 type",
        ),
        pytest.param(
            {"Type": "batch", "Periodic": {"Specs": ["0 3 * * *"]}},
            {"periodic": None},
            "cannot update periodic job to being non-periodic",
            id="J05 no longer periodic",
        ),
        pytest.param(
            {"Type": "batch", "ParameterizedJob": {}},
            {"parameterized_job": None},
            "cannot update parameterized job to being non-parameterized",
            id="J05 no longer parameterized",
        ),
        pytest.param(
            {},
            {"payload": "aGk="},
            "1 error occurred:\n\t* job can't be submitted with a payload, only dispatched\n\n",
            id="J05 payload",
        ),
    ],
)
def test_what_a_registration_cannot_bring(store, ids, before, after, text):
    job = make_job(**(before or {}))
    if before is not None:
        register(store, ids, job)
    index = store.index
    with pytest.raises(OperationRefused) as refused:
        register(store, ids, replace(job, **after))
    assert str(refused.value) == text
    assert store.index == index


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        pytest.param({}, (9, 700), id="J06 nothing kept"),
        pytest.param({"preserve_counts": True}, (2, 700), id="J06 counts"),
        pytest.param({"preserve_resources": True}, (9, 100), id="J06 resources"),
        pytest.param(
            {"preserve_counts": True, "preserve_resources": True}, (2, 100), id="J06 both"
        ),
    ],
)
def test_what_is_kept_of_the_stored_job(store, ids, options, kept):
    register(store, ids, make_job(2, cpu=100))
    register(store, ids, make_job(9, cpu=700), **options)
    group = store.job(KEY).task_groups[0]
    assert (group.count, group.tasks[0].resources.cpu) == kept


@pytest.mark.parametrize("purge", [False, True])
def test_j08_without_a_shutdown_delay_every_allocation_is_told_so(store, ids, purge):
    register(store, ids, make_job(3))
    place(store, 3, desired_transition=DesiredTransition(migrate=True))

    written = deregister_job(
        store, KEY, purge=purge, no_shutdown_delay=True, by=MANAGER, now=NOW, ids=ids
    )

    told = [alloc.desired_transition for alloc in store.allocations_by_job(KEY)]
    wish = DesiredTransition(migrate=True, no_shutdown_delay=True)
    # A purge takes the allocations along.
    assert told == ([] if purge else [wish] * 3)
    assert len(store.evaluations()) == 2
    assert store.evaluation(written.eval_id).triggered_by == "job-deregister"


@pytest.mark.parametrize(
    ("group", "with_diff"),
    [
        pytest.param({}, True, id="J17 with the difference"),
        pytest.param({}, False, id="J17 without the difference"),
        pytest.param({"Scaling": {"Max": 5}}, True, id="J17 a job that is scaled"),
    ],
)
def test_a_plan_keeps_nothing(store, ids, group, with_diff):
    store.write(WriteKind.NODE_REGISTRATION, lambda change: change.put_node(make_node()), now=NOW)
    register(store, ids)
    before, rows = store.index, store.read(everything)

    planned = store.read(
        lambda reader: plan_job(reader, make_job(3, group), by=MANAGER, now=NOW, ids=ids)
    )

    assert (store.index, store.read(everything)) == (before, rows)
    assert planned.annotations.desired_updates == {"group": DesiredUpdates(place=3)}
    assert [each.name for each in planned.placements] == [f"web.group[{n}]" for n in range(3)]
    form = plan_form(planned, with_diff=with_diff, additions=True)
    assert (form["Diff"] is not None) == with_diff
    assert form["Annotations"]["DesiredTGUpdates"]["group"]["Place"] == 3
    assert planned.job_modify_index == store.job(KEY).job_modify_index


def everything(reader):
    policies = list(reader.list_all(SCALING_POLICIES))
    return reader.job_versions(KEY), reader.evaluations(), reader.allocations(), policies


def test_j18_failed_allocations_are_told_to_be_replaced_at_once(store, ids):
    register(store, ids, make_job(2))
    failed = {"client_status": ClientStatus.FAILED}
    job = store.job(KEY)
    allocs = [
        make_allocation(job, 0, id=ALLOC.format(0), task_group="group", **failed),
        make_allocation(
            job, 0, id=ALLOC.format(1), task_group="group", next_allocation="n", **failed
        ),
        make_allocation(job, 1, id=ALLOC.format(2), task_group="group"),
    ]
    store.write(
        WriteKind.PLAN_RESULT,
        lambda change: [put_found(change, alloc) for alloc in allocs],
        now=NOW,
    )

    written = evaluate_job(store, KEY, force_reschedule=True, by=MANAGER, now=NOW, ids=ids)

    told = [store.allocation(alloc.id).desired_transition.force_reschedule for alloc in allocs]
    assert told == [True, None, None]
    evaluation = store.evaluation(written.eval_id)
    assert (evaluation.triggered_by, evaluation.job_modify_index) == (
        "job-register",
        store.job(KEY).modify_index,
    )


@pytest.mark.parametrize(
    ("options", "wish"),
    [
        pytest.param({}, (True, False, False), id="J19 stop"),
        pytest.param({"reschedule": True}, (True, False, True), id="J19 reschedule"),
        pytest.param({"no_shutdown_delay": True}, (True, True, False), id="J19 no delay"),
    ],
)
def test_stopping_an_allocation(store, ids, options, wish):
    register(store, ids)
    # What was wished before is overwritten where the request says something.
    (alloc,) = place(
        store, desired_transition=DesiredTransition(no_shutdown_delay=True, reschedule=True)
    )
    stopped = stop_allocation(store, alloc.id, by=MANAGER, now=NOW, ids=ids, **options)
    migrate, no_shutdown_delay, reschedule = wish
    assert store.allocation(alloc.id).desired_transition == DesiredTransition(
        migrate=migrate, no_shutdown_delay=no_shutdown_delay, reschedule=reschedule
    )
    made = store.evaluations()[1:]
    assert [(each.id, each.triggered_by) for each in made] == [(stopped.eval_id, "alloc-stop")]
    assert made[0].job_modify_index == store.job(KEY).modify_index


def test_j24_another_job_whose_id_begins_alike_gives_no_status(store, ids):
    register(store, ids, make_job(Type="batch", ParameterizedJob={}))
    child = dispatch_job(store, KEY, Dispatch(), by=MANAGER, now=NOW, ids=ids)
    register(store, ids, replace(make_job(), id="we", name="we"))
    stopped = deregister_job(store, JobKey("default", "we"), by=MANAGER, now=NOW, ids=ids)
    assert stopped.eval_id
    assert store.job(JobKey("default", child.job_id)).status == "pending"
    deregister_job(store, KEY, by=MANAGER, now=NOW, ids=ids)
    # Its child waits still; that is none of the parent's own.
    assert store.job(KEY).status == "dead"
