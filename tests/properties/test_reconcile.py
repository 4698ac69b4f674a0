"""What holds of every reconciliation, whatever state the cluster is in (reconciler.md 23)."""

from itertools import pairwise

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from scheduler.engine.reconcile import reasons
from scheduler.engine.reconcile.alloc_set import AllocSet
from scheduler.engine.reconcile.buckets import Buckets, classify
from scheduler.engine.reconcile.cluster import reconcile_cluster
from scheduler.engine.reconcile.results import ReconcileResults
from scheduler.engine.reconcile.situation import Situation
from scheduler.structs.allocation import Allocation, DesiredStatus
from scheduler.structs.deployment import DeploymentStatus
from scheduler.structs.policies import SECOND
from scheduler.structs.task_group import TaskGroup
from tests.builders import CountingIDs
from tests.properties.reconcile_situations import situations
from tests.scheduler.engine.reconcile import scene

ACTIVE_COUNTERS = (
    "place",
    "canary",
    "destructive_update",
    "migrate",
    "in_place_update",
    "reschedule_later",
    "preemptions",
)


def fresh(situation: Situation) -> Situation:
    """The same situation with ids that start over."""
    return msgspec.structs.replace(situation, ids=CountingIDs(prefix="e"))


def groups_of(situation: Situation) -> dict[str, TaskGroup | None]:
    wanted = situation.job.task_groups if situation.job else ()
    found: dict[str, TaskGroup | None] = {
        alloc.task_group: None for alloc in situation.allocations
    }
    return found | {group.name: group for group in wanted}


def members(situation: Situation, name: str) -> list[Allocation]:
    return [alloc for alloc in situation.allocations if alloc.task_group == name]


def is_wanted(situation: Situation, group: TaskGroup | None) -> bool:
    return not situation.is_stopped and group is not None and group.count > 0


@given(situations())
def test_every_alloc_lands_in_exactly_one_bucket(situation):
    buckets = classify(AllocSet(situation.allocations), situation)
    found = [key for name in Buckets.__struct_fields__ for key in getattr(buckets, name)]
    assert sorted(found) == sorted(alloc.id for alloc in situation.allocations)


@given(situations())
def test_every_group_is_counted_within_its_bounds(situation):
    results = reconcile_cluster(situation)
    assert results.desired_updates.keys() == groups_of(situation).keys()
    for name, group in groups_of(situation).items():
        counts = results.desired_updates[name]
        existing = members(situation, name)
        for counter in ("ignore", "migrate", "in_place_update", "destructive_update"):
            assert getattr(counts, counter) <= len(existing)
        assert counts.reconnect <= sum(not alloc.is_client_terminal for alloc in existing)
        if not is_wanted(situation, group):
            assert [getattr(counts, counter) for counter in ACTIVE_COUNTERS] == [0] * 7
            continue
        canaries = group.update.canary if group.update else 0
        assert counts.place <= group.count
        assert counts.canary <= canaries
        assert counts.destructive_update <= group.count
        together = counts.place + counts.canary + counts.destructive_update
        assert together <= group.count + canaries
        placed = [one for one in results.place if one.task_group.name == name]
        assert len(placed) <= group.count


@given(situations())
def test_what_is_not_wanted_is_only_stopped(situation):
    results = reconcile_cluster(situation)
    for name, group in groups_of(situation).items():
        if is_wanted(situation, group):
            continue
        changed = [
            *results.inplace,
            *results.attribute_updates,
            *results.disconnect_updates,
            *results.reconnect_updates,
            *(one.alloc for one in results.destructive),
        ]
        assert not [alloc for alloc in changed if alloc.task_group == name]
        assert not [one for one in results.place if one.task_group.name == name]
        assert name not in results.followup_evals


@given(situations())
def test_a_deployment_is_never_made_of_a_stopped_job_or_a_failed_rollout(situation):
    results = reconcile_cluster(situation)
    found = situation.deployment
    has_failed = (
        found is not None
        and situation.job is not None
        and found.status is DeploymentStatus.FAILED
        and found.job_version == situation.job.version
    )
    if situation.is_stopped or has_failed:
        assert results.deployment is None


@given(situations())
def test_changes_do_not_contradict_each_other(situation):
    results = reconcile_cluster(situation)
    stopped = {stop.alloc.id for stop in results.stop}
    assert stopped.isdisjoint(alloc.id for alloc in results.inplace)
    for name in groups_of(situation):
        names = [
            one.name
            for one in results.place
            if one.task_group.name == name and one.previous is None and not one.is_canary
        ]
        assert len(set(names)) == len(names)
    migrating = sum(counts.migrate for counts in results.desired_updates.values())
    assert sum(stop.reason == reasons.MIGRATING for stop in results.stop) >= migrating


@given(situations())
def test_delayed_evaluations_are_apart_in_order_and_waited_for(situation):
    results = reconcile_cluster(situation)
    noted = {
        *(alloc.followup_eval_id for alloc in results.attribute_updates),
        *(alloc.followup_eval_id for alloc in results.disconnect_updates),
        *(stop.followup_eval_id or stop.alloc.followup_eval_id for stop in results.stop),
    }
    for evals in results.followup_evals.values():
        timeouts = [one for one in evals if one.triggered_by == "max-disconnect-timeout"]
        for before, after in pairwise(timeouts):
            assert after.wait_until - before.wait_until >= 5 * SECOND
        others = {one.id for one in evals} - {one.id for one in timeouts}
        assert others <= noted


@given(situations())
def test_the_same_situation_gives_the_same_results_and_is_left_as_it_was(situation):
    before = msgspec.json.encode(situation.allocations)
    first = comparable(reconcile_cluster(fresh(situation)))
    assert comparable(reconcile_cluster(fresh(situation))) == first
    assert msgspec.json.encode(situation.allocations) == before


def comparable(results: ReconcileResults) -> ReconcileResults:
    return msgspec.structs.replace(results, name_indexes={})


@given(count=st.integers(0, 6), held=st.lists(st.integers(0, 8), max_size=8), lost=st.booleans())
def test_a_cluster_that_did_as_told_is_left_alone(count, held, lost):
    current = scene.job(count)
    existing = [
        scene.alloc(current, index, "down" if lost and not at else "ready", id=f"a{at}")
        for at, index in enumerate(held)
    ]
    results = reconcile_cluster(scene.situation(current, existing))
    stopped = {stop.alloc.id for stop in results.stop}
    after = [
        alloc.changed(desired_status=DesiredStatus.STOP) if alloc.id in stopped else alloc
        for alloc in existing
    ]
    after += [
        scene.alloc(current, 0, id=f"new{at}", name=one.name)
        for at, one in enumerate(results.place)
    ]
    again = reconcile_cluster(scene.situation(current, after))
    assert (again.place, again.stop, again.destructive, again.inplace) == ((), (), (), ())
