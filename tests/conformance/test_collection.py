"""What collection asks of a store is answered alike by all of them, and so is a whole round."""

import pytest
from msgspec.structs import replace

from scheduler.state.collection_noun import COLLECTIONS
from scheduler.state.events import Topic, WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import DEPLOYMENTS, EVALUATIONS, JOBS
from scheduler.structs.allocation import ClientStatus, DesiredStatus
from scheduler.structs.deployment import Deployment, DeploymentStatus
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.job import JobStatus
from scheduler.structs.node import NodeStatus
from tests.builders import make_allocation, make_evaluation, make_job, make_node
from tests.scheduler.collection.rounds import HOUR, NOW, run_core

OLD, YOUNG = NOW - 10 * HOUR, NOW - 1000
DEAD = make_job(id="dead", stop=True, status=JobStatus.DEAD.value, submit_time=OLD)
COMPLETE = EvalStatus.COMPLETE
STOPPED = {"desired_status": DesiredStatus.STOP, "modify_time": OLD}


def fill(store, *rows, jobs=()):
    def work(change):
        for job in jobs:
            change.put_job(job)
        for row in rows:
            put_found(change, row)

    store.write(WriteKind.PLAN_RESULT, work, now=OLD)


def names(store, noun, instant, until, **asked):
    asked = {"after": None, "at_most": 9} | asked
    rows = store.read(lambda reader: reader.old_rows(noun, instant, until, **asked))
    return [row.id for row in rows]


def test_old_rows_come_by_key_from_a_place_on(store):
    jobs = [
        replace(DEAD, namespace=namespace, id=name, submit_time=at)
        for namespace, name, at in (
            ("b", "a", OLD),
            ("a", "b/c", OLD),
            ("a", "b", OLD + 1000),
            ("a", "young", YOUNG),
            ("a", "never", 0),
        )
    ]
    deployments = [Deployment(id=each, modify_time=OLD) for each in ("d2", "d1")]
    evaluations = [make_evaluation(n, status=COMPLETE, modify_time=OLD) for n in (3, 1, 2)]
    fill(store, *deployments, *evaluations, jobs=jobs)

    ids = [make_evaluation(n).id for n in (1, 2, 3)]
    assert names(store, EVALUATIONS, "modified_at", OLD) == ids
    assert names(store, EVALUATIONS, "modified_at", OLD, at_most=2) == ids[:2]
    assert names(store, EVALUATIONS, "modified_at", OLD, after=ids[1]) == ids[2:]
    assert names(store, EVALUATIONS, "modified_at", OLD - 1000) == []
    assert names(store, DEPLOYMENTS, "modified_at", OLD) == ["d1", "d2"]
    assert names(store, JOBS, "submitted_at", OLD + 1000) == ["b", "b/c", "a"]
    assert names(store, JOBS, "submitted_at", OLD) == ["b/c", "a"]
    assert names(store, JOBS, "submitted_at", OLD, after=jobs[1].key) == ["a"]


@pytest.mark.parametrize(
    ("rows", "stirs"),
    [
        pytest.param([], False, id="nothing-of-it"),
        pytest.param([make_evaluation(job_id="dead", modify_time=OLD)], True, id="open"),
        pytest.param(
            [make_evaluation(job_id="dead", status=COMPLETE, modify_time=OLD)], False, id="ended"
        ),
        pytest.param(
            [make_evaluation(job_id="dead", status=COMPLETE, modify_time=YOUNG)], True, id="young"
        ),
        pytest.param([make_allocation(DEAD, modify_time=OLD)], True, id="alive"),
        pytest.param(
            [make_allocation(DEAD, client_status=ClientStatus.LOST, modify_time=OLD)],
            False,
            id="lost",
        ),
        pytest.param(
            [make_allocation(DEAD, client_status=ClientStatus.LOST, modify_time=YOUNG)],
            True,
            id="just-lost",
        ),
        pytest.param(
            [make_allocation(DEAD, client_status=ClientStatus.PENDING, **STOPPED)],
            False,
            id="stopped-before-it-ran",
        ),
        pytest.param(
            [make_allocation(DEAD, client_status=ClientStatus.RUNNING, **STOPPED)],
            True,
            id="stopped-but-runs",
        ),
        pytest.param([make_evaluation(job_id="other", modify_time=OLD)], False, id="of-another"),
    ],
)
def test_a_job_stirs_while_anything_of_it_is_open_alive_or_young(store, rows, stirs):
    fill(store, *rows, jobs=[DEAD])
    assert store.read(lambda reader: reader.is_stirring(DEAD.key, NOW - HOUR)) is stirs


def test_allocations_of_a_job_are_named_up_to_a_number(store):
    fill(store, *(make_allocation(DEAD, n) for n in range(3)), jobs=[DEAD])
    named = store.read(lambda reader: reader.allocation_ids(DEAD.key, 2))
    assert len(set(named)) == 2
    assert len(store.read(lambda reader: reader.allocation_ids(DEAD.key, 9))) == 3


def test_a_forced_round_leaves_what_lives_and_is_told_by_one_row(store):
    alive = make_job(id="alive", status=JobStatus.RUNNING.value, submit_time=OLD)
    evaluation = make_evaluation(1, job_id="dead", status=COMPLETE, modify_time=OLD)
    kept = make_evaluation(2, job_id="alive", status=COMPLETE, modify_time=OLD)
    over = {"client_status": ClientStatus.COMPLETE, "modify_time": OLD}
    fill(
        store,
        evaluation,
        kept,
        make_allocation(DEAD, 1, eval_id=evaluation.id, **over),
        make_allocation(alive, 2, eval_id=kept.id, **over),
        make_allocation(alive, 3, eval_id=kept.id, modify_time=OLD),
        Deployment(id="d", status=DeploymentStatus.FAILED, modify_time=OLD, job_id="alive"),
        make_node(1),
        make_node(2, status=NodeStatus.DOWN),
        jobs=[DEAD, alive],
    )
    before = store.read(lambda reader: reader.index)

    run_core(store, "force-gc")

    def left(reader):
        rows = (reader.jobs(), reader.evaluations(), reader.deployments(), reader.nodes())
        return [[row.id for row in each] for each in rows]

    assert store.read(left) == [["alive"], [kept.id], [], [make_node(1).id]]
    assert [a.name for a in store.read(lambda reader: reader.allocations())] == [
        make_allocation(alive, 3).name
    ]
    row = store.read(lambda reader: reader.get(COLLECTIONS, "force-gc"))
    counts = (row.jobs, row.evaluations, row.allocations, row.deployments, row.nodes)
    assert counts == (1, 1, 2, 1, 1)
    frames = store.frames_since(before)
    assert {frame.kind for frame in frames} == {WriteKind.COLLECTED}
    told = [event for frame in frames for event in frame.events]
    assert {event.key for event in told if event.topic == Topic.COLLECTION} == {"force-gc"}
    made = [event for event in told if event.topic == Topic.EVALUATION and not event.deleted]
    assert made == [], "a core evaluation is no row"
