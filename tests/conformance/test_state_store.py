"""One suite for every store: what `StateStore` promises, and what the rules of writes do on it."""

import pytest
from msgspec.structs import replace

from cluster.store.retention import trim_events
from scheduler.errors import StaleSnapshot
from scheduler.state.events import Topic, WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.node_use import node_use_of
from scheduler.state.nouns import JOB_SUBMISSIONS, JOB_SUMMARIES, NAMESPACES, NODE_POOLS, NOUNS
from scheduler.state.writes.explanations import write_explanations
from scheduler.structs.allocation import Allocation, ClientStatus, DesiredStatus
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import EvalStatus, Evaluation, LifecycleStep, Step
from scheduler.structs.explanation import (
    ExplainedBounds,
    ExplainedRun,
    GroupExplanation,
    RunEnd,
    StoredExplanation,
    pack,
)
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, JobSubmission, JobSummary, Namespace
from scheduler.structs.node import Node
from scheduler.structs.scheduler_settings import SchedulerSettings
from tests.builders import make_allocation, make_evaluation, make_job, make_node

KIND = WriteKind.EVALUATION_UPDATED
KEY = JobKey("default", "web")


def put(store, *values, now=1):
    """Store raw values, each by the put of its type, in one write; returns its index."""

    def work(change):
        for value in values:
            plain = _PLAIN.get(type(value))
            if plain is not None:
                change.put(plain, value)
            elif isinstance(value, Job):
                change.put_job(value)
            else:
                put_found(change, value)

    return store.write(KIND, work, now=now)[0]


_RULED = (Job, Node, Allocation, Evaluation, Deployment)
_PLAIN = {noun.struct: noun for noun in NOUNS if noun.struct not in _RULED}


def test_a_new_record_holds_the_default_namespace_and_the_built_in_pools(store):
    assert store.read(lambda reader: reader.index) == 1
    assert store.read(lambda reader: [item.name for item in reader.list_all(NAMESPACES)]) == [
        "default"
    ]
    assert store.read(lambda reader: [pool.name for pool in reader.list_all(NODE_POOLS)]) == [
        "all",
        "default",
    ]
    assert store.read(lambda reader: reader.table_index("namespaces")) == 1
    (frame,) = store.frames_since(0)
    assert [event.key for event in frame.events] == ["default", "all", "default"]


def test_each_write_takes_the_next_index(store):
    assert [put(store, make_node(number)) for number in (1, 2, 3)] == [2, 3, 4]
    assert store.read(lambda reader: reader.index) == 4
    assert [frame.index for frame in store.frames_since(1)] == [2, 3, 4]


def test_a_write_that_puts_nothing_takes_no_index(store):
    put(store, make_node())
    assert store.write(KIND, lambda change: change.index, now=1) == (2, 3)
    assert put(store, make_node(2)) == 3


def test_a_write_that_raises_leaves_nothing(store):
    def fail(change):
        put_found(change, make_node())
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        store.write(KIND, fail, now=1)
    assert store.read(lambda reader: (reader.index, list(reader.nodes()))) == (1, [])
    assert put(store, make_node()) == 2


def test_a_change_reads_its_own_puts(store):
    put(store, make_job(), make_allocation(number=0))

    def work(change):
        put_found(change, make_allocation(number=1))
        put_found(change, make_allocation(number=0, client_status=ClientStatus.FAILED))
        change.delete_allocation(make_allocation(number=2).id)
        return [(alloc.name, alloc.client_status) for alloc in change.allocations_by_job(KEY)]

    assert store.write(KIND, work, now=1)[1] == [
        ("web.web[0]", ClientStatus.FAILED),
        ("web.web[1]", ClientStatus.PENDING),
    ]


def test_a_row_that_moves_leaves_its_old_places(store):
    moved = make_allocation(number=0)
    put(store, moved)

    def work(change):
        put_found(change, moved.changed(eval_id="other", deployment_id="rollout"))
        return (
            len(change.allocations_by_eval(moved.eval_id)),
            len(change.allocations_by_eval("other")),
            len(change.allocations_by_deployment("rollout")),
        )

    assert store.write(KIND, work, now=1)[1] == (0, 1, 1)
    assert store.read(lambda reader: len(reader.allocations_by_eval("other"))) == 1
    assert store.read(lambda reader: len(reader.allocations_by_eval(moved.eval_id))) == 0


def test_a_frame_lists_each_changed_row_once_with_its_last_value(store):
    def work(change):
        put_found(change, make_node())
        put_found(change, make_allocation())
        put_found(change, make_node(name="renamed"))

    index, _ = store.write(KIND, work, now=7)
    (frame,) = store.frames_since(index - 1)
    assert (frame.kind, frame.at) == (KIND, 7)
    assert [(event.topic, event.key) for event in frame.events] == [
        (Topic.ALLOCATION, make_allocation().id),
        (Topic.NAMESPACE_USE, "default"),
        (Topic.NODE_USE, make_node().id),
        (Topic.NODE, make_node().id),
    ]
    assert frame.events[-1].value == make_node(name="renamed")


def test_a_deletion_carries_the_row_as_it_was(store):
    put(store, make_node())
    index, _ = store.write(KIND, lambda change: change.delete_node(make_node().id), now=1)
    (event,) = store.frames_since(index - 1)[0].events
    assert (event.topic, event.value, event.deleted) == (Topic.NODE, make_node(), True)
    assert store.read(lambda reader: reader.node(make_node().id)) is None


def test_frames_come_in_order_and_not_more_than_asked_for(store):
    for number in range(5):
        put(store, make_node(number))
    assert [frame.index for frame in store.frames_since(2, limit=2)] == [3, 4]
    assert store.frames_since(6) == []


def test_values_come_back_as_they_were_put(store):
    job = make_job()
    values = (
        job,
        JobSummary(job_id="web", create_index=10),
        JobSubmission(source="job {}", format="hcl2", namespace="default", job_id="web"),
        make_node(),
        make_allocation(job),
        make_evaluation(),
        LifecycleStep(eval_id="e", number=1, step=Step.ENQUEUED, at=5),
        Namespace(name="team"),
        SchedulerSettings(scheduler_algorithm="spread"),
    )
    put(store, *values)

    def read(reader):
        return (
            reader.job(KEY),
            reader.get(JOB_SUMMARIES, KEY),
            reader.get(JOB_SUBMISSIONS, (KEY, 0)),
            reader.node(make_node().id),
            reader.allocation(make_allocation(job).id),
            reader.evaluation(make_evaluation().id),
            reader.lifecycle("e")[0],
            reader.get(NAMESPACES, "team"),
            reader.scheduler_settings(),
        )

    assert store.read(read) == values


def test_tables_remember_the_index_of_their_own_last_write(store):
    put(store, make_node())
    put(store, make_allocation())
    put(store, make_evaluation())

    def indexes(reader):
        tables = ("nodes", "allocations", "evaluations", "deployments")
        return [reader.table_index(table) for table in tables]

    assert store.read(indexes) == [2, 3, 4, 0]


ALLOCATION_WRITES = [
    pytest.param(lambda alloc: alloc, id="running"),
    pytest.param(
        lambda alloc: alloc.changed(desired_status=DesiredStatus.STOP), id="told-to-stop"
    ),
    pytest.param(lambda alloc: alloc.changed(client_status=ClientStatus.UNKNOWN), id="unknown"),
    pytest.param(lambda alloc: alloc.changed(client_status=ClientStatus.COMPLETE), id="complete"),
    pytest.param(lambda alloc: alloc.changed(node_id=make_node(2).id), id="moved"),
    pytest.param(None, id="deleted"),
]


@pytest.mark.parametrize("change_it", ALLOCATION_WRITES)
def test_the_use_of_a_node_is_the_sum_of_its_allocations(store, change_it):
    kept, changed = make_allocation(number=0), make_allocation(number=1)
    put(store, kept, changed)
    if change_it is None:
        store.write(KIND, lambda change: change.delete_allocation(changed.id), now=1)
    else:
        put(store, change_it(changed))

    def uses(reader):
        ids = [make_node(number).id for number in (1, 2)]
        return [
            (reader.node_use(node_id), node_use_of(node_id, reader.allocations_by_node(node_id)))
            for node_id in ids
        ]

    assert all(kept_use == computed for kept_use, computed in store.read(uses))


def test_a_purged_job_leaves_versions_that_allocations_name(store):
    first, second = make_job(version=0), make_job(version=1)
    put(store, first)
    put(store, second, make_allocation(first))
    store.write(KIND, lambda change: change.delete_job(KEY), now=1)
    assert store.read(lambda reader: (reader.job(KEY), reader.job_versions(KEY))) == (None, [])
    assert store.read(lambda reader: reader.job_of(make_allocation(first))) == first
    assert store.read(lambda reader: reader.job_version(KEY, 1, second.create_index)) is None
    store.write(KIND, lambda change: change.delete_allocation(make_allocation(first).id), now=1)
    assert store.read(lambda reader: reader.job_of(make_allocation(first))) is None


def test_a_version_taken_off_the_list_stays_for_its_allocations(store):
    old, new = make_job(version=0), make_job(version=1)
    put(store, old, make_allocation(old))
    put(store, new)
    store.write(KIND, lambda change: change.delete_job_version(old), now=1)
    assert store.read(lambda reader: [job.version for job in reader.job_versions(KEY)]) == [1]
    assert store.read(lambda reader: reader.job_of(make_allocation(old))) == old


def test_the_newest_steps_are_those_of_open_evaluations(store):
    pending, blocked, over, fresh = (
        make_evaluation(number, status=status)
        for number, status in enumerate(
            (EvalStatus.PENDING, EvalStatus.BLOCKED, EvalStatus.COMPLETE, EvalStatus.PENDING), 1
        )
    )
    steps = [
        LifecycleStep(eval_id=item.id, number=number, step=Step.ENQUEUED, at=number)
        for item, count in ((pending, 12), (blocked, 1), (over, 2))
        for number in range(1, count + 1)
    ]
    put(store, pending, blocked, over, fresh, *steps)
    assert store.read(lambda reader: reader.newest_steps()) == {
        pending.id: steps[11],
        blocked.id: steps[12],
    }


def test_a_collected_evaluation_leaves_a_stub_without_its_steps(store):
    evaluation = make_evaluation(previous_eval="before", queued_allocations={"web": 1})
    step = LifecycleStep(eval_id=evaluation.id, number=1, step=Step.ENQUEUED, at=5)
    put(store, evaluation, step)
    store.write(KIND, lambda change: change.delete_evaluation(evaluation.id), now=1)
    assert store.read(lambda reader: reader.evaluation(evaluation.id)) is None
    assert store.read(lambda reader: reader.lifecycle(evaluation.id)) == []
    assert store.read(lambda reader: reader.evaluation_stub(evaluation.id)) == replace(
        evaluation, queued_allocations={}
    )


def test_lists_are_in_order_of_creation(store):
    evaluations = [
        make_evaluation(id="b", create_index=9),
        make_evaluation(id="a", create_index=9),
        make_evaluation(id="c", create_index=3),
    ]
    put(store, *evaluations)
    assert store.read(lambda reader: [item.id for item in reader.evaluations_by_job(KEY)]) == [
        "c",
        "a",
        "b",
    ]
    assert store.read(lambda reader: [item.id for item in reader.open_evaluations()]) == [
        "c",
        "a",
        "b",
    ]


def test_jobs_of_one_id_in_two_namespaces_are_two_jobs(store):
    put(store, make_job(), make_job(namespace="team", priority=70))
    assert store.read(lambda reader: [job.key for job in reader.jobs()]) == [
        ("default", "web"),
        ("team", "web"),
    ]


def test_a_reader_below_the_trimmed_log_is_told_so(store):
    for number in (1, 2, 3):
        put(store, make_node(number), now=number)
    if isinstance(store, MemoryStateStore):
        store.trim_frames(4)
    else:
        trim_events(store, now=3, keep_for=0, keep_bytes=2**30)
    assert [frame.index for frame in store.frames_since(3)] == [4]
    with pytest.raises(StaleSnapshot):
        store.frames_since(2)


def explanation(eval_id, task_group="web", job_id="web", index=0):
    return StoredExplanation(
        eval_id=eval_id,
        task_group=task_group,
        namespace="default",
        job_id=job_id,
        index=index,
        packed=pack(GroupExplanation(task_group=task_group, candidates=3)),
    )


def explain(store, *explanations, bounds=None):
    return store.write(
        KIND, lambda change: write_explanations(change, explanations, bounds), now=1
    )[0]


def explained(store, key=KEY):
    return store.read(lambda reader: [run.eval_id for run in reader.explained_runs(key)])


def test_explanations_are_found_by_their_evaluation(store):
    first = explain(store, explanation("e1", "db"), explanation("e1"), explanation("e2"))
    found = store.read(lambda reader: reader.explanations("e1"))
    assert found == [explanation("e1", "db", index=first), explanation("e1", index=first)]
    assert found[1].group == GroupExplanation(task_group="web", candidates=3)
    (frame,) = store.frames_since(first - 1)
    assert {event.key for event in frame.events} == {"e1/db", "e1/web", "e2/web"}


def test_a_job_keeps_as_many_explained_runs_as_is_set(store):
    bounds = ExplainedBounds(runs=5)
    explain(store, explanation("other", job_id="db"), bounds=bounds)
    for number in range(7):
        groups = (explanation(f"e{number}", "db"), explanation(f"e{number}"))
        last = explain(store, *groups, bounds=bounds)
    # The first of its version stays, beside the newest.
    assert explained(store) == ["e6", "e5", "e4", "e3", "e0"]
    assert explained(store, JobKey("default", "db")) == ["other"]
    gone = [event for event in store.frames_since(last - 1)[0].events if event.deleted]
    assert [(event.key, event.value.packed) for event in gone] == [
        ("e2/db", b""),
        ("e2/web", b""),
    ]
    explain(store, explanation("e3"), bounds=bounds)
    assert explained(store) == ["e3", "e6", "e5", "e4", "e0"]


def test_explained_runs_are_told_with_what_they_are_worth(store):
    waits = replace(explanation("e1", "db"), job_version=3, ended=RunEnd.WAITS)
    size = len(waits.packed)
    first = explain(store, waits, explanation("e1"))
    second = explain(store, explanation("e2"))

    def in_one_write(change):
        write_explanations(change, [replace(explanation("e2"), ended=RunEnd.FAILED)])
        return list(change.explained_runs(KEY)), change.index

    found, index = store.write(KIND, in_one_write, now=1)[1]
    web = len(explanation("e1").packed)
    older = ExplainedRun("e1", first, size + web, 3, RunEnd.WAITS)
    assert found == [ExplainedRun("e2", index, web, 0, RunEnd.FAILED), older]
    assert index > second
    assert store.read(lambda reader: list(reader.explained_runs(KEY))) == found


def test_an_explanation_goes_with_its_evaluation(store):
    evaluation = make_evaluation()
    put(store, evaluation)
    explain(store, explanation(evaluation.id), explanation("e2"))

    def collect(change):
        change.delete_evaluation(evaluation.id)
        runs = [run.eval_id for run in change.explained_runs(KEY)]
        return list(change.explanations(evaluation.id)), runs

    assert store.write(KIND, collect, now=1)[1] == ([], ["e2"])
    assert explained(store) == ["e2"]
    assert store.read(lambda reader: list(reader.explanations(evaluation.id))) == []
