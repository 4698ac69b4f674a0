"""Registering, stopping and re-evaluating jobs, on the store in memory."""

import msgspec
import pytest

from cluster.jobspec.parse import parse_job
from cluster.operations.errors import NotAllowed, OperationRefused
from cluster.operations.jobs import (
    REGISTRATION_DISABLED,
    JobRegistration,
    JobWritten,
    deregister_job,
    evaluate_job,
    register_job,
)
from cluster.operations.scheduler_settings import set_scheduler_settings
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.nouns import JOB_SUBMISSIONS
from scheduler.structs.allocation import ClientStatus, DesiredTransition
from scheduler.structs.evaluation import Cause, CauseKind, Evaluation
from scheduler.structs.job import JobSubmission
from scheduler.structs.scheduler_settings import SchedulerSettings
from scheduler.structs.story import version_story_id
from tests.builders import CountingIDs, make_allocation
from tests.callers import MANAGER, caller_with

NOW = 1_750_000_000_000_000_000


def document(**fields):
    task = {"Name": "main", "Driver": "mock_driver"}
    group = {"Name": "group", "Count": 2, "Tasks": [task]}
    return {"ID": "web", "Type": "batch", "TaskGroups": [group], **fields}


def make_job(**fields):
    return parse_job(document(**fields))


@pytest.fixture
def store():
    return MemoryStateStore()


@pytest.fixture
def ids():
    return CountingIDs()


def register(store, ids, job=None, by=MANAGER, **options):
    request = JobRegistration(job=job or make_job(), **options)
    return register_job(store, request, by=by, now=NOW, ids=ids)


def test_a_new_job_is_stored_with_its_evaluation_in_one_write(store, ids):
    before = store.index

    written = register(store, ids)

    assert written == JobWritten(
        index=before + 1,
        eval_id="00000000-0000-0000-0000-000000000001",
        eval_create_index=before + 1,
        job_modify_index=before + 1,
    )
    assert store.evaluation(written.eval_id) == Evaluation(
        id=written.eval_id,
        type="batch",
        triggered_by="job-register",
        job_id="web",
        job_modify_index=before + 1,
        create_index=before + 1,
        modify_index=before + 1,
        create_time=NOW,
        modify_time=NOW,
        cause=Cause(kind=CauseKind.JOB, id="web", index=before + 1, text="version 0 registered"),
        story_id=version_story_id(make_job().key, before + 1, 0),
    )
    assert store.job(make_job().key).submit_time == NOW
    assert [frame.kind for frame in store.frames_since(before)] == [WriteKind.JOB_REGISTERED]


def test_73_an_unchanged_job_is_only_evaluated_again(store, ids):
    first = register(store, ids)

    second = register(store, ids)

    assert second.eval_create_index == first.index + 1
    assert second.job_modify_index == store.job(make_job().key).modify_index
    assert [job.version for job in store.job_versions(make_job().key)] == [0]


def test_a_changed_job_becomes_the_next_version(store, ids):
    register(store, ids)

    register(store, ids, make_job(Priority=70))

    assert [job.version for job in store.job_versions(make_job().key)] == [1, 0]


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"Periodic": {"Specs": ["* * * * *"]}}, id="periodic"),
        pytest.param({"ParameterizedJob": {"Payload": "optional"}}, id="parameterized"),
    ],
)
def test_jobs_that_only_launch_children_get_no_evaluation(store, ids, fields):
    written = register(store, ids, make_job(**fields))

    assert (written.eval_id, written.eval_create_index) == ("", 0)
    assert list(store.evaluations()) == []
    assert deregister_job(store, make_job().key, by=MANAGER, now=NOW, ids=ids).eval_id == ""


def test_step_by_step_updates_are_stored_as_asked(store, ids):
    job = make_job(Type="service", Update={"MaxParallel": 2, "Canary": 1, "AutoPromote": True})

    written = register(store, ids, job)

    stored = store.job(job.key).task_groups[0].update
    assert (stored.max_parallel, stored.canary, stored.auto_promote) == (2, 1, True)
    assert written.warnings == ()


@pytest.mark.parametrize(
    ("exists", "enforced", "text"),
    [
        pytest.param(True, 0, "0: job already exists", id="exists"),
        pytest.param(True, 9, "9: job exists with conflicting job modify index: 2", id="moved-on"),
        pytest.param(False, 9, "9: job does not exist", id="absent"),
    ],
)
def test_a_stale_enforced_index_writes_nothing(store, ids, exists, enforced, text):
    if exists:
        register(store, ids)
    before = store.index

    with pytest.raises(OperationRefused) as refused:
        register(store, ids, make_job(Priority=9), enforce_index=True, job_modify_index=enforced)

    assert str(refused.value) == f"Enforcing job modify index {text}"
    assert store.index == before


def test_the_right_enforced_index_passes(store, ids):
    first = register(store, ids, enforce_index=True)

    second = register(
        store,
        ids,
        make_job(Priority=9),
        enforce_index=True,
        job_modify_index=first.job_modify_index,
    )

    assert second.job_modify_index == second.index


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        pytest.param(
            {},
            {"Type": "sysbatch"},
            'cannot update job from type "batch" to "sysbatch"',
            id="type",
        ),
        pytest.param(
            {"Periodic": {"Specs": ["* * * * *"]}},
            {},
            "cannot update periodic job to being non-periodic",
            id="no-longer-periodic",
        ),
        pytest.param(
            {},
            {"ParameterizedJob": {"Payload": "optional"}},
            "cannot update non-parameterized job to being parameterized",
            id="newly-parameterized",
        ),
    ],
)
def test_what_a_version_may_not_change(store, ids, before, after, text):
    register(store, ids, make_job(**before))

    with pytest.raises(OperationRefused) as refused:
        register(store, ids, make_job(**after))

    assert str(refused.value) == text


def test_every_problem_is_named_at_once(store, ids):
    before = store.index

    with pytest.raises(OperationRefused) as refused:
        register(store, ids, make_job(ID="a b", Namespace="nowhere", NodePool="nopool"))

    assert str(refused.value) == (
        "3 errors occurred:\n"
        '\t* job "a b" is in nonexistent namespace "nowhere"\n'
        '\t* job "a b" is in nonexistent node pool "nopool"\n'
        "\t* Job ID contains a space\n\n"
    )
    assert store.index == before


@pytest.mark.parametrize("priority", [-1, 101])
def test_an_evaluation_priority_out_of_range_is_refused(store, ids, priority):
    with pytest.raises(OperationRefused, match="between 1 and 100 inclusively"):
        register(store, ids, eval_priority=priority)


def test_an_evaluation_priority_overrides_the_jobs(store, ids):
    written = register(store, ids, eval_priority=77)

    assert store.evaluation(written.eval_id).priority == 77


def test_a_submission_is_kept_under_its_version(store, ids):
    source = JobSubmission(source='job "web" {}', format="hcl2", variables="x = 1")

    written = register(store, ids, submission=source)

    kept = store.get(JOB_SUBMISSIONS, (make_job().key, 0))
    assert kept == msgspec.structs.replace(
        source,
        namespace="default",
        job_id="web",
        job_modify_index=written.job_modify_index,
    )


def test_a_long_submission_is_dropped_with_a_warning(store, ids):
    source = JobSubmission(source="x" * 2_000_000, format="hcl2")

    written = register(store, ids, submission=source)

    assert written.warnings == (
        "job source size of 2.0 MB exceeds maximum of 1.0 MB and will be discarded",
    )
    assert store.get(JOB_SUBMISSIONS, (make_job().key, 0)) is None


def test_counts_of_the_stored_job_can_be_kept(store, ids):
    register(store, ids)
    task = {"Name": "main", "Driver": "mock_driver", "Resources": {"CPU": 500}}
    grown = make_job(TaskGroups=[{"Name": "group", "Count": 9, "Tasks": [task]}])

    register(store, ids, grown, preserve_counts=True)

    stored = store.job(grown.key).task_groups[0]
    assert (stored.count, stored.tasks[0].resources.cpu) == (2, 500)


def test_registration_can_be_closed_for_all_but_managers(store, ids):
    set_scheduler_settings(
        store, SchedulerSettings(reject_job_registration=True), by=MANAGER, now=NOW
    )

    with pytest.raises(NotAllowed, match=REGISTRATION_DISABLED):
        register(store, ids, by=caller_with('namespace "*" { policy = "write" }'))

    assert register(store, ids).eval_id


@pytest.mark.parametrize(
    ("job_type", "group"),
    [
        pytest.param("system", {"Count": 1}, id="72-system"),
        pytest.param("sysbatch", {"Count": 1}, id="sysbatch"),
        pytest.param("batch", {}, id="batch"),
    ],
)
def test_stopping_makes_a_further_version_and_a_service_evaluation(store, ids, job_type, group):
    whole = document()["TaskGroups"][0] | group
    register(store, ids, make_job(Type=job_type, TaskGroups=[whole]))

    written = deregister_job(store, make_job().key, by=MANAGER, now=NOW, ids=ids, eval_priority=66)

    stopped = store.job(make_job().key)
    evaluation = store.evaluation(written.eval_id)
    assert (stopped.stop, stopped.version) == (True, 1)
    assert (evaluation.type, evaluation.triggered_by) == ("service", "job-deregister")
    assert evaluation.priority == 66


def test_purging_takes_the_job_and_still_makes_an_evaluation(store, ids):
    register(store, ids)

    written = deregister_job(store, make_job().key, purge=True, by=MANAGER, now=NOW, ids=ids)

    assert store.job(make_job().key) is None
    assert store.evaluation(written.eval_id).cause.text == "job purged"


def test_stopping_an_unknown_job_is_no_error_and_no_write(store, ids):
    before = store.index

    written = deregister_job(store, make_job().key, by=MANAGER, now=NOW, ids=ids)

    assert (written.eval_id, written.job_modify_index) == ("", 0)
    assert store.index == before


def test_evaluating_again_can_force_failed_allocations_to_move(store, ids):
    register(store, ids)
    job = store.job(make_job().key)
    failed = make_allocation(job, client_status=ClientStatus.FAILED)
    store.write(WriteKind.PLAN_RESULT, lambda change: put_found(change, failed), now=NOW)

    written = evaluate_job(store, job.key, force_reschedule=True, by=MANAGER, now=NOW, ids=ids)

    assert store.allocation(failed.id).desired_transition == DesiredTransition(
        force_reschedule=True
    )
    assert store.evaluation(written.eval_id).triggered_by == "job-register"


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        pytest.param(
            {"Periodic": {"Specs": ["* * * * *"]}}, "can't evaluate periodic job", id="periodic"
        ),
        pytest.param(
            {"ParameterizedJob": {}}, "can't evaluate parameterized job", id="parameterized"
        ),
    ],
)
def test_jobs_that_run_nothing_themselves_cannot_be_evaluated(store, ids, fields, text):
    register(store, ids, make_job(**fields))

    with pytest.raises(OperationRefused) as refused:
        evaluate_job(store, make_job().key, by=MANAGER, now=NOW, ids=ids)

    assert str(refused.value) == text


def test_an_unknown_job_cannot_be_evaluated(store, ids):
    with pytest.raises(OperationRefused, match="job not found"):
        evaluate_job(store, make_job().key, by=MANAGER, now=NOW, ids=ids)
