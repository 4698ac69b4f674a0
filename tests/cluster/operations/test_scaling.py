"""Scaling groups, on the store in memory: what one write leaves behind, and every refusal."""

import pytest

from cluster.jobspec.parse import parse_job
from cluster.operations.errors import NotAllowed, OperationRefused
from cluster.operations.jobs import (
    REGISTRATION_DISABLED,
    JobRegistration,
    JobWritten,
    deregister_job,
    register_job,
)
from cluster.operations.scaling import ScalingRequest, scale_job
from cluster.operations.scheduler_settings import set_scheduler_settings
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.nouns import JOB_SUBMISSIONS
from scheduler.state.scaling_nouns import SCALING_EVENTS, SCALING_POLICIES
from scheduler.state.writes.scaling import KEPT_EVENTS
from scheduler.structs.deployment import Deployment, DeploymentStatus
from scheduler.structs.evaluation import Cause, CauseKind, Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.job import JobSubmission
from scheduler.structs.scaling import ScalingEvent
from scheduler.structs.scheduler_settings import SchedulerSettings
from scheduler.structs.story import version_story_id
from tests.builders import CountingIDs
from tests.callers import MANAGER, caller_with

NOW = 1_750_000_000_000_000_000
KEY = JobKey("default", "web")
PERIODIC = {"Spec": "0 3 * * *", "SpecType": "cron"}


def document(count=2, **fields):
    task = {"Name": "main", "Driver": "mock_driver"}
    groups = [
        {"Name": "front", "Count": count, "Scaling": {"Min": 1, "Max": 5}, "Tasks": [task]},
        {"Name": "back", "Count": 1, "Tasks": [task]},
    ]
    return {"ID": "web", "Type": "service", "Priority": 70, "TaskGroups": groups, **fields}


@pytest.fixture
def store():
    return MemoryStateStore()


@pytest.fixture
def ids():
    return CountingIDs()


def register(store, ids, **fields):
    source = JobSubmission(source="job {}", format="hcl2")
    request = JobRegistration(job=parse_job(document(**fields)), submission=source)
    return register_job(store, request, by=MANAGER, now=NOW, ids=ids)


def scale(store, ids, count=None, group="front", by=MANAGER, **options):
    request = ScalingRequest(task_group=group, count=count, **options)
    return scale_job(store, KEY, request, by=by, now=NOW + 5, ids=ids)


def granted(*capabilities):
    words = ", ".join(f'"{word}"' for word in capabilities)
    return caller_with(f'namespace "default" {{ capabilities = [{words}] }}')


def events(store, group="front"):
    return [row for row in store.list_by(SCALING_EVENTS, "job", KEY) if row.task_group == group]


@pytest.mark.parametrize("job_type", ["service", "batch"])
def test_a_scaled_group_is_a_version_an_evaluation_and_an_event_of_one_write(store, ids, job_type):
    register(store, ids, Type=job_type)
    before = store.index

    written = scale(store, ids, 4, message="load", meta={"cpu": 0.9})

    index = before + 1
    assert written == JobWritten(
        index=index,
        eval_id=written.eval_id,
        eval_create_index=index,
        job_modify_index=index,
    )
    job = store.job(KEY)
    assert (job.version, job.job_modify_index, job.submit_time) == (1, index, NOW + 5)
    assert {group.name: group.count for group in job.task_groups} == {"front": 4, "back": 1}
    text = "group front scaled from 2 to 4"
    assert store.evaluation(written.eval_id) == Evaluation(
        id=written.eval_id,
        priority=70,
        type=job_type,
        triggered_by="job-scaling",
        job_id="web",
        job_modify_index=index,
        create_index=index,
        modify_index=index,
        create_time=NOW + 5,
        modify_time=NOW + 5,
        cause=Cause(kind=CauseKind.JOB, id="web", index=index, text=text),
        story_id=version_story_id(KEY, job.create_index, 1),
    )
    assert events(store) == [
        ScalingEvent(
            job_id="web",
            task_group="front",
            time=NOW + 5,
            count=4,
            previous_count=2,
            message="load",
            meta={"cpu": 0.9},
            actor=MANAGER.name,
            eval_id=written.eval_id,
            create_index=index,
        )
    ]
    assert [frame.kind for frame in store.frames_since(before)] == [WriteKind.JOB_REGISTERED]
    assert len(store.evaluations()) == 2


def test_a_system_job_has_a_job_scaling_evaluation_of_its_type(store, ids):
    groups = [{"Name": "front", "Count": 1, "Tasks": [{"Name": "m", "Driver": "mock_driver"}]}]
    register(store, ids, Type="system", TaskGroups=groups)
    written = scale(store, ids, 0)
    made = store.evaluation(written.eval_id)
    assert (made.triggered_by, made.type, made.wait) == ("job-scaling", "system", 0)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param({"Periodic": PERIODIC}, id="J13-periodic"),
        pytest.param({"ParameterizedJob": {}}, id="J13-parameterized"),
    ],
)
def test_j13_a_parent_gets_a_version_and_no_evaluation(store, ids, kind):
    register(store, ids, Type="batch", **kind)
    written = scale(store, ids, 3)
    assert (written.eval_id, written.eval_create_index) == ("", 0)
    assert written.job_modify_index == written.index == store.job(KEY).job_modify_index
    assert store.job(KEY).version == 1
    assert [event.eval_id for event in events(store)] == [""]
    assert store.evaluations() == []


def test_the_same_count_makes_a_version_and_an_evaluation_too(store, ids):
    register(store, ids)
    written = scale(store, ids, 2)
    assert store.job(KEY).version == 1
    assert store.evaluation(written.eval_id).triggered_by == "job-scaling"


def deploy(store, status=DeploymentStatus.RUNNING):
    job = store.job(KEY)
    row = Deployment(id="d1", job_id="web", status=status, job_create_index=job.create_index)
    store.write(WriteKind.PLAN_RESULT, lambda change: put_found(change, row), now=NOW)


@pytest.mark.parametrize(
    "status",
    [status for status in DeploymentStatus if Deployment(id="d", status=status).is_active],
)
def test_j11_during_a_rollout_a_count_is_refused_and_a_message_recorded(store, ids, status):
    registered = register(store, ids)
    deploy(store, status)
    with pytest.raises(OperationRefused, match=r"^job scaling blocked due to active deployment$"):
        scale(store, ids, 3)
    assert events(store) == []

    written = scale(store, ids, message="no room", error=True)

    assert written == JobWritten(index=store.index, job_modify_index=store.job(KEY).modify_index)
    assert [(each.count, each.previous_count, each.error) for each in events(store)] == [
        (None, 2, True)
    ]
    assert store.job(KEY).version == 0
    assert [each.id for each in store.evaluations()] == [registered.eval_id]


def test_a_rollout_that_ended_or_was_of_a_purged_job_blocks_nothing(store, ids):
    register(store, ids)
    deploy(store, DeploymentStatus.SUCCESSFUL)
    assert scale(store, ids, 3).eval_id
    old = Deployment(id="d2", job_id="web", job_create_index=999)
    store.write(WriteKind.PLAN_RESULT, lambda change: put_found(change, old), now=NOW)
    assert scale(store, ids, 4).eval_id


SYSTEM = 'jobs of type "system" can only be scaled between 0 and 1'
BELOW = "group count was less than scaling policy minimum: 0 < 1"
ABOVE = "group count was greater than scaling policy maximum: 6 > 5"
TOO_MANY = "total count was greater than configured job_max_count: 50002 > 50000"
NEGATIVE = "scaling action count can't be negative"
STALE = "Enforcing job modify index 9: job exists with conflicting job modify index: 2"


@pytest.mark.parametrize(
    ("asked", "status", "text"),
    [
        pytest.param(
            {"group": "", "count": -1}, 400, "missing task group name for scaling action",
            id="no-group",
        ),
        pytest.param(
            {"count": -1, "error": True}, 400,
            "scaling action should not contain count if error is true", id="count-and-error",
        ),
        pytest.param({"count": -1, "group": "nope"}, 400, NEGATIVE, id="J12-negative"),
        pytest.param(
            {"count": 9, "group": "nope"}, 400,
            'task group "nope" specified for scaling does not exist in job', id="unknown-group",
        ),
        pytest.param({"count": 0, "job_modify_index": 9}, 400, BELOW, id="J12-below-min"),
        pytest.param({"count": 6, "job_modify_index": 9}, 400, ABOVE, id="J12-above-max"),
        pytest.param(
            {"count": 50_000, "group": "back", "job_modify_index": 9}, 400, TOO_MANY,
            id="J12-too-large",
        ),
        pytest.param({"count": 3, "job_modify_index": 9}, 400, STALE, id="J03-stale-index"),
    ],
)  # fmt: skip
def test_j12_each_refusal_is_named_and_leaves_nothing(store, ids, asked, status, text):
    register(store, ids)
    before = store.index
    with pytest.raises(OperationRefused) as refused:
        scale(store, ids, **asked)
    assert (refused.value.status, str(refused.value)) == (status, text)
    assert (store.index, events(store)) == (before, [])


def test_the_checks_come_in_their_order(store, ids):
    """Everything is wrong at once; each next refusal shows when the one before it is mended."""
    with pytest.raises(OperationRefused, match=r'^job "web" not found$') as refused:
        scale(store, ids, 9, group="nope")
    assert refused.value.status == 404
    register(store, ids)
    deploy(store)
    found = []
    for asked in (
        {"group": "", "error": True, "count": -1},
        {"error": True, "count": -1, "group": "nope"},
        {"count": -1, "group": "nope"},
        {"count": 60_000, "group": "nope", "job_modify_index": 9},
        {"count": 60_000, "job_modify_index": 9},
        {"count": 60_000, "group": "back", "job_modify_index": 9},
        {"count": 3, "job_modify_index": 9},
    ):
        with pytest.raises(OperationRefused) as refused:
            scale(store, ids, **asked)
        found.append(str(refused.value).partition(":")[0])
    assert found == [
        "missing task group name for scaling action",
        "scaling action should not contain count if error is true",
        NEGATIVE,
        'task group "nope" specified for scaling does not exist in job',
        "group count was greater than scaling policy maximum",
        "total count was greater than configured job_max_count",
        "job scaling blocked due to active deployment",
    ]


def test_j12_a_system_job_runs_once_on_each_node_or_not_at_all(store, ids):
    groups = [{"Name": "front", "Count": 1, "Tasks": [{"Name": "m", "Driver": "mock_driver"}]}]
    register(store, ids, Type="system", TaskGroups=groups)
    with pytest.raises(OperationRefused) as refused:
        scale(store, ids, 2)
    assert str(refused.value) == SYSTEM


def test_a_scaler_needs_one_of_two_rights(store, ids):
    register(store, ids)
    for right in ("submit-job", "scale-job"):
        scale(store, ids, 3, by=granted(right))
    with pytest.raises(NotAllowed) as denied:
        scale(store, ids, 3, by=granted("read-job", "dispatch-job"))
    assert denied.value.missing == "submit-job or scale-job in namespace default"


def test_while_registration_is_switched_off_only_managers_scale(store, ids):
    register(store, ids)
    closed = SchedulerSettings(reject_job_registration=True)
    set_scheduler_settings(store, closed, by=MANAGER, now=NOW)
    with pytest.raises(NotAllowed) as denied:
        scale(store, ids, 3, group="nope", by=granted("scale-job"))
    assert str(denied.value) == REGISTRATION_DISABLED
    assert scale(store, ids, 3).eval_id


def test_the_newest_twenty_events_of_a_group_are_kept(store, ids):
    register(store, ids)
    scale(store, ids, message="of another group", group="back")
    for number in range(KEPT_EVENTS + 3):
        scale(store, ids, message=str(number))
    kept = [event.message for event in events(store)]
    assert kept == [str(number) for number in range(3, 23)]
    assert [event.message for event in events(store, "back")] == ["of another group"]


def test_a_stopped_job_is_scaled_and_stays_stopped(store, ids):
    register(store, ids)
    deregister_job(store, KEY, by=MANAGER, now=NOW, ids=ids)
    assert scale(store, ids, 3).eval_id
    assert (store.job(KEY).stop, store.job(KEY).version) == (True, 2)


def test_the_text_of_the_job_is_that_of_the_scaled_version_and_goes_with_it(store, ids):
    register(store, ids)
    for count in (3, 4, 3, 4, 3, 4, 3):
        scale(store, ids, count)
    texts = store.list_by(JOB_SUBMISSIONS, "job", KEY)
    assert [text.version for text in texts] == [2, 3, 4, 5, 6, 7]
    assert {text.source for text in texts} == {"job {}"}


def test_policies_live_and_die_with_their_job(store, ids):
    first = register(store, ids).index
    (policy,) = store.list_by(SCALING_POLICIES, "job", KEY)
    assert (policy.min, policy.max, policy.enabled) == (1, 5, True)
    assert policy == store.job(KEY).task_group("front").scaling
    assert policy.target == {"Namespace": "default", "Job": "web", "Group": "front"}
    assert (policy.create_index, policy.modify_index) == (first, first)

    register(store, ids, Priority=60)
    scale(store, ids, 4)
    assert store.list_all(SCALING_POLICIES) == [policy]
    assert store.table_index("scaling_policies") == first

    stopped = deregister_job(store, KEY, by=MANAGER, now=NOW, ids=ids).index
    (off,) = store.list_all(SCALING_POLICIES)
    assert (off.id, off.enabled, off.modify_index) == (policy.id, False, stopped)

    again = register(store, ids).index
    (back,) = store.list_all(SCALING_POLICIES)
    assert (back.id, back.enabled, back.create_index) == (policy.id, True, first)
    assert back.modify_index == store.table_index("scaling_policies") == again

    purged = deregister_job(store, KEY, by=MANAGER, purge=True, now=NOW, ids=ids).index
    assert store.list_all(SCALING_POLICIES) == []
    assert store.list_all(SCALING_EVENTS) == []
    assert store.table_index("scaling_policies") == purged
    register(store, ids)
    assert store.list_all(SCALING_POLICIES)[0].id != policy.id


def test_a_policy_that_is_left_out_is_deleted(store, ids):
    register(store, ids)
    groups = [{key: value for key, value in group.items() if key != "Scaling"}
              for group in document()["TaskGroups"]]  # fmt: skip
    index = register(store, ids, TaskGroups=groups).index
    assert store.list_all(SCALING_POLICIES) == []
    assert store.table_index("scaling_policies") == index


def test_a_job_registered_again_as_it_is_stays_one_version(store, ids):
    register(store, ids)
    register(store, ids)
    assert store.job(KEY).version == 0
