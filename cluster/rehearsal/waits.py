"""Why a group finds no place: the newest decision about it that failed, in the branch.

In: a branch. Out: one reason per group, from the evaluation and its stored explanation.
"""

from cluster.rehearsal.result import WaitReason
from scheduler.state.branch_store import BranchStore
from scheduler.state.nouns import EVALUATIONS
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.explanation import GroupExplanation
from scheduler.structs.identity import JobKey


class WaitReasons:
    """Asked once per group."""

    def __init__(self, store: BranchStore) -> None:
        self._store = store
        self._known: dict[tuple[JobKey, str], WaitReason | None] = {}

    def of(self, key: JobKey, group: str) -> WaitReason | None:
        """Why it waits, by the newest decision that failed; None when none did."""
        name = key, group
        if name not in self._known:
            self._known[name] = self._found(key, group)
        return self._known[name]

    def _found(self, key: JobKey, group: str) -> WaitReason | None:
        rows = self._store.own.list_by(EVALUATIONS, "job", key)
        failed = [row for row in rows if group in row.failed_task_groups]
        if not failed:
            return None
        newest = max(failed, key=lambda row: (row.snapshot_index, row.create_index))
        return self._told(newest, group, newest.failed_task_groups[group])

    def _told(self, row: Evaluation, group: str, metric: AllocMetric) -> WaitReason:
        explained = self._explained(row, group)
        nearest = explained.exhausted[0] if explained and explained.exhausted else None
        node_id = nearest.node_ids[0] if nearest is not None and nearest.node_ids else ""
        node = self._store.node(node_id) if node_id else None
        return WaitReason(
            eval_id=row.id,
            text=explained.nearest_miss if explained is not None else "",
            reason=_reason(metric),
            node_id=node_id,
            node_name=node.name if node is not None else "",
            missing=nearest.least_missing if nearest is not None else 0,
            metric=metric,
        )

    def _explained(self, row: Evaluation, group: str) -> GroupExplanation | None:
        stored = (
            each
            for eval_id in (row.id, row.previous_eval)
            if eval_id
            for each in self._store.explanations(eval_id)
        )
        return next((each.group for each in stored if each.task_group == group), None)


def _reason(metric: AllocMetric) -> str:
    """What most nodes lack of those that come nearest: room, then others that run there."""
    if metric.quota_exhausted:
        return f"quota {metric.quota_exhausted[0]}"
    filtered = metric.constraint_filtered
    by_others = {name: count for name, count in filtered.items() if name.startswith("distinct_")}
    counts = metric.dimension_exhausted or by_others or filtered
    if counts:
        return max(sorted(counts), key=lambda name: counts[name])
    return "no node is ready" if not metric.nodes_evaluated else ""
