"""Why nodes were or were not chosen: candidates with their scores as bars, refusals with counts.

In: the metric of one placement (AllocMetric) and node names. Out: rows whose counts add up to the
nodes looked at. Filtered = could never; exhausted = no room now.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from dashboard.texts import gettext
from dashboard.wording import (
    TIMES,
    count_of,
    dimension_word,
    filter_word,
    number,
    refusal_told,
    short_id,
)
from scheduler.structs.alloc_metric import AllocMetric, NodeScore

#: The scores in the order they are computed; others follow by name.
SCORE_ORDER = (
    "binpack",
    "spread",
    "job-anti-affinity",
    "node-reschedule-penalty",
    "node-affinity",
    "allocation-spread",
    "devices",
    "preemption",
)
#: The final score is the mean of those that apply; it has a column of its own.
FINAL = "normalized-score"
#: Recorded as 0 of nodes to which they do not apply; none of them is 0 where it does.
_ZERO_APPLIES_NOT = frozenset({"job-anti-affinity", "node-reschedule-penalty"})
#: Recorded as 0 without affinities, and of a node that none of them matches.
_AFFINITY = "node-affinity"


class ScoredNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node that had room."""

    node_id: str
    name: str
    #: One per column of the placement; None where a score did not apply.
    scores: tuple[float | None, ...]
    final: float
    #: How far behind the chosen one; 0 for the chosen.
    margin: float
    is_chosen: bool


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """A reason, and how many nodes it kept out."""

    kind: str
    reason: str
    count: int
    #: Percent of all nodes looked at.
    bar: float

    @property
    def for_how_long(self) -> str:
        """Of nodes that were filtered, whether they could ever run it."""
        return refusal_told(self.reason)


class PlacementView(msgspec.Struct, frozen=True, kw_only=True):
    """One placement decision, ready to be drawn."""

    columns: tuple[str, ...]
    candidates: tuple[ScoredNode, ...]
    filtered: tuple[Refusal, ...]
    exhausted: tuple[Refusal, ...]
    evaluated: int
    filtered_count: int
    exhausted_count: int
    in_pool: int
    pool: str
    quota: tuple[str, ...]
    coalesced: int
    sentence: str

    @property
    def has_bars(self) -> bool:
        """Whether any of the scores is not 0."""
        return has_bars(self.candidates)

    @property
    def has_below(self) -> bool:
        """Whether any of the scores is below 0."""
        return reach_below(candidate.final for candidate in self.candidates)


def placement_view(
    metric: AllocMetric, node_names: Mapping[str, str], *, chosen: str = ""
) -> PlacementView:
    """The view of one placement; `chosen` is the node it went to, "" when it waits."""
    columns = score_columns(metric.score_meta_data)
    looked = max(metric.nodes_evaluated, metric.nodes_filtered + metric.nodes_exhausted)
    return PlacementView(
        columns=columns,
        candidates=ranked(metric.score_meta_data, columns, node_names, chosen=chosen),
        filtered=_refusals("filtered", _filter_reasons(metric), looked),
        exhausted=_refusals("exhausted", _exhaust_reasons(metric), looked),
        evaluated=metric.nodes_evaluated,
        filtered_count=metric.nodes_filtered,
        exhausted_count=metric.nodes_exhausted,
        in_pool=metric.nodes_in_pool,
        pool=metric.node_pool,
        quota=metric.quota_exhausted,
        coalesced=metric.coalesced_failures,
        sentence=_sentence(metric),
    )


def has_bars(candidates: Sequence[ScoredNode]) -> bool:
    """Whether any bar would show something: none does where every score is 0."""
    return any(candidate.final for candidate in candidates)


def reach_below(scores: Iterable[float]) -> bool:
    """Whether bars need an axis from -1 to 1: some score speaks against its node."""
    return any(score < 0 for score in scores)


def score_bar(score: float, *, has_below: bool) -> tuple[float, float]:
    """Where the bar of a score begins and how long it is, in percent of the axis."""
    bounded = max(min(score, 1.0), -1.0)
    if not has_below:
        return 0.0, round(100 * bounded, 1)
    return round(50 + 50 * min(bounded, 0.0), 1), round(50 * abs(bounded), 1)


def applied(item: NodeScore) -> dict[str, float]:
    """The scores that its final one is the mean of; those recorded without a say are left out."""
    said = {
        name: score
        for name, score in item.scores.items()
        if name != FINAL and (score or name not in _ZERO_APPLIES_NOT)
    }
    if said.get(_AFFINITY) == 0:
        without = {name: score for name, score in said.items() if name != _AFFINITY}
        if _distance(without, item.norm_score) <= _distance(said, item.norm_score):
            return without
    return said


def _distance(scores: Mapping[str, float], final: float) -> float:
    return abs(sum(scores.values()) / max(len(scores), 1) - final)


def score_columns(scores: Sequence[NodeScore]) -> tuple[str, ...]:
    """The names of the scores that count for any of these nodes, as they are computed."""
    names = {name for item in scores for name in applied(item)}
    known = [name for name in SCORE_ORDER if name in names]
    return (*known, *sorted(names.difference(known)))


def ranked(
    scores: Sequence[NodeScore],
    columns: tuple[str, ...],
    node_names: Mapping[str, str],
    *,
    chosen: str = "",
) -> tuple[ScoredNode, ...]:
    """Nodes that had room, in the order given; `chosen` is the one that was taken."""
    best = max((item.norm_score for item in scores), default=0.0)
    top = next((item.norm_score for item in scores if item.node_id == chosen), best)
    return tuple(_candidate(item, columns, node_names, top, chosen) for item in scores)


def _candidate(
    item: NodeScore, columns: tuple[str, ...], names: Mapping[str, str], top: float, chosen: str
) -> ScoredNode:
    said = applied(item)
    return ScoredNode(
        node_id=item.node_id,
        name=names.get(item.node_id) or short_id(item.node_id),
        scores=tuple(said.get(column) for column in columns),
        final=item.norm_score,
        margin=round(item.norm_score - top, 4),
        is_chosen=item.node_id == chosen,
    )


def _filter_reasons(metric: AllocMetric) -> dict[str, int]:
    """By constraint; nodes whose constraint was not counted stand together."""
    reasons = {filter_word(name): count for name, count in metric.constraint_filtered.items()}
    left = metric.nodes_filtered - sum(reasons.values())
    if left > 0:
        reasons["other checks"] = left
    return reasons


def _exhaust_reasons(metric: AllocMetric) -> dict[str, int]:
    reasons = {dimension_word(name): count for name, count in metric.dimension_exhausted.items()}
    left = metric.nodes_exhausted - sum(reasons.values())
    if left > 0:
        reasons["other dimensions"] = left
    return reasons


def _refusals(kind: str, reasons: Mapping[str, int], looked: int) -> tuple[Refusal, ...]:
    return tuple(
        Refusal(kind=kind, reason=reason, count=count, bar=round(100 * count / max(looked, 1), 1))
        for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    )


def _sentence(metric: AllocMetric) -> str:
    """Such as: `12 nodes: 9 exhausted (8 x CPU, 1 x memory), 1 filtered, 2 had room`."""
    parts = []
    if metric.nodes_exhausted:
        parts.append(
            gettext("{nodes_exhausted} exhausted{listed}").format(
                nodes_exhausted=number(metric.nodes_exhausted),
                listed=_listed(_exhaust_reasons(metric)),
            )
        )
    if metric.nodes_filtered:
        parts.append(
            gettext("{nodes_filtered} filtered{listed}").format(
                nodes_filtered=number(metric.nodes_filtered),
                listed=_listed(_filter_reasons(metric)),
            )
        )
    room = metric.nodes_evaluated - metric.nodes_exhausted - metric.nodes_filtered
    if room > 0:
        parts.append(gettext("{room} had room").format(room=number(room)))
    if metric.quota_exhausted:
        parts.append(
            gettext("quota reached: {quota_exhausted}").format(
                quota_exhausted=", ".join(metric.quota_exhausted)
            )
        )
    nodes = count_of(metric.nodes_evaluated, "{count} node", "{count} nodes")
    if not parts:
        return (
            gettext("{nodes} looked at.").format(nodes=nodes)
            if metric.nodes_evaluated
            else gettext("No node was looked at: none is ready.")
        )
    return f"{nodes}: {', '.join(parts)}."


def _listed(reasons: Mapping[str, int]) -> str:
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))[:3]
    return (
        f" ({', '.join(f'{number(count)} {TIMES} {reason}' for reason, count in ordered)})"
        if ordered
        else ""
    )
