"""Dispatching children of parameterized jobs, on the store in memory (control-plane.md 11.6)."""

import base64

import pytest
from msgspec.structs import replace

from cluster.jobspec.parse import parse_job
from cluster.operations.errors import NotAllowed, OperationRefused
from cluster.operations.job_dispatch import (
    LONGEST_META,
    Dispatch,
    DispatchRefused,
    JobDispatched,
    dispatch_job,
)
from cluster.operations.jobs import (
    REGISTRATION_DISABLED,
    JobRegistration,
    deregister_job,
    register_job,
)
from cluster.operations.scheduler_settings import set_scheduler_settings
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.nouns import JOB_SUMMARIES
from scheduler.state.writes.allocations import update_from_client
from scheduler.state.writes.evaluations import write_evaluations
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.evaluation import Cause, CauseKind, EvalStatus, Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.job import JobChildrenSummary
from scheduler.structs.scheduler_settings import SchedulerSettings
from scheduler.structs.story import version_story_id
from tests.builders import CountingIDs, make_allocation
from tests.callers import MANAGER, caller_with

SECOND = 1_000_000_000
NOW = 1_750_000_000 * SECOND
KEY = JobKey("default", "resize")


def document(rules=None, **fields):
    task = {"Name": "convert", "Driver": "mock_driver"}
    rules = {"MetaRequired": ["image"], "MetaOptional": ["width"]} if rules is None else rules
    return {
        "ID": "resize",
        "Type": "batch",
        "Meta": {"width": "100", "team": "pictures"},
        "ParameterizedJob": rules,
        "TaskGroups": [{"Name": "resize", "Count": 1, "Tasks": [task]}],
        **fields,
    }


@pytest.fixture
def store():
    return MemoryStateStore()


@pytest.fixture
def ids():
    return CountingIDs()


def register(store, ids, **fields):
    request = JobRegistration(job=parse_job(document(**fields)))
    return register_job(store, request, by=MANAGER, now=NOW, ids=ids)


def dispatch(store, ids, key=KEY, by=MANAGER, now=NOW, **asked):
    asked.setdefault("meta", {"image": "cat.png"})
    return dispatch_job(store, key, Dispatch(**asked), by=by, now=now, ids=ids)


def children(store):
    return store.get(JOB_SUMMARIES, KEY).children


def test_a_child_is_a_copy_with_its_own_name_payload_and_meta(store, ids):
    register(store, ids)
    parent = store.job(KEY)

    dispatched = dispatch(store, ids, payload=b"the payload\n", now=NOW + 5 * SECOND)

    child = store.job(JobKey("default", dispatched.job_id))
    assert dispatched == JobDispatched(
        index=parent.create_index + 1,
        job_id="resize/dispatch-1750000005-00000003",
        job_create_index=parent.create_index + 1,
        eval_id="00000000-0000-0000-0000-000000000002",
        eval_create_index=parent.create_index + 1,
    )
    assert child == replace(
        parent,
        id=dispatched.job_id,
        name=dispatched.job_id,
        parent_id="resize",
        dispatched=True,
        payload=base64.b64encode(b"the payload\n").decode(),
        meta={"image": "cat.png", "width": "100", "team": "pictures"},
        status="pending",
        submit_time=NOW + 5 * SECOND,
        create_index=dispatched.index,
        modify_index=dispatched.index,
        job_modify_index=dispatched.index,
    )
    assert [frame.kind for frame in store.frames_since(parent.create_index)] == [
        WriteKind.JOB_DISPATCHED
    ]


def test_the_evaluation_is_of_the_child_and_says_who_launched_it(store, ids):
    register(store, ids)

    dispatched = dispatch(store, ids, priority=70)

    assert list(store.evaluations()) == [
        Evaluation(
            id=dispatched.eval_id,
            type="batch",
            priority=70,
            triggered_by="job-register",
            job_id=dispatched.job_id,
            job_modify_index=dispatched.index,
            create_index=dispatched.index,
            modify_index=dispatched.index,
            create_time=NOW,
            modify_time=NOW,
            cause=Cause(
                kind=CauseKind.JOB,
                id="resize",
                index=dispatched.index,
                text=f"{dispatched.job_id} dispatched",
            ),
            story_id=version_story_id(JobKey("default", dispatched.job_id), dispatched.index, 0),
        )
    ]


def test_a_prefix_stands_in_the_id_as_it_is(store, ids):
    register(store, ids)
    assert dispatch(store, ids, id_prefix="a b").job_id.startswith("resize/dispatch-a b-17500000")


def test_two_children_of_one_second_have_different_names(store, ids):
    register(store, ids)
    names = {dispatch(store, ids).job_id for _ in range(20)}
    assert len(names) == 20
    assert children(store) == JobChildrenSummary(pending=20)


def test_a_name_that_is_taken_is_not_given_again(store):
    register(store, CountingIDs())
    first = dispatch(store, CountingIDs())
    second = dispatch(store, CountingIDs())
    assert first.job_id != second.job_id
    assert store.job(JobKey("default", first.job_id)).version == 0


@pytest.mark.parametrize(
    ("rules", "asked", "problems"),
    [
        pytest.param({"Payload": "optional"}, {}, [], id="J14 optional, without"),
        pytest.param({"Payload": "optional"}, {"payload": b"x"}, [], id="J14 optional, with"),
        pytest.param(
            {"Payload": "required"},
            {},
            [("Payload", "Payload is not provided but required by parameterized job")],
            id="J14 required, without",
        ),
        pytest.param({"Payload": "required"}, {"payload": b"x"}, [], id="J14 required, with"),
        pytest.param({"Payload": "forbidden"}, {}, [], id="J14 forbidden, without"),
        pytest.param(
            {"Payload": "forbidden"},
            {"payload": b"x"},
            [("Payload", "Payload provided but forbidden by parameterized job")],
            id="J14 forbidden, with",
        ),
        pytest.param({}, {"payload": b"x" * 16_384}, [], id="J14 the largest payload"),
        pytest.param(
            {},
            {"payload": b"x" * 16_385},
            [("Payload", "Payload exceeds maximum size; 16385 > 16384")],
            id="J14 too large",
        ),
        pytest.param(
            {"MetaRequired": ["b", "a"]},
            {},
            [("Meta", "Dispatch did not provide required meta keys: [a b]")],
            id="J14 required metadata, without",
        ),
        pytest.param(
            {"MetaRequired": ["a"], "MetaOptional": ["b"]},
            {"meta": {"a": "1", "b": ""}},
            [],
            id="J14 required and optional metadata",
        ),
        pytest.param(
            {"MetaRequired": ["a"]},
            {"meta": {"d": "1", "c": "2"}},
            [
                ("Meta", "Dispatch request included unpermitted metadata keys: [c d]"),
                ("Meta", "Dispatch did not provide required meta keys: [a]"),
            ],
            id="J14 metadata nobody asked for comes first",
        ),
        pytest.param({}, {"priority": 55}, [], id="J14 priority 55"),
        pytest.param({}, {"priority": 100}, [], id="J14 priority 100"),
        pytest.param(
            {},
            {"priority": -1},
            [("Priority", "dispatch job priority must be between [1, 100]")],
            id="J14 priority -1",
        ),
        pytest.param(
            {},
            {"priority": 101},
            [("Priority", "dispatch job priority must be between [1, 100]")],
            id="J14 priority 101",
        ),
        pytest.param(
            {"MetaOptional": ["a"]},
            {"meta": {"a": "x\0y"}},
            [("Meta", "Meta a contains a null character")],
            id="a value that no process can be given",
        ),
        pytest.param(
            {"MetaOptional": ["a"]},
            {"meta": {"a": "x" * (LONGEST_META + 1)}},
            [("Meta", "Meta a is longer than 65536 bytes")],
            id="a value that no environment holds",
        ),
        pytest.param(
            {},
            {"id_prefix": "a\nb"},
            [("IdPrefixTemplate", "the id of the child contains a control character")],
            id="a prefix that breaks the line",
        ),
        pytest.param(
            {},
            {"id_prefix": "x" * 490},
            [("IdPrefixTemplate", "the id of the child is longer than 512 characters")],
            id="an id that is too long",
        ),
        pytest.param(
            {},
            {"idempotency_token": "\0"},
            [("idempotency_token", "idempotency_token contains a control character")],
            id="a token with a null character",
        ),
    ],
)
def test_what_may_be_dispatched(store, ids, rules, asked, problems):
    register(store, ids, rules=rules)
    before = store.index
    asked = {"meta": {}} | asked

    if not problems:
        dispatched = dispatch(store, ids, **asked)
        assert store.evaluation(dispatched.eval_id).priority == asked.get("priority", 50)
        return
    with pytest.raises(DispatchRefused) as refused:
        dispatch(store, ids, **asked)

    found = [(problem.path, problem.message) for problem in refused.value.problems]
    assert found == problems
    assert str(refused.value) == problems[0][1]
    assert refused.value.status == 400
    assert store.index == before


def test_all_that_is_wrong_is_named_at_once(store, ids):
    register(store, ids, rules={"Payload": "required", "MetaRequired": ["a"]})
    deregister_job(store, KEY, by=MANAGER, now=NOW, ids=ids)

    with pytest.raises(DispatchRefused) as refused:
        dispatch(store, ids, meta={}, priority=-5)

    assert [problem.path for problem in refused.value.problems] == [
        "",
        "Payload",
        "Meta",
        "Priority",
    ]
    assert str(refused.value) == 'Specified job "resize" is stopped'


def test_only_parameterized_jobs_that_are_there_are_dispatched(store, ids):
    def text(key):
        before = store.index
        with pytest.raises(DispatchRefused) as refused:
            dispatch(store, ids, key=key)
        assert store.index == before
        return str(refused.value)

    assert text(KEY) == "parameterized job not found"
    register(store, ids)
    register(store, ids, ID="plain", ParameterizedJob=None)
    assert text(JobKey("default", "plain")) == 'Specified job "plain" is not a parameterized job'
    child = dispatch(store, ids)
    assert text(JobKey("default", child.job_id)) == (
        f'Specified job "{child.job_id}" is not a parameterized job'
    )
    deregister_job(store, KEY, by=MANAGER, now=NOW, ids=ids)
    assert text(KEY) == 'Specified job "resize" is stopped'
    deregister_job(store, KEY, purge=True, by=MANAGER, now=NOW, ids=ids)
    assert text(KEY) == "parameterized job not found"


def test_j15_the_same_token_finds_the_same_child_whatever_became_of_it(store, ids):
    register(store, ids)
    first = dispatch(store, ids, idempotency_token="once")
    before = store.index
    there = JobDispatched(
        index=before,
        job_id=first.job_id,
        job_create_index=first.job_create_index,
        was_there=True,
    )

    assert dispatch(store, ids, idempotency_token="once", meta={"image": "dog.png"}) == there
    deregister_job(store, JobKey("default", first.job_id), by=MANAGER, now=NOW, ids=ids)
    assert dispatch(store, ids, idempotency_token="once") == replace(there, index=before + 1)
    assert len(store.evaluations_by_job(JobKey("default", first.job_id))) == 2

    child = JobKey("default", first.job_id)
    deregister_job(store, child, purge=True, by=MANAGER, now=NOW, ids=ids)
    assert dispatch(store, ids, idempotency_token="once").job_id != first.job_id


def test_a_token_belongs_to_its_parent(store, ids):
    register(store, ids)
    register(store, ids, ID="other")
    first = dispatch(store, ids, idempotency_token="once")
    other = dispatch(store, ids, key=JobKey("default", "other"), idempotency_token="once")
    assert first.job_id != other.job_id
    assert not other.was_there


def test_a_token_that_came_with_a_registration_is_nobodys(store, ids):
    register(store, ids, DispatchIdempotencyToken="once")
    assert not dispatch(store, ids, idempotency_token="once").was_there


def test_a_dispatch_without_a_token_is_never_the_same(store, ids):
    register(store, ids)
    assert dispatch(store, ids).job_id != dispatch(store, ids).job_id


def test_j16_the_parent_counts_what_becomes_of_its_children(store, ids):
    register(store, ids)
    dispatched = dispatch(store, ids)
    key = JobKey("default", dispatched.job_id)
    assert children(store) == JobChildrenSummary(pending=1)
    assert store.job(KEY).status == "running"

    alloc = make_allocation(store.job(key), eval_id=dispatched.eval_id)
    done = store.evaluation(dispatched.eval_id).changed(status=EvalStatus.COMPLETE)

    def place(change):
        put_found(change, alloc)
        write_evaluations(change, (done,))

    store.write(WriteKind.PLAN_RESULT, place, now=NOW)
    assert children(store) == JobChildrenSummary(running=1)

    for status, counted in (
        (ClientStatus.RUNNING, JobChildrenSummary(running=1)),
        (ClientStatus.COMPLETE, JobChildrenSummary(dead=1)),
    ):
        told = replace(store.allocation(alloc.id), client_status=status)
        store.write(
            WriteKind.ALLOCATION_UPDATED,
            lambda change, told=told: update_from_client(change, [told], CountingIDs(prefix="9")),
            now=NOW,
        )
        assert children(store) == counted
    assert store.job(key).status == "dead"
    assert store.job(KEY).status == "running"


def test_purging_a_child_that_waits_counts_it_as_dead(store, ids):
    register(store, ids)
    key = JobKey("default", dispatch(store, ids).job_id)
    deregister_job(store, key, purge=True, by=MANAGER, now=NOW, ids=ids)
    assert children(store) == JobChildrenSummary(dead=1)


def test_stopping_the_parent_leaves_its_children_alone(store, ids):
    register(store, ids)
    child = dispatch(store, ids)
    before = store.job(JobKey("default", child.job_id))
    deregister_job(store, KEY, by=MANAGER, now=NOW, ids=ids)
    assert store.job(KEY).status == "dead"
    assert store.job(before.key) == before
    deregister_job(store, KEY, purge=True, by=MANAGER, now=NOW, ids=ids)
    assert store.job(before.key) == before


def test_a_child_is_stopped_like_any_job(store, ids):
    register(store, ids)
    key = JobKey("default", dispatch(store, ids).job_id)
    stopped = deregister_job(store, key, by=MANAGER, now=NOW, ids=ids)
    evaluation = store.evaluation(stopped.eval_id)
    assert (evaluation.triggered_by, evaluation.type) == ("job-deregister", "service")
    assert store.job(key).stop


def test_j05_a_child_read_from_the_api_and_registered_again_is_refused(store, ids):
    register(store, ids)
    child = store.job(JobKey("default", dispatch(store, ids).job_id))
    before = store.index

    for sent, text in (
        (
            replace(child, dispatched=False, payload=""),
            "cannot update non-parameterized job to being parameterized",
        ),
        (
            replace(child, dispatched=False, payload="", parameterized_job=None),
            "field 'Dispatched' is read-only",
        ),
    ):
        with pytest.raises(OperationRefused) as refused:
            register_job(store, JobRegistration(job=sent), by=MANAGER, now=NOW, ids=ids)
        assert str(refused.value) == text
    assert store.index == before


def test_a_child_of_a_periodic_parent_is_periodic_and_not_evaluated(store, ids):
    register(store, ids, Periodic={"Specs": ["0 3 * * *"]})
    dispatched = dispatch(store, ids)
    child = store.job(JobKey("default", dispatched.job_id))
    assert (dispatched.eval_id, dispatched.eval_create_index) == ("", 0)
    assert child.is_periodic
    assert not child.is_parameterized
    assert child.status == "running"
    assert children(store) == JobChildrenSummary(running=1)
    assert list(store.evaluations()) == []


def test_the_scaling_policies_of_a_child_are_its_own(store, ids):
    whole = document()["TaskGroups"][0] | {"Scaling": {"Max": 5, "Enabled": True}}
    register(store, ids, TaskGroups=[whole])
    parent = store.job(KEY).task_groups[0].scaling
    child = store.job(JobKey("default", dispatch(store, ids).job_id))
    policy = child.task_groups[0].scaling
    assert policy.id not in {"", parent.id}
    assert policy.target == parent.target | {"Job": child.id}


def test_dispatching_asks_for_its_own_right(store, ids):
    register(store, ids)
    with pytest.raises(NotAllowed) as refused:
        dispatch(store, ids, by=caller_with('namespace "*" { capabilities = ["submit-job"] }'))
    assert refused.value.missing == "dispatch-job in namespace default"
    allowed = caller_with('namespace "*" { capabilities = ["dispatch-job"] }')
    assert dispatch(store, ids, by=allowed).eval_id


def test_dispatching_can_be_closed_for_all_but_managers(store, ids):
    register(store, ids)
    set_scheduler_settings(
        store, SchedulerSettings(reject_job_registration=True), by=MANAGER, now=NOW
    )
    with pytest.raises(NotAllowed, match=REGISTRATION_DISABLED):
        dispatch(store, ids, by=caller_with('namespace "*" { policy = "write" }'))
    assert dispatch(store, ids).eval_id
