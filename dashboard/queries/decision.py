"""What an evaluation decided, group by group and placement by placement, and why.

In: a reader, the evaluation and its steps. Out: the context of `_decision.html`, in a number of
reads that grows with neither cluster nor job. Nodes are named as far as they are shown.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from django.utils.translation import gettext, gettext_noop

from cluster.store.ports import RecordReader
from dashboard.graphs.explanation import (
    MOST_NAMED,
    ExplanationView,
    explanation_view,
    nodes_named,
)
from dashboard.graphs.mermaid import placement_mermaid
from dashboard.graphs.placement import PlacementView, placement_view
from dashboard.outcomes import outcome_of
from dashboard.queries.progress import took
from dashboard.queries.woken import woken_of
from dashboard.wording import natural
from scheduler.structs.allocation import Allocation
from scheduler.structs.evaluation import EvalStatus, Evaluation, LifecycleStep
from scheduler.structs.explanation import GroupExplanation

#: Placements shown one by one; the rest is counted.
MAX_PLACEMENTS = 24
#: Nodes named under all reasons of an evaluation with many groups, and under one at least.
MAX_NAMED = 1200
LEAST_NAMED = 6


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """One placement, or one group's wish for one: the question, the view, the same as Mermaid."""

    key: str
    #: `api.web[7]`, or the group.
    title: str
    #: None for a group whose newest decision is not among what was placed.
    view: PlacementView | None = None
    mermaid: str = ""
    #: Node by node, for a group whose evaluation is still explained.
    explanation: ExplanationView | None = None
    alloc_id: str = ""
    node_id: str = ""
    node_name: str = ""


class KeptExplanations(msgspec.Struct, frozen=True, kw_only=True):
    """The explanations of an evaluation's groups, by name, as far as they are kept."""

    groups: dict[str, GroupExplanation] = {}
    #: Of the newest write that stored one of them. A run that leaves its evaluation blocked stores
    #: them without changing it, so that the evaluation's own snapshot and counts may be older.
    index: int = 0
    #: The evaluation that found them, where it is another one; of what is forgotten, the newest
    #: one of the job that is explained, if any is.
    by: str = ""
    #: They are not kept any more.
    is_forgotten: bool = False

    @property
    def named(self) -> int:
        """How many nodes are named under one reason."""
        reasons = sum(len(kept.exhausted) + len(kept.refused) for kept in self.groups.values())
        return max(LEAST_NAMED, min(MOST_NAMED, MAX_NAMED // max(reasons, 1)))


def decision(
    reader: RecordReader, evaluation: Evaluation, steps: Sequence[LifecycleStep]
) -> dict[str, Any]:
    """What it decided, in a sentence, and node by node."""
    placed = _placed(reader, evaluation)
    shown = placed[:MAX_PLACEMENTS]
    found = kept_for(reader, evaluation, has_placed=bool(placed))
    names = _node_names(reader, evaluation, shown, found)
    explained = [_explained(alloc, names) for alloc in shown]
    return {
        **_result(evaluation, placed, steps),
        "waiting": _wishes(evaluation, found, placed, names),
        "placed": explained,
        "placed_told": _same_told(explained),
        "placed_count": len(placed),
        "more_placed": max(len(placed) - MAX_PLACEMENTS, 0),
        "explained": _placed_whole(evaluation, found, placed, names),
        "found_by": found.by,
        "found_index": found.index,
        "is_forgotten": found.is_forgotten,
        "updates": _updates(evaluation),
        "woken": woken_of(reader, evaluation, steps),
    }


def result(
    reader: RecordReader, evaluation: Evaluation, steps: Sequence[LifecycleStep]
) -> dict[str, Any]:
    """What it decided, in a sentence alone."""
    return _result(evaluation, _placed(reader, evaluation), steps)


def _result(
    evaluation: Evaluation, placed: Sequence[Allocation], steps: Sequence[LifecycleStep]
) -> dict[str, Any]:
    return {
        "outcome": outcome_of(evaluation, placed),
        "took": took(evaluation, steps[-1] if steps else None),
    }


def _placed(reader: RecordReader, evaluation: Evaluation) -> list[Allocation]:
    """By group and number, the second before the tenth."""
    placed = (
        alloc
        for alloc in reader.allocations_by_eval(evaluation.id)
        if alloc.create_index >= evaluation.create_index
    )
    return sorted(placed, key=lambda alloc: (alloc.task_group, natural(alloc.name), alloc.id))


def kept_for(
    reader: RecordReader, evaluation: Evaluation, *, has_placed: bool
) -> KeptExplanations:
    """Its own explanations; for one that waits, else the newest ones of its job."""
    own = _kept(reader, evaluation.id)
    if own.groups:
        return own
    is_blocked = evaluation.status is EvalStatus.BLOCKED
    has_ended = is_blocked or evaluation.is_terminal
    if not has_ended or not (has_placed or evaluation.failed_task_groups):
        return KeptExplanations()
    newest = next((run.eval_id for run in reader.explained_runs(evaluation.job_key)), "")
    if is_blocked and newest:
        return _of_others(reader, evaluation, newest)
    return KeptExplanations(by=newest, is_forgotten=True)


def _of_others(reader: RecordReader, evaluation: Evaluation, newest: str) -> KeptExplanations:
    """What the newest run of its job found, or the one that made it, where that one was asked."""
    found = msgspec.structs.replace(_kept(reader, newest), by=newest)
    maker = evaluation.previous_eval
    if maker in ("", newest) or found.groups.keys() & evaluation.failed_task_groups.keys():
        return found
    made = msgspec.structs.replace(_kept(reader, maker), by=maker)
    return made if made.groups else found


def _kept(reader: RecordReader, eval_id: str) -> KeptExplanations:
    items = reader.explanations(eval_id)
    return KeptExplanations(
        groups={item.task_group: item.group for item in items},
        index=max((item.index for item in items), default=0),
    )


def _node_names(
    reader: RecordReader,
    evaluation: Evaluation,
    placed: Sequence[Allocation],
    found: KeptExplanations,
) -> dict[str, str]:
    metrics = [*evaluation.failed_task_groups.values(), *(alloc.metrics for alloc in placed)]
    wanted = {score.node_id for metric in metrics for score in metric.score_meta_data}
    wanted |= {alloc.node_id for alloc in placed}
    wanted = wanted.union(*(nodes_named(kept, found.named) for kept in found.groups.values()))
    reader.preload(nodes=wanted)
    nodes = (reader.node(node_id) for node_id in wanted)
    return {node.id: node.name for node in nodes if node is not None}


def _wishes(
    evaluation: Evaluation,
    found: KeptExplanations,
    placed: Sequence[Allocation],
    names: dict[str, str],
) -> list[Explained]:
    # Group names may hold anything that an id in a page may not: the place makes the key.
    return [
        Explained(
            key=f"waits-{place}",
            title=group,
            view=(view := placement_view(metric, names)),
            mermaid=placement_mermaid(view, group),
            explanation=_explanation(found, group, placed, names),
        )
        for place, (group, metric) in enumerate(evaluation.failed_task_groups.items(), 1)
    ]


def _explanation(
    found: KeptExplanations, group: str, placed: Sequence[Allocation], names: dict[str, str]
) -> ExplanationView | None:
    kept = found.groups.get(group)
    if kept is None:
        return None
    newest = _newest(kept, placed)
    chosen = newest.node_id if newest else ""
    return explanation_view(kept, names, chosen=chosen, most=found.named)


def _newest(kept: GroupExplanation, placed: Sequence[Allocation]) -> Allocation | None:
    """The allocation whose scores were kept: the last one of its group that found a node."""
    return next(
        (
            alloc
            for alloc in placed
            if alloc.task_group == kept.task_group
            and alloc.metrics.score_meta_data == kept.best
            and alloc.node_id in {score.node_id for score in kept.best}
        ),
        None,
    )


def _explained(alloc: Allocation, names: dict[str, str]) -> Explained:
    view = placement_view(alloc.metrics, names, chosen=alloc.node_id)
    return Explained(
        key=f"placed-{alloc.id}",
        title=alloc.name,
        view=view,
        mermaid=placement_mermaid(view, alloc.name),
        alloc_id=alloc.id,
        node_id=alloc.node_id,
        node_name=names.get(alloc.node_id) or alloc.node_name or alloc.node_id[:8],
    )


def _same_told(explained: Sequence[Explained]) -> str:
    """What all of these decisions say alike; "" where they differ."""
    told = {item.view.sentence for item in explained if item.view is not None}
    return told.pop() if len(told) == 1 else ""


def _placed_whole(
    evaluation: Evaluation,
    found: KeptExplanations,
    placed: Sequence[Allocation],
    names: dict[str, str],
) -> list[Explained]:
    """The groups that nothing keeps waiting: their newest decision, and room for one more."""
    if found.by:
        return []
    told = []
    whole = found.groups.keys() - evaluation.failed_task_groups.keys()
    for place, group in enumerate(sorted(whole), 1):
        newest = _newest(found.groups[group], placed)
        item = _explained(newest, names) if newest else Explained(key="", title=group)
        told.append(
            msgspec.structs.replace(
                item, key=f"group-{place}", explanation=_explanation(found, group, placed, names)
            )
        )
    return told


_UPDATE_WORDS = (
    ("place", "place"),
    ("stop", "stop"),
    ("in_place_update", gettext_noop("update in place")),
    ("destructive_update", "replace"),
    ("migrate", "migrate"),
    ("canary", "canary"),
    ("preemptions", "preempt"),
    ("reschedule_now", gettext_noop("reschedule now")),
    ("reschedule_later", gettext_noop("reschedule later")),
    ("disconnect", gettext_noop("leave disconnected")),
    ("reconnect", "reconnect"),
    ("ignore", "leave"),
)


def _updates(evaluation: Evaluation) -> list[tuple[str, str]]:
    """By group, what its plan meant to do, in words."""
    if evaluation.plan_annotations is None:
        return []
    told = []
    for group, updates in sorted(evaluation.plan_annotations.desired_updates.items()):
        parts = [
            f"{gettext(word)} {count}"
            for field, word in _UPDATE_WORDS
            if (count := getattr(updates, field))
        ]
        told.append((group, ", ".join(parts) or gettext("nothing to change")))
    return told
