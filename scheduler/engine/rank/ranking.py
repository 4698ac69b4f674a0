"""The final score of every row for one group, kept current while allocations are placed.

In: the rows a group is feasible on, the context. Out: the best rows, and the score columns of any.
A placement moves one row, and with spreads the scores of rows that share its values.
"""

from typing import NamedTuple

import numpy as np

from scheduler.engine.context import EvalContext
from scheduler.engine.measure.ask import GroupAsk
from scheduler.engine.rank import affinity, anti_affinity, binpack, spread
from scheduler.engine.rank.choose import Entry, Leaders, best_entries, entry_of, tie_keys
from scheduler.engine.rank.preemption import Eviction
from scheduler.engine.rank.room import HAS_ROOM, Room
from scheduler.engine.rank.shelves import Shelves
from scheduler.state.node_table import Bools, Floats
from scheduler.structs.job import Job

DEVICES = "devices"
RESCHEDULE_PENALTY = "node-reschedule-penalty"
PREEMPTION = "preemption"
_PENALTY = -1.0
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
        self._context = context
        self._algorithm = algorithm
        self._with_preferences = with_preferences
        self._group_count = ask.group.count or 1
        self._rows = rows
        self._keys = tie_keys(context.table.keys, context.seed)
        self._leaders = Leaders(self._keys)
        self.room = Room(context, ask, rows)
        self._same_group = context.group_counts(ask.group.name)
        affinities = affinity.affinities_of(job, ask.group) if with_preferences else ()
        self._has_affinities = bool(affinities)
        self._affinity = affinity.affinity_scores(context.table, affinities, context.matcher)
        has_spreads = with_preferences and bool(job.spreads or ask.group.spreads)
        self._spread = spread.SpreadScores(context, job, ask.group) if has_spreads else None
        self._boosts: Floats = np.zeros(1)
        self._shelves: Shelves | None = None
        self._best_asked = 0
        self._score_all()

    def update(self, row: int) -> None:
        """Score one row again, after the plan changed on it."""
        self.room.update(row)
        has_room = self._rows[row] and self.room.dimension[row] == HAS_ROOM
        self._allowed[row] = has_room
        if has_room:
            self._sums[row], self._appended[row] = self._local_sum(row, is_penalised=False)
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
        return self._score(row, self._fit_score(row), self._device_score(row), is_penalised)

    def score_evicting(self, row: int, eviction: Eviction, *, is_penalised: bool) -> Scored:
        """The score columns of a row on which others make room."""
        table = self._context.table
        fit = binpack.fit_score(
            eviction.after.cpu,
            float(table.cpu_capacity[row]),
            eviction.after.memory_mb,
            float(table.memory_capacity[row]),
            self._algorithm,
        )
        affinity_ = eviction.grant.device_affinity
        device = affinity_.score if affinity_.total else None
        extra = eviction.score if self._with_preferences else None
        return self._score(row, fit, device, is_penalised, extra)

    def _score(
        self,
        row: int,
        fit: float,
        device: float | None,
        is_penalised: bool,  # noqa: FBT001 - private, spelled out by both callers
        extra: float | None = None,
    ) -> Scored:
        scores = {binpack.NAME: fit}
        applied = [fit]
        if device is not None:
            scores[DEVICES] = device
            applied.append(device)
        if self._with_preferences:
            crowd, wish = self._anti_affinity(row), float(self._affinity[row])
            penalty = _PENALTY if is_penalised else 0.0
            scores |= {anti_affinity.NAME: crowd, RESCHEDULE_PENALTY: penalty, affinity.NAME: wish}
            applied += [crowd] if crowd else []
            applied += [penalty] if is_penalised else []
            applied += [wish] if self._has_affinities else []
            boost = self._boost(row)
            if boost:
                scores[spread.NAME] = boost
                applied.append(boost)
        if extra is not None:
            scores[PREEMPTION] = extra
            applied.append(extra)
        return Scored(scores, sum(applied) / len(applied))

    @property
    def allowed(self) -> Bools:
        """Rows that are feasible and have room."""
        return self._allowed

    def _score_all(self) -> None:
        table, room = self._context.table, self.room
        self._allowed: Bools = self._rows & (room.dimension == HAS_ROOM)
        self._sums: Floats = binpack.fit_scores(
            room.cpu_after,
            table.cpu_capacity,
            room.memory_after,
            table.memory_capacity,
            self._algorithm,
        )
        self._appended: Floats = np.ones(table.row_count)
        special = room.device_total != 0
        if self._with_preferences:
            special |= self._same_group > 0
            if self._has_affinities:
                self._sums += self._affinity
                self._appended += 1
        for row in np.flatnonzero(special & self._rows).tolist():
            self._sums[row], self._appended[row] = self._local_sum(row, is_penalised=False)

    def _local_sum(self, row: int, *, is_penalised: bool) -> tuple[float, int]:
        total, appended = self._fit_score(row), 1
        device = self._device_score(row)
        if device is not None:
            total, appended = total + device, appended + 1
        if self._with_preferences:
            if self._same_group[row] > 0:
                total, appended = total + self._anti_affinity(row), appended + 1
            if is_penalised:
                total, appended = total + _PENALTY, appended + 1
            if self._has_affinities:
                total, appended = total + float(self._affinity[row]), appended + 1
        return total, appended

    def _fit_score(self, row: int) -> float:
        table = self._context.table
        return binpack.fit_score(
            float(self.room.cpu_after[row]),
            float(table.cpu_capacity[row]),
            float(self.room.memory_after[row]),
            float(table.memory_capacity[row]),
            self._algorithm,
        )

    def _device_score(self, row: int) -> float | None:
        total = self.room.device_total[row]
        return float(self.room.device_matched[row] / total) if total else None

    def _anti_affinity(self, row: int) -> float:
        return anti_affinity.score(float(self._same_group[row]), self._group_count)

    def _local_norm(self, row: int) -> float:
        return float(self._sums[row] / self._appended[row])

    def _norms(self) -> Floats:
        boosts = self._boosts[self._spread.combination] if self._spread else np.zeros(1)
        norms: Floats = (self._sums + boosts) / (self._appended + (boosts != 0))
        return norms

    def _boost(self, row: int) -> float:
        return 0.0 if self._spread is None else float(self._boosts[self._spread.combination[row]])

    def _refresh(self, allowed: Bools) -> None:
        if self._spread is not None:
            self._boosts = self._spread.boosts(allowed)

    def _best_of_shelves(self, scores: spread.SpreadScores, count: int) -> list[Entry]:
        self._best_asked += 1
        if self._shelves is None:
            if self._best_asked <= _WORTH_SHELVES:
                return best_entries(self._norms(), self._allowed, self._keys, count)
            self._shelves = Shelves(
                self._sums, self._appended, self._allowed, self._keys, scores.combination
            )
        return self._shelves.best(self._boosts, count)
