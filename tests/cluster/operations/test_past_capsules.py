"""The capsule of a past evaluation, from a real database, decided again by the command."""

import json
from io import StringIO

import pytest
from django.core.management import call_command
from msgspec.structs import replace

from cluster.jobspec.patterns import Re2Matcher
from cluster.operations.errors import NotFound
from cluster.operations.namespaces import put_namespace
from cluster.operations.past_capsules import capsule_of
from cluster.operations.quotas import put_quota
from cluster.store.retention import trim_events
from cluster.store.snapshot_cache import SnapshotCache
from scheduler.state.writes.jobs import purge_job, write_job
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.evaluation import EvalStatus, EvalTrigger
from scheduler.structs.explanation import RunEnd
from scheduler.structs.job import Namespace
from scheduler.structs.node import NodeStatus
from scheduler.structs.quota import QuotaAmounts, QuotaSpec
from scheduler.structs.resources import Resources
from tests.builders import make_evaluation, make_job, make_node, make_task, make_task_group
from tests.callers import MANAGER
from tests.cluster.operations.live_run import LiveRun

NOW = 1_750_000_000_000_000_000
SECOND = 1_000_000_000


@pytest.fixture
def run(sqlite_store):
    cache = SnapshotCache(sqlite_store.alias)
    yield LiveRun(sqlite_store, cache, Re2Matcher())
    cache.close()


@pytest.fixture
def job():
    task = make_task(resources=Resources(cpu=500, memory_mb=256))
    return make_job(task_groups=(make_task_group(count=4, tasks=(task,)),))


def decide(capsule, tmp_path):
    """What `manage.py evaluate` says of the document."""
    file = tmp_path / "capsule.json"
    file.write_text(json.dumps(capsule))
    out = StringIO()
    call_command("evaluate", str(file), "--compact", stdout=out)
    return json.loads(out.getvalue())


def placements(decision):
    return {
        (alloc["Name"], node_id)
        for plan in decision["Plans"]
        for node_id, allocs in plan["NodeAllocation"].items()
        for alloc in allocs
    }


def stops(decision):
    return {
        alloc["ID"]
        for plan in decision["Plans"]
        for allocs in plan["NodeUpdate"].values()
        for alloc in allocs
    }


def capsule_from(run, evaluation):
    return run.store.read(lambda reader: capsule_of(reader, evaluation))


def placed_by(run, evaluation):
    allocs = run.store.read(lambda reader: list(reader.allocations_by_eval(evaluation.id)))
    return {(alloc.name, alloc.node_id) for alloc in allocs}


def begin(run, job):
    """Six nodes, a registered job, and its first evaluation decided."""

    def fill(change):
        for number in range(1, 7):
            node = make_node(number, secret_id="s", create_index=change.index)
            change.put_node(replace(node, modify_index=change.index))
        return write_job(change, job)

    run.put(fill, NOW)
    return run.evaluate(make_evaluation(1), NOW + SECOND)


def lose_a_node(run, node_id):
    """A node goes down; returns the evaluation that replaces what ran there."""

    def work(change):
        change.put_node(
            replace(change.node(node_id), status=NodeStatus.DOWN, modify_index=change.index)
        )

    run.put(work, NOW + 2 * SECOND)
    return run.evaluate(make_evaluation(2, triggered_by=EvalTrigger.NODE_UPDATE), NOW + 3 * SECOND)


def change_everything(run, job):
    """Whatever the capsules must not show: later rows, changed rows, deleted rows."""

    def work(change):
        for alloc in change.allocations_by_job(job.key):
            change.put_allocation(
                alloc.changed(client_status=ClientStatus.FAILED, modify_index=change.index)
            )
        change.delete_node(make_node(6).id)
        change.put_node(make_node(9, create_index=change.index))
        write_job(change, replace(job, priority=99))

    run.put(work, NOW + 4 * SECOND)
    run.put(lambda change: purge_job(change, job.key), NOW + 5 * SECOND)


def test_a_past_evaluation_is_decided_again_alike(run, job, tmp_path):
    first = begin(run, job)
    lost = min(placed_by(run, first))[1]
    second = lose_a_node(run, lost)
    before = {evaluation.id: placed_by(run, evaluation) for evaluation in (first, second)}
    assert [len(found) for found in before.values()] == [
        4,
        sum(1 for _, node in before[first.id] if node == lost),
    ]
    stopped = run.store.read(
        lambda reader: {a.id for a in reader.allocations_by_job(job.key) if a.is_server_terminal}
    )
    change_everything(run, job)
    for evaluation in (first, second):
        capsule = capsule_from(run, evaluation)
        assert capsule["Missing"] == []
        assert len(capsule["Nodes"]) == 6
        assert {node["SecretID"] for node in capsule["Nodes"]} == {""}
        decision = decide(capsule, tmp_path)
        assert decision["Evaluation"]["Status"] == "complete"
        assert placements(decision) == before[evaluation.id]
    assert stops(decision) == stopped


def test_a_quota_is_taken_along_as_it_was(run, job, tmp_path):
    put_quota(run.store, QuotaSpec(name="q", limits=QuotaAmounts(cpu=1200)), by=MANAGER, now=NOW)
    put_namespace(run.store, Namespace(name="default", quota="q"), by=MANAGER, now=NOW)
    evaluation = begin(run, job)
    before = placed_by(run, evaluation)
    put_quota(run.store, QuotaSpec(name="q", limits=QuotaAmounts(cpu=9000)), by=MANAGER, now=NOW)
    put_namespace(run.store, Namespace(name="default"), by=MANAGER, now=NOW)

    capsule = capsule_from(run, evaluation)
    decision = decide(capsule, tmp_path)
    assert capsule["Missing"] == []
    assert [(item["Name"], item["Limits"]["CPU"]) for item in capsule["Quotas"]] == [("q", 1200)]
    assert (len(before), placements(decision)) == (2, before)
    failure = decision["Evaluation"]["FailedTGAllocs"]["web"]
    assert failure["QuotaExhausted"] == ["cpu exhausted (1500 needed > 1200 limit)"]
    (blocked,) = decision["CreatedEvals"]
    assert blocked["QuotaLimitReached"] == "q"


def test_what_was_being_judged_meanwhile_counts_again(run, tmp_path):
    task = make_task(resources=Resources(cpu=3000, memory_mb=256))
    jobs = [
        make_job(id=name, task_groups=(make_task_group(count=2, tasks=(task,)),))
        for name in ("a", "b", "c")
    ]

    def fill(change):
        for number in range(1, 7):
            change.put_node(make_node(number, create_index=change.index))
        for each in jobs:
            write_job(change, each)

    run.put(fill, NOW)
    evaluations = [make_evaluation(n, job_id=each.id) for n, each in enumerate(jobs, 1)]
    decided = run.evaluate_together(evaluations, NOW + SECOND)
    ids = tuple(evaluation.id for evaluation in decided)
    assert [evaluation.counted_evals for evaluation in decided] == [(), ids[:1], ids[:2]]

    def end_all(change):
        for alloc in list(change.allocations()):
            change.put_allocation(
                alloc.changed(client_status=ClientStatus.COMPLETE, modify_index=change.index)
            )

    run.put(end_all, NOW + 4 * SECOND)
    for evaluation in decided:
        capsule = capsule_from(run, evaluation)
        assert capsule["Missing"] == []
        assert len(capsule["Allocations"]) == 2 * len(evaluation.counted_evals)
        assert placements(decide(capsule, tmp_path)) == placed_by(run, evaluation)


def test_a_plan_that_was_counted_and_came_to_nothing_is_named(run, job):
    first = replace(begin(run, job), counted_evals=("gone",))
    assert capsule_from(run, first)["Missing"] == [
        "what a plan of evaluation gone was to take and did not get"
    ]


def test_what_the_log_has_forgotten_is_named(run, job, tmp_path):
    first = begin(run, job)
    lost = min(placed_by(run, first))[1]
    lose_a_node(run, lost)
    while trim_events(run.store, now=NOW + 9 * SECOND, keep_for=0, keep_bytes=10**9):
        pass
    capsule = capsule_from(run, first)
    assert capsule["Missing"] == [
        f"rows deleted since index {first.snapshot_index}: the events after it are no longer kept",
        f"Job {job.id} has changed since; it is given as it stands now",
        f"Node {lost} has changed since; it is given as it stands now",
    ]
    assert capsule["Allocations"] == []
    assert decide(capsule, tmp_path)["Evaluation"]["Status"] == "complete"


@pytest.mark.parametrize("status", [EvalStatus.PENDING, EvalStatus.BLOCKED, EvalStatus.CANCELED])
def test_what_was_not_decided_has_no_capsule(run, status):
    with pytest.raises(NotFound, match="not decided"):
        capsule_from(run, make_evaluation(1, status=status, snapshot_index=7))


def test_a_run_that_placed_everything_is_kept_as_such(run, job):
    first = begin(run, job)
    (stored,) = run.store.read(lambda reader: reader.explanations(first.id))
    assert (stored.ended, stored.group.failed) == (RunEnd.PLACED, 0)


def test_a_run_leaves_its_explanation(run, job):
    too_big = make_task(resources=Resources(cpu=500, memory_mb=10**6))
    first = begin(run, replace(job, task_groups=(make_task_group(count=2, tasks=(too_big,)),)))
    (stored,) = run.store.read(lambda reader: reader.explanations(first.id))
    found = stored.group
    assert (found.candidates, found.with_room, found.failed) == (6, 0, 2)
    assert (stored.ended, stored.job_version) == (RunEnd.WAITS, 0)
    assert (found.exhausted[0].dimension, len(found.exhausted[0].missing)) == ("memory", 6)
    lacking = f"{found.exhausted[0].least_missing:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    assert found.nearest_miss == f"6 nodes lack {lacking} MiB of memory"
