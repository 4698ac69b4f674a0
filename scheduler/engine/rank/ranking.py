"""The final score of every row for one group, kept current while allocations are placed.

In: the rows a group is feasible on, the context. Out: the best rows, and the score columns of any.
A placement moves one row, and with spreads the scores of rows that share its values.
"""

from typing import NamedTuple

import numpy as np

from scheduler.engine.context import EvalContext
from scheduler.engine.measure.ask import GroupAsk
from scheduler.engine.rank import affinity, anti_affinity, binpack, device_preference
from scheduler.engine.rank.affinity import NodeAffinity
from scheduler.engine.rank.anti_affinity import AntiAffinity
from scheduler.engine.rank.binpack import Fit
from scheduler.engine.rank.choose import Entry, Leaders, best_entries, entry_of, tie_keys
from scheduler.engine.rank.device_preference import DevicePreference
from scheduler.engine.rank.preemption import Eviction
from scheduler.engine.rank.room import HAS_ROOM, Room
from scheduler.engine.rank.scorer import Scorer
from scheduler.engine.rank.shelves import Shelves
from scheduler.engine.rank.spread import SpreadScores
from scheduler.state.node_table import Bools, Floats
from scheduler.structs.job import Job

RESCHEDULE_PENALTY = "node-reschedule-penalty"
PREEMPTION = "preemption"
_PENALTY = -1.0
#: Recorded as 0 where they do not apply (placement.md 9.4).
_ALWAYS_RECORDED = frozenset({anti_affinity.NAME, RESCHEDULE_PENALTY, affinity.NAME})
#: Shelves take longer to fill than looking at all rows a few times.
_WORTH_SHELVES = 4


class Scored(NamedTuple):
    """The recorded score columns of one row, and the mean of those that applied."""

    scores: dict[str, float]
    norm_score: float


class Ranking:
    """Scores of one group. `with_preferences` is off for system jobs: then only the fit counts."""

    def __init__(
        self,
        context: EvalContext,
        job: Job,
        ask: GroupAsk,
        rows: Bools,
        *,
        algorithm: str,
        with_preferences: bool,
    ) -> None:
        self._with_preferences = with_preferences
        self._rows = rows
        self._keys = tie_keys(context.table.keys, context.seed)
        self._leaders = Leaders(self._keys)
        self.room = Room(context, ask, rows)
        self._fit = Fit(context.table, self.room, algorithm)
        #: Rules that apply to few rows. They are summed up before those that apply to all.
        self._partial: list[Scorer] = [DevicePreference(self.room)]
        self._whole: list[Scorer] = []
        self._spread: SpreadScores | None = None
        if with_preferences:
            same_group = context.group_counts(ask.group.name)
            self._partial.append(AntiAffinity(same_group, ask.group.count or 1))
            affinities = affinity.affinities_of(job, ask.group)
            if affinities:
                self._whole.append(NodeAffinity(context.table, affinities, context.matcher))
            if job.spreads or ask.group.spreads:
                self._spread = SpreadScores(context, job, ask.group)
        self._summed = (*self._partial, *self._whole)
        #: All rules in the order of placement.md 9, parted where the penalty comes between.
        self._first: tuple[Scorer, ...] = (self._fit, *self._partial)
        self._last: tuple[Scorer, ...] = (*self._whole, *filter(None, [self._spread]))
        self._shelves: Shelves | None = None
        self._best_asked = 0
        self._score_all()

    def update(self, row: int) -> None:
        """Score one row again, after the plan changed on it."""
        self.room.update(row)
        has_room = self._rows[row] and self.room.dimension[row] == HAS_ROOM
        self._allowed[row] = has_room
        if has_room:
            self._sums[row], self._appended[row] = self._sum_of(row)
        if self._spread is None:
            self._leaders.update(row, self._local_norm(row) if has_room else None)
        elif self._shelves is not None:
            self._shelves.update(row, is_allowed=bool(has_room))

    def best(self, count: int, penalty_rows: frozenset[int], blocked: Bools | None) -> list[Entry]:
        """The best rows with room that are not blocked, at most `count`, best first."""
        wanted = count + len(penalty_rows)
        allowed = self._allowed if blocked is None else self._allowed & ~blocked
        self._refresh(allowed)
        if blocked is not None:
            entries = best_entries(self._norms(), allowed, self._keys, wanted)
        elif self._spread is None:
            entries = self._leaders.best(self._norms, allowed, wanted)
        else:
            entries = self._best_of_shelves(self._spread, wanted)
        if penalty_rows:
            entries = [entry for entry in entries if entry[2] not in penalty_rows]
            entries += [
                self.entry(row, self.score(row, is_penalised=True))
                for row in penalty_rows
                if allowed[row]
            ]
            entries.sort()
        return entries[:count]

    def entry(self, row: int, scored: Scored) -> Entry:
        """One row's place among others."""
        return entry_of(scored.norm_score, int(self._keys[row]), row)

    def refresh_spread(self) -> None:
        """Bring the spread scores up to date, for scoring single rows without `best`."""
        self._refresh(self._allowed)

    def score(self, row: int, *, is_penalised: bool) -> Scored:
        """The score columns of one row with room."""
        return _together(self._said(row, is_penalised=is_penalised))

    def score_evicting(self, row: int, eviction: Eviction, *, is_penalised: bool) -> Scored:
        """The score columns of a row on which others make room."""
        said = self._said(row, is_penalised=is_penalised)
        said[binpack.NAME] = self._fit.after(row, eviction.after.cpu, eviction.after.memory_mb)
        devices = eviction.grant.device_affinity
        said[device_preference.NAME] = devices.score if devices.total else None
        if self._with_preferences:
            said[PREEMPTION] = eviction.score
        return _together(said)

    @property
    def allowed(self) -> Bools:
        """Rows that are feasible and have room."""
        return self._allowed

    def _said(self, row: int, *, is_penalised: bool) -> dict[str, float | None]:
        """What each rule says of a row, in the order in which it is summed up."""
        said = {scorer.name: scorer.row(row) for scorer in self._first}
        if self._with_preferences:
            said[RESCHEDULE_PENALTY] = _PENALTY if is_penalised else None
            said[affinity.NAME] = None
        for scorer in self._last:
            said[scorer.name] = scorer.row(row)
        return said

    def _score_all(self) -> None:
        self._allowed: Bools = self._rows & (self.room.dimension == HAS_ROOM)
        self._sums: Floats = self._fit.column()
        self._appended: Floats = np.ones(self._sums.size)
        for scorer in self._whole:
            self._sums += scorer.column()
            self._appended += 1
        special = np.zeros(self._sums.size, dtype=np.bool_)
        for scorer in self._partial:
            special |= ~np.isnan(scorer.column())
        for row in np.flatnonzero(special & self._rows).tolist():
            self._sums[row], self._appended[row] = self._sum_of(row)

    def _sum_of(self, row: int) -> tuple[float, int]:
        """The sum of what is said of a row, spread and penalty aside, and how many said it."""
        total, appended = self._fit.row(row), 1
        for scorer in self._summed:
            score = scorer.row(row)
            if score is not None:
                total, appended = total + score, appended + 1
        return total, appended

    def _local_norm(self, row: int) -> float:
        return float(self._sums[row] / self._appended[row])

    def _norms(self) -> Floats:
        scores = self._spread
        boosts = scores.boosts[scores.combination] if scores is not None else np.zeros(1)
        norms: Floats = (self._sums + boosts) / (self._appended + (boosts != 0))
        return norms

    def _refresh(self, allowed: Bools) -> None:
        if self._spread is not None:
            self._spread.refresh(allowed)

    def _best_of_shelves(self, scores: SpreadScores, count: int) -> list[Entry]:
        self._best_asked += 1
        if self._shelves is None:
            if self._best_asked <= _WORTH_SHELVES:
                return best_entries(self._norms(), self._allowed, self._keys, count)
            self._shelves = Shelves(
                self._sums, self._appended, self._allowed, self._keys, scores.combination
            )
        return self._shelves.best(scores.boosts, count)


def _together(said: dict[str, float | None]) -> Scored:
    """The mean of what was said; rules that do not apply have no part in it."""
    scores: dict[str, float] = {}
    total, applied = 0.0, 0
    for name, score in said.items():
        if score is None:
            if name in _ALWAYS_RECORDED:
                scores[name] = 0.0
        else:
            scores[name] = score
            total += score
            applied += 1
    return Scored(scores, total / applied)
