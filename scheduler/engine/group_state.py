"""Everything a stack knows of one task group during one attempt: verdict, room and scores.

In: the context's changes, as they are made. Out: the chosen row, and the metrics of the choice.
Which rows are candidates is the stack's to say.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scheduler.engine.context import EvalContext
from scheduler.engine.feasibility.check import FeasibilityAsk
from scheduler.engine.feasibility.class_memo import REMEMBERED, ClassMemo
from scheduler.engine.feasibility.distinct_hosts import DistinctHosts
from scheduler.engine.feasibility.distinct_property import DistinctProperty
from scheduler.engine.feasibility.verdict import GroupFeasibility, judge
from scheduler.engine.feasibility.volume_claims import VolumeClaims
from scheduler.engine.feasibility.volumes import MISSING
from scheduler.engine.measure.ask import ask_of
from scheduler.engine.measure.tally import Tally, tally
from scheduler.engine.rank.grant import Shortage
from scheduler.engine.rank.preemption import Eviction, Preemptor
from scheduler.engine.rank.ranking import Ranking, Scored
from scheduler.engine.standing import CLAIMED, DISTINCT, Standing
from scheduler.state.node_table import Bools
from scheduler.structs.alloc_metric import AllocMetric, NodeScore
from scheduler.structs.allocation import Allocation
from scheduler.structs.resources import AllocatedResources

#: How many of the best candidates a metric keeps.
_KEPT_SCORES = 5


class Setting(NamedTuple):
    """What the operator's settings, the job's pool and the kind of stack make of a select."""

    #: binpack or spread
    algorithm: str
    oversubscription: bool
    #: Off for system jobs: no scores but the fit, no distinct_hosts.
    with_preferences: bool


class Chosen(NamedTuple):
    """A row, what is granted on it, and what has to go for it."""

    row: int
    resources: AllocatedResources
    scored: Scored
    evicted: tuple[Allocation, ...]


class _Clearings(NamedTuple):
    """What evicting would do on the rows without room."""

    evictions: dict[int, Eviction]
    #: On rows where it does not help: what is lacking still, where that is not what was lacking
    #: with nobody gone.
    shortages: dict[int, str]


_NOTHING_CLEARED = _Clearings({}, {})


class GroupState:
    """One group of one job version. `metrics` tells of the last choice alone."""

    def __init__(
        self,
        context: EvalContext,
        ask: FeasibilityAsk,
        setting: Setting,
        candidates: Bools,
        memo: ClassMemo | None = None,
    ) -> None:
        job, group = ask.job, ask.group
        self._ask = ask
        self.job = job
        self.metrics = AllocMetric()
        self.verdict: GroupFeasibility = judge(ask)
        #: Candidates, and every other row a choice was limited to.
        self.looked_at: Bools = np.zeros(candidates.size, dtype=np.bool_)
        self._context = context
        self._memo = memo
        self.group_name = group.name
        self._candidates = candidates
        self._candidate_count = int(np.count_nonzero(candidates))
        self._distinct_hosts = DistinctHosts(context, job, group)
        self._minds_hosts = self._distinct_hosts.is_active and setting.with_preferences
        self._distinct_property = DistinctProperty(context, job, group)
        self._volume_claims = VolumeClaims(context, job, group, ask.alloc_name)
        self._read = len(context.log)
        group_ask = ask_of(group, oversubscription=setting.oversubscription)
        self._ask_use = group_ask.use
        self._ask_cores = sum(group_ask.cores.values())
        #: The quota that stopped the last choice; "" when none did.
        self.quota_limit_reached = ""
        self._ranking = Ranking(
            context,
            job,
            group_ask,
            self.verdict.passes & candidates,
            algorithm=setting.algorithm,
            with_preferences=setting.with_preferences,
        )
        self._preemptor = Preemptor(context, job, group_ask, self._ranking.room)
        #: Counts that hold until something changes them.
        self._filtered: Tally | None = None
        self._exhausted: Tally | None = None
        self._has_looked_at_all = False

    def choose(self, penalty_rows: frozenset[int], *, preempt: bool) -> Chosen | None:
        """The best of the candidates; None when none has room, or the quota has not."""
        if self._is_over_quota():
            return None
        self._follow()
        codes, reasons = self._forbid()
        blocked = None if codes is self.verdict.reason_codes else codes != 0
        clearings = self._clearings(blocked) if preempt else _NOTHING_CLEARED
        evictions = clearings.evictions
        entries = self._ranking.best(_KEPT_SCORES, penalty_rows, blocked)
        scored = {
            row: self._ranking.score(row, is_penalised=row in penalty_rows)
            for _, _, row in entries
        }
        for row, eviction in evictions.items():
            scored[row] = self._ranking.score_evicting(
                row, eviction, is_penalised=row in penalty_rows
            )
        if evictions:
            entries = sorted(self._ranking.entry(row, scored[row]) for row in scored)
        best = [row for _, _, row in entries[:_KEPT_SCORES]]
        self._measure(codes, reasons, best, scored, clearings)
        self._remember_candidates()
        if not best:
            return None
        return self._chosen(best[0], scored[best[0]], evictions.get(best[0]))

    def choose_on(self, row: int, penalty_rows: frozenset[int], *, preempt: bool) -> Chosen | None:
        """That row if it takes the group; it need not be a candidate."""
        if self._is_over_quota():
            return None
        self._follow()
        codes, reasons = self._forbid()
        reason = self._label(row, reasons[codes[row]])
        self._remember(row)
        if reason:
            self._measure_one(row, filtered=reason)
            return None
        if not self._candidates[row]:
            self._ranking.room.update(row)
        eviction = None
        lacking = self._ranking.room.reason(row)
        if lacking:
            found = self._preemptor.evict_for(row) if preempt else Shortage(lacking)
            if isinstance(found, Shortage):
                counts = bool(self._ranking.room.exhausted[row])
                self._measure_one(row, exhausted=found.reason if counts else None)
                return None
            eviction = found
        self._ranking.refresh_spread()
        is_penalised = row in penalty_rows
        if eviction is None:
            scored = self._ranking.score(row, is_penalised=is_penalised)
        else:
            scored = self._ranking.score_evicting(row, eviction, is_penalised=is_penalised)
        self._measure_one(row, scored=scored)
        return self._chosen(row, scored, eviction)

    def standing(self, *, only_empty: bool) -> Standing:
        """What one more allocation would find on each node, as the plan stands.

        With `only_empty` candidates that hold one of the group already are left out.
        """
        self._follow()
        quota = self._context.quota
        codes, reasons = self._forbid()
        checks = self.verdict.checks
        holding = np.zeros(self._candidates.size, dtype=np.bool_)
        if only_empty:
            holding = self._candidates & (self._context.group_counts(self.group_name) > 0)
        return Standing(
            context=self._context,
            ask=self._ask,
            candidates=self._candidates & ~holding,
            holding=holding,
            codes=codes,
            reasons=reasons,
            checks=(
                *checks,
                *(CLAIMED if each == MISSING else DISTINCT for each in reasons[len(checks) :]),
            ),
            room=self._ranking.room,
            use=self._ask_use,
            over_quota=quota.exceeded_by(self._ask_use, self._ask_cores) if quota else (),
        )

    def _is_over_quota(self) -> bool:
        """Whether one more would exceed the namespace's quota, whatever the node."""
        quota = self._context.quota
        over = () if quota is None else quota.exceeded_by(self._ask_use, self._ask_cores)
        self.quota_limit_reached = quota.name if quota is not None and over else ""
        if over:
            self.metrics = AllocMetric(quota_exhausted=over)
        return bool(over)

    def _follow(self) -> None:
        """Score again the rows on which the plan changed."""
        log = self._context.log
        if self._read == len(log):
            return
        changes = log[self._read :]
        for change in changes:
            self._preemptor.forget(change)
        for row in {change.row for change in changes}:
            if row >= 0 and self.verdict.reason_codes[row] == 0:
                before = self._ranking.room.dimension[row]
                self._ranking.update(row)
                if before != self._ranking.room.dimension[row]:
                    self._exhausted = None
        self._read = len(log)

    def _forbid(self) -> tuple[NDArray[np.int16], tuple[str, ...]]:
        """The reasons against each row, those of the plan so far added to the lasting ones."""
        claims = self._volume_claims
        if not (self._minds_hosts or self._distinct_property.is_active or claims.is_active):
            return self.verdict.reason_codes, self.verdict.reasons
        codes, reasons = self.verdict.reason_codes.copy(), list(self.verdict.reasons)
        refusals = list(self._distinct_property.refusals())
        if self._minds_hosts:
            refusals.insert(0, self._distinct_hosts.refusal())
        refusals = [*claims.refusals(), *refusals]
        for rows, reason in refusals:
            reasons.append(reason)
            codes[rows & (codes == 0)] = len(reasons) - 1
        return codes, tuple(reasons)

    def _clearings(self, blocked: Bools | None) -> _Clearings:
        rows = self._candidates & self.verdict.passes & ~self._ranking.allowed
        if blocked is not None:
            rows &= ~blocked
        clearings = _Clearings({}, {})
        for row in np.flatnonzero(rows).tolist():
            found = self._preemptor.evict_for(row)
            if isinstance(found, Eviction):
                clearings.evictions[row] = found
            elif found.reason != self._ranking.room.reason(row):
                clearings.shortages[row] = found.reason
        return clearings

    def _chosen(self, row: int, scored: Scored, eviction: Eviction | None) -> Chosen:
        if eviction is not None:
            return Chosen(row, eviction.grant.resources, scored, eviction.victims)
        granted = self._ranking.room.grant(row)
        assert not isinstance(granted, Shortage), "room was judged by granting"
        return Chosen(row, granted.resources, scored, ())

    def _count_filtered(self, codes: NDArray[np.int16], reasons: tuple[str, ...]) -> Tally:
        if self._memo is not None:
            remembered = self._memo.remembered(self.group_name, self.verdict)
            codes = np.where(remembered, np.int16(len(reasons)), codes)
            reasons = (*reasons, REMEMBERED)
        return tally(self._context.table, self._candidates & (codes != 0), codes, reasons)

    def _label(self, row: int, reason: str) -> str:
        if reason and self._memo is not None:
            remembered = self._memo.remembered(self.group_name, self.verdict)
            return REMEMBERED if remembered[row] else reason
        return reason

    def _remember(self, row: int) -> None:
        if not self.looked_at[row]:
            self.looked_at[row] = True
            if self._memo is not None:
                self._memo.note(self.group_name, self.verdict, row)

    def _remember_candidates(self) -> None:
        if self._has_looked_at_all:
            return
        self._has_looked_at_all = True
        self._filtered = None
        self.looked_at |= self._candidates
        if self._memo is not None:
            self._memo.note(self.group_name, self.verdict, self._candidates)

    def _count_exhausted(self, codes: NDArray[np.int16], clearings: _Clearings) -> Tally:
        room = self._ranking.room
        rows = self._candidates & (codes == 0) & room.exhausted
        rows[list(clearings.evictions)] = False
        dimension = room.dimension_with(clearings.shortages)
        return tally(self._context.table, rows, dimension, room.dimensions)

    def _measure(
        self,
        codes: NDArray[np.int16],
        reasons: tuple[str, ...],
        best: list[int],
        scored: dict[int, Scored],
        clearings: _Clearings,
    ) -> None:
        filtered, exhausted = self._filtered, self._exhausted
        if codes is not self.verdict.reason_codes:
            filtered = exhausted = None
        if filtered is None:
            filtered = self._filtered = self._count_filtered(codes, reasons)
        has_cleared = any(clearings)
        if exhausted is None or has_cleared:
            exhausted = self._count_exhausted(codes, clearings)
            is_lasting = not has_cleared and codes is self.verdict.reason_codes
            self._exhausted = exhausted if is_lasting else None
        self.metrics = AllocMetric(
            nodes_evaluated=self._candidate_count,
            nodes_filtered=filtered.total,
            class_filtered=filtered.by_class,
            constraint_filtered=filtered.by_reason,
            nodes_exhausted=exhausted.total,
            class_exhausted=exhausted.by_class,
            dimension_exhausted=exhausted.by_reason,
            score_meta_data=tuple(self._node_score(row, scored[row]) for row in best),
        )

    def _measure_one(
        self,
        row: int,
        *,
        filtered: str | None = None,
        exhausted: str | None = None,
        scored: Scored | None = None,
    ) -> None:
        node_class = self._context.table.node_at(row).node_class
        by_class = {node_class: 1} if node_class else {}
        self.metrics = AllocMetric(
            nodes_evaluated=1,
            nodes_filtered=int(filtered is not None),
            class_filtered=by_class if filtered is not None else {},
            constraint_filtered={filtered: 1} if filtered is not None else {},
            nodes_exhausted=int(exhausted is not None),
            class_exhausted=by_class if exhausted is not None else {},
            dimension_exhausted={exhausted: 1} if exhausted is not None else {},
            score_meta_data=() if scored is None else (self._node_score(row, scored),),
        )

    def _node_score(self, row: int, scored: Scored) -> NodeScore:
        return NodeScore(
            node_id=self._context.table.node_at(row).id,
            scores=scored.scores,
            norm_score=scored.norm_score,
        )
