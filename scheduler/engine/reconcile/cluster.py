"""Decide which allocations of one service or batch job to stop, keep, change or add.

In: a `Situation`: the job, its allocations, its deployment, the tainted nodes, `now`.
Out: `ReconcileResults`. Free room on nodes is not looked at here; that is rank's work.
"""

from collections import defaultdict
from collections.abc import Iterable
from itertools import chain

from scheduler.engine.reconcile import disconnect, placements, rollout, stops
from scheduler.engine.reconcile.alloc_set import AllocSet
from scheduler.engine.reconcile.buckets import classify
from scheduler.engine.reconcile.group_work import GroupWork, Rollout
from scheduler.engine.reconcile.names import AllocNameIndex
from scheduler.engine.reconcile.reconnect import reconcile_reconnecting
from scheduler.engine.reconcile.reschedule import split_by_reschedule
from scheduler.engine.reconcile.results import ReconcileResults
from scheduler.engine.reconcile.situation import Situation, UpdateKind
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import DeploymentStatus, DeploymentStatusUpdate
from scheduler.structs.job import JobType
from scheduler.structs.plan_annotations import DesiredUpdates


def reconcile_cluster(situation: Situation) -> ReconcileResults:
    """What must change so that the job runs as it asks (reconciler.md 3).

    Groups are visited in the job's order, then removed ones by name. Nothing given is changed.
    """
    shared, updates = rollout.triage(situation)
    works: list[GroupWork] = []
    is_everything_complete = True
    for name, allocs in _matrix(situation).items():
        work = GroupWork(
            situation=situation,
            rollout=shared,
            name=name,
            group=situation.job.task_group(name) if situation.job else None,
            all=allocs,
        )
        works.append(work)
        if situation.is_stopped:
            stops.stop_whole(work, allocs.filter(lambda alloc: not alloc.is_terminal))
        elif not _reconcile_group(work):
            is_everything_complete = False
    if not situation.is_stopped:
        updates += rollout.final_updates(shared, is_everything_complete=is_everything_complete)
    return _gather(works, shared, updates)


def _matrix(situation: Situation) -> dict[str, AllocSet]:
    by_group: defaultdict[str, list[Allocation]] = defaultdict(list)
    for alloc in situation.allocations:
        by_group[alloc.task_group].append(alloc)
    of_job = [group.name for group in situation.job.task_groups] if situation.job else []
    removed = sorted(by_group.keys() - set(of_job))
    return {name: AllocSet(by_group[name]) for name in (*of_job, *removed)}


def _reconcile_group(work: GroupWork) -> bool:
    """Run the steps over one group; whether it is complete (reconciler.md 4)."""
    work.all = work.all.filter(_stays_visible)
    if work.group is None or work.group.count == 0:
        stops.stop_whole(work, work.all)
        return True
    _find_state(work)
    if work.situation.is_batch:
        _forget_old_batch(work)
    rollout.cancel_canaries(work)
    _fill_buckets(work)
    if work.reconnecting:
        reconcile_reconnecting(work)
    work.lost = work.lost.union(work.expiring)
    if work.disconnecting:
        disconnect.handle_disconnecting(work)
    if work.lost:
        disconnect.delay_lost(work)
    if work.reschedule_later:
        disconnect.delay_reschedules(work)
    holders = work.untainted.union(work.migrate, work.reschedule_now, work.lost)
    work.names = AllocNameIndex(
        work.situation.job_id, work.name, work.group.count, holders.values()
    )
    stops.stop_surplus(work)
    _judge_updates(work)
    _place(work)
    rollout.create_deployment(work)
    current = work.rollout.current
    if current is not None and current.status is DeploymentStatus.INITIALIZING:
        work.rollout.is_returned = True
    if len(work.place) > work.group.count:
        del work.place[work.group.count :]
        work.tally["place"] = work.group.count
    return rollout.is_complete(work)


def _stays_visible(alloc: Allocation) -> bool:
    """Batch work that was stopped after it finished must still be recognised as done."""
    if not alloc.is_server_terminal:
        return True
    return alloc.job_type == JobType.BATCH and not alloc.desired_transition.reschedule


def _find_state(work: GroupWork) -> None:
    current = work.rollout.current
    found = current.task_groups.get(work.name) if current else None
    work.has_state = found is not None
    work.state = found if found is not None else rollout.fresh_state(work.wanted)


def _forget_old_batch(work: GroupWork) -> None:
    """A batch job of a new version starts over: what ended under an old one holds no slot."""
    old = work.all.filter(lambda alloc: alloc.is_terminal and work.situation.is_older(alloc))
    work.all = work.all.difference(old)
    work.tally["ignore"] += len(old)


def _fill_buckets(work: GroupWork) -> None:
    buckets = classify(work.all, work.situation)
    work.tally["ignore"] += len(buckets.ignored)
    work.migrate, work.lost = buckets.migrating, buckets.lost
    work.disconnecting, work.reconnecting = buckets.disconnecting, buckets.reconnecting
    work.expiring = buckets.expiring
    settled = split_by_reschedule(buckets.untainted, work.situation, work.rollout.current)
    moving = split_by_reschedule(buckets.migrating, work.situation, work.rollout.current)
    work.untainted = settled.untainted
    work.reschedule_now = settled.now.union(moving.now)
    work.reschedule_later = [*settled.later, *moving.later]


def _judge_updates(work: GroupWork) -> None:
    job = work.situation.job
    assert job is not None, "a stopped job updates nothing"
    destructive: list[Allocation] = []
    for alloc in work.untainted.values():
        match work.situation.judge_update(alloc, job, work.wanted):
            case UpdateKind.IGNORE:
                work.tally["ignore"] += 1
            case UpdateKind.DESTRUCTIVE:
                destructive.append(alloc)
            case Allocation() as changed:
                work.inplace.append(changed)
    work.destructive = AllocSet(destructive)
    work.tally["in_place_update"] += len(work.inplace)
    if not work.has_state:
        rollout.set_state(work, more_total=len(work.inplace) + len(destructive))


def _place(work: GroupWork) -> None:
    if work.is_canarying:
        work.untainted = work.untainted.difference(work.canaries)
    if rollout.requires_canaries(work):
        rollout.place_canaries(work)
    limit = rollout.limit(work)
    found = [] if work.lost_later else placements.candidates(work)
    if not work.has_state:
        rollout.set_state(work, more_total=len(found))
    limit = placements.apply_candidates(work, found, limit)
    placements.update_destructively(work, limit)
    placements.migrate(work)


def _gather(
    works: Iterable[GroupWork], shared: Rollout, updates: tuple[DeploymentStatusUpdate, ...]
) -> ReconcileResults:
    works = list(works)
    deployment = shared.current if shared.is_returned else None
    return ReconcileResults(
        place=tuple(chain.from_iterable(work.place for work in works)),
        destructive=tuple(chain.from_iterable(work.replaced for work in works)),
        inplace=tuple(chain.from_iterable(work.inplace for work in works)),
        stop=tuple(chain.from_iterable(work.stop for work in works)),
        attribute_updates=_values(work.attribute_updates for work in works),
        disconnect_updates=_values(work.disconnect_updates for work in works),
        reconnect_updates=_values(work.reconnect_updates for work in works),
        followup_evals={work.name: tuple(work.followups) for work in works if work.followups},
        deployment=rollout.described(deployment) if deployment else None,
        deployment_updates=updates,
        desired_updates={work.name: DesiredUpdates(**work.tally) for work in works},
        name_indexes={work.name: work.names for work in works},
    )


def _values(maps: Iterable[dict[str, Allocation]]) -> tuple[Allocation, ...]:
    return tuple(chain.from_iterable(found.values() for found in maps))
