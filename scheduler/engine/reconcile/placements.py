"""What a group places now: replacements, missing ones, destructive updates, migrations.

In: the group's working sets and the limit of its rollout. Out: placements and the stops that go
with them (reconciler.md 13 to 15).
"""

from scheduler.engine.reconcile import reasons
from scheduler.engine.reconcile.alloc_set import AllocSet
from scheduler.engine.reconcile.group_work import GroupWork
from scheduler.engine.reconcile.history import is_canary
from scheduler.engine.reconcile.results import DestructiveUpdate, Placement
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.job import JobType


def candidates(work: GroupWork) -> list[Placement]:
    """What should be placed if nothing held it back: due replacements, lost ones, fresh ones."""
    wanted = work.wanted.count
    held = len(work.untainted) + len(work.migrate) + len(work.reschedule_now)
    found = [
        _replacement(work, alloc, is_reschedule=True) for alloc in work.reschedule_now.values()
    ]
    for alloc in work.lost.values():
        if held >= wanted:
            break
        held += 1
        found.append(_replacement(work, alloc, is_lost=True))
    if held < wanted:
        found.extend(
            Placement(name=name, task_group=work.wanted, downgrade_non_canary=work.is_canarying)
            for name in work.names.next(wanted - held)
        )
    return found


def apply_candidates(work: GroupWork, found: list[Placement], limit: int) -> int:
    """Take the candidates the rollout allows; what is left of `limit` (reconciler.md 13.2)."""
    failed = work.reschedule_now.filter(
        lambda alloc: (
            alloc.id not in work.disconnect_updates
            and alloc.id not in work.migrate
            and alloc.client_status is not ClientStatus.UNKNOWN
        )
    )
    if work.may_place:
        _take(work, found)
        work.stop_all(failed, reasons.RESCHEDULED)
        work.tally["stop"] += len(failed)
        return limit - min(len(found), limit)
    # As many as were lost: those first, and nobody is replaced twice.
    chosen = sorted(found, key=_how_soon)[: len(work.lost)]
    _take(work, chosen)
    for placement in found:
        if placement in chosen:
            continue
        if placement.is_reschedule and not _is_of_failed_deployment(work, placement):
            _take(work, [placement])
            assert placement.previous is not None, "a reschedule replaces somebody"
            if placement.previous.id not in work.disconnect_updates:
                work.stop_all(AllocSet([placement.previous]), reasons.RESCHEDULED)
                work.tally["stop"] += 1
    return limit


def update_destructively(work: GroupWork, limit: int) -> None:
    """Replace as many changed allocations as the limit allows, lowest index first."""
    number = min(len(work.destructive), limit) if work.may_place else 0
    chosen = list(work.destructive.values())[:number]
    work.replaced.extend(
        DestructiveUpdate(
            name=alloc.name, task_group=work.wanted, alloc=alloc, reason=reasons.UPDATING
        )
        for alloc in chosen
    )
    work.tally["destructive_update"] += number
    work.tally["ignore"] += len(work.destructive) - number


def migrate(work: GroupWork) -> None:
    """Move every flagged allocation at once; pacing is the drainer's business."""
    work.stop_all(work.migrate, reasons.MIGRATING)
    work.tally["migrate"] += len(work.migrate)
    for alloc in work.migrate.values():
        wish = alloc.desired_transition
        is_batch = alloc.job_type == JobType.BATCH
        if not (is_batch and (wish.reschedule or wish.migrate_disable_placement)):
            work.place.append(_replacement(work, alloc))


def _replacement(
    work: GroupWork, alloc: Allocation, *, is_reschedule: bool = False, is_lost: bool = False
) -> Placement:
    return Placement(
        name=alloc.name,
        task_group=work.wanted,
        previous=alloc,
        is_canary=is_canary(alloc),
        is_reschedule=is_reschedule,
        is_lost=is_lost,
        downgrade_non_canary=work.is_canarying and not is_canary(alloc),
        min_job_version=alloc.job_version,
    )


def _how_soon(placement: Placement) -> int:
    """Replacements of lost ones, then fresh ones, then those that can also come otherwise."""
    return 0 if placement.is_lost else 2 if placement.is_reschedule else 1


def _take(work: GroupWork, chosen: list[Placement]) -> None:
    work.place.extend(chosen)
    work.tally["place"] += len(chosen)


def _is_of_failed_deployment(work: GroupWork, placement: Placement) -> bool:
    deployment = work.rollout.current
    return (
        work.rollout.has_failed
        and deployment is not None
        and placement.previous is not None
        and placement.previous.deployment_id == deployment.id
    )
