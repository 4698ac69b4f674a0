"""What one more allocation of a group would find on each node, for whoever asks about nodes.

In: a group's verdict, room and candidates at one moment of an attempt. Out: an explanation whose
counts add up to all nodes, one verdict per node, and every check of a single one.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scheduler.engine.context import EvalContext
from scheduler.engine.feasibility import CLASS_CHECKS, NODE_CHECKS
from scheduler.engine.feasibility.check import FeasibilityAsk
from scheduler.engine.feasibility.readiness import DATACENTER, POOL, READY, left_out, unreadiness
from scheduler.engine.feasibility.volumes import HostVolumes
from scheduler.engine.measure.fit import exceeds_max_allocs
from scheduler.engine.measure.grouping import listed_ids, refused_nodes
from scheduler.engine.rank.grant import Shortage
from scheduler.engine.rank.room import HAS_ROOM, MAX_ALLOCS, Room, dimension_name
from scheduler.state.node_table import Bools
from scheduler.state.node_use import UseSum
from scheduler.structs.explanation import (
    AskedAmounts,
    CheckResult,
    GroupExplanation,
    NodeVerdict,
    RefusedNodes,
    VerdictKind,
)

#: The checks that look at the plan, by one name.
DISTINCT = "distinct"
#: Who uses or claims the volumes that a group asks for.
CLAIMED = HostVolumes.name
#: A system job has one allocation per node.
ALREADY = "has one already"
_PLACE = frozenset({POOL, DATACENTER})


class Standing(NamedTuple):
    """One moment. Rows have the shape (row_count,)."""

    context: EvalContext
    ask: FeasibilityAsk
    candidates: Bools
    #: Candidates that are left out because they hold one of the group.
    holding: Bools
    #: Index into `reasons` and `checks`; 0 where every check passes.
    codes: NDArray[np.int16]
    reasons: tuple[str, ...]
    checks: tuple[str, ...]
    room: Room
    #: What one more takes.
    use: UseSum
    over_quota: tuple[str, ...]

    @property
    def passing(self) -> Bools:
        """Candidates that could run it, whatever room they have."""
        passing: Bools = self.candidates & (self.codes == 0)
        return passing

    @property
    def asks(self) -> AskedAmounts:
        """What one more asks for."""
        return AskedAmounts(
            cpu=round(self.use.cpu),
            memory_mb=round(self.use.memory_mb),
            disk_mb=round(self.use.disk_mb),
        )


def explanation(standing: Standing) -> GroupExplanation:
    """The counts, with as many nodes as are listed."""
    table, passing = standing.context.table, standing.passing
    lacking = passing & (standing.room.dimension != HAS_ROOM)
    job = standing.ask.job
    return GroupExplanation(
        task_group=standing.ask.group.name,
        job_version=job.version,
        candidates=int(np.count_nonzero(standing.candidates)),
        with_room=int(np.count_nonzero(passing & ~lacking)),
        refused=refused_nodes(
            table,
            standing.candidates & ~passing,
            standing.codes,
            standing.reasons,
            standing.checks,
        ),
        exhausted=standing.room.shortfalls(lacking),
        nearest=standing.room.nearest(lacking),
        not_asked=tuple(
            RefusedNodes(
                check=check,
                reason=reason,
                count=int(np.count_nonzero(rows)),
                node_ids=() if check in _PLACE else listed_ids(table, np.flatnonzero(rows)),
            )
            for check, reason, rows in _not_asked(standing)
        ),
        asks=standing.asks,
        quota_exhausted=standing.over_quota,
    )


def verdicts(standing: Standing) -> tuple[NodeVerdict, ...]:
    """One per node of the cluster, in the order of the table."""
    found: dict[int, NodeVerdict] = {}
    table, room = standing.context.table, standing.room
    for check, reason, rows in _not_asked(standing):
        for row in np.flatnonzero(rows).tolist():
            found[row] = _verdict(standing, row, VerdictKind.NOT_ASKED, check, reason)
    for row in np.flatnonzero(standing.candidates).tolist():
        code = int(standing.codes[row])
        if code:
            check, reason = standing.checks[code], standing.reasons[code]
            found[row] = _verdict(standing, row, VerdictKind.REFUSED, check, reason)
        elif room.dimension[row] != HAS_ROOM:
            reason = dimension_name(room.reason(row))
            found[row] = _verdict(standing, row, VerdictKind.EXHAUSTED, reason, reason)
        else:
            found[row] = _verdict(standing, row, VerdictKind.ROOM)
    return tuple(found[row] for row in np.flatnonzero(table.present).tolist())


def examination(standing: Standing, node_id: str) -> tuple[CheckResult, ...]:
    """Every check of one node, in the order in which they count; () for an unknown one."""
    table = standing.context.table
    row = table.row_of(node_id)
    if row < 0:
        return ()
    place = _place_checks(standing, row)
    return (*place, *_lasting_checks(standing, row), *_room_checks(standing, row))


def _not_asked(standing: Standing) -> Iterator[tuple[str, str, Bools]]:
    if np.array_equal(standing.candidates, standing.context.table.present):
        return
    for check, reason, rows in left_out(standing.context.table, standing.ask.job):
        if rows.any():
            yield check, reason, rows
    if standing.holding.any():
        yield DISTINCT, ALREADY, standing.holding


def _verdict(
    standing: Standing, row: int, kind: VerdictKind, check: str = "", reason: str = ""
) -> NodeVerdict:
    return NodeVerdict(
        node_id=standing.context.table.node_at(row).id,
        kind=kind,
        check=check,
        reason=reason.rstrip(),
        missing=standing.room.missing(row) if kind is VerdictKind.EXHAUSTED else 0,
        free=_free(standing, row),
    )


def _free(standing: Standing, row: int) -> AskedAmounts:
    table, use = standing.context.table, standing.context.use_at(row)
    return AskedAmounts(
        cpu=int(table.cpu_capacity[row] - use.cpu),
        memory_mb=int(table.memory_capacity[row] - use.memory_mb),
        disk_mb=int(table.disk_capacity[row] - use.disk_mb),
    )


def _place_checks(standing: Standing, row: int) -> Iterator[CheckResult]:
    node = standing.context.table.node_at(row)
    against = {check: reason for check, reason, rows in _not_asked(standing) if bool(rows[row])}
    unready = unreadiness(node)
    yield CheckResult(POOL, POOL not in against, against.get(POOL, node.node_pool))
    yield CheckResult(
        DATACENTER, DATACENTER not in against, against.get(DATACENTER, node.datacenter)
    )
    yield CheckResult(READY, not unready, unready or "ready, eligible")
    if ALREADY in against.values():
        yield CheckResult(DISTINCT, passed=False, reason=ALREADY)


def _lasting_checks(standing: Standing, row: int) -> Iterator[CheckResult]:
    code = int(standing.codes[row])
    by_plan = standing.checks[code] if code else ""
    for check in (*CLASS_CHECKS, *NODE_CHECKS):
        against = (item.reason for item in check.refusals(standing.ask) if bool(item.rows[row]))
        reason = next(against, "")
        if by_plan == CLAIMED == check.name:
            reason = standing.reasons[code]
        yield CheckResult(check.name, not reason, reason.rstrip())
    if by_plan == DISTINCT:
        yield CheckResult(DISTINCT, passed=False, reason=standing.reasons[code])


def _room_checks(standing: Standing, row: int) -> Iterator[CheckResult]:
    context, asks, free = standing.context, standing.asks, _free(standing, row)
    granted = standing.room.grant(row)
    if isinstance(granted, Shortage):
        reason = dimension_name(granted.reason)
        yield CheckResult(reason, passed=False, reason=reason)
    if exceeds_max_allocs(context.table.node_at(row), context.use_at(row).alloc_count + 1):
        yield CheckResult(MAX_ALLOCS, passed=False, reason=MAX_ALLOCS)
    for name, has, wants in (
        ("cpu", free.cpu, asks.cpu),
        ("memory", free.memory_mb, asks.memory_mb),
        ("disk", free.disk_mb, asks.disk_mb),
    ):
        yield CheckResult(name, has >= wants, free=has, asked=wants, missing=max(wants - has, 0))
