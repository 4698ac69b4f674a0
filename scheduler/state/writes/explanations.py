"""What stays explained of a job: runs by their worth, within bounds.

A fleet that flaps makes runs without end. What they push out is what they are themselves: each
kind of run has its own line, and the newest of every line comes before the second of any.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import zip_longest

import msgspec

from scheduler.ports import Change
from scheduler.state.explanation_noun import EXPLANATIONS
from scheduler.structs.explanation import (
    ExplainedBounds,
    ExplainedRun,
    RunEnd,
    StoredExplanation,
)
from scheduler.structs.identity import JobKey


def write_explanations(
    change: Change,
    explanations: Iterable[StoredExplanation],
    bounds: ExplainedBounds | None = None,
) -> None:
    """Store why nodes were not chosen; of each job, what is worth most stays."""
    jobs: dict[JobKey, None] = {}
    for explanation in explanations:
        change.put(EXPLANATIONS, msgspec.structs.replace(explanation, index=change.index))
        jobs[explanation.job_key] = None
    for key in jobs:
        _forget(change, key, bounds or ExplainedBounds())


def kept_runs(
    runs: Sequence[ExplainedRun], waiting: Collection[str], bounds: ExplainedBounds
) -> list[str]:
    """The evaluations that stay explained, of `runs` with the newest first.

    The newest one stays however large it is, and so does the newest of `waiting`: evaluations that
    wait for room, and those that made them.
    """
    by_worth = _by_worth(runs, waiting)
    always = {by_worth[0].eval_id} if by_worth else set()
    always |= {run.eval_id for run in by_worth[:2] if run.eval_id in waiting}
    kept: list[str] = []
    size = 0
    for run in by_worth:
        fits = size + run.size <= bounds.size and len(kept) < bounds.runs
        if fits or run.eval_id in always:
            kept.append(run.eval_id)
            size += run.size
    return kept


def worth_told(runs: Sequence[ExplainedRun], waiting: Collection[str], eval_id: str) -> str:
    """Why a run stays explained, for people; "" for one that does not."""
    run = next((run for run in runs if run.eval_id == eval_id), None)
    if run is None:
        return ""
    if eval_id in waiting:
        return "as long as it waits"
    if run.ended is RunEnd.FAILED:
        return "as one that failed"
    if run == runs[0]:
        return "as the newest run"
    if run in firsts_of_versions(runs):
        return f"as the first of version {run.job_version}"
    if run.ended is RunEnd.WAITS:
        return "as one that waited"
    return "as one of the newest runs"


def firsts_of_versions(runs: Sequence[ExplainedRun]) -> list[ExplainedRun]:
    """The oldest of each version among them, the newest of these first."""
    first = {run.job_version: run for run in runs}
    return sorted(first.values(), key=lambda run: (-run.index, run.eval_id))


def _forget(change: Change, key: JobKey, bounds: ExplainedBounds) -> None:
    runs = change.explained_runs(key)
    if len(runs) <= bounds.runs and sum(run.size for run in runs) <= bounds.size:
        return
    blocked = change.blocked_evaluations(key)
    waiting = {row.id for row in blocked} | {row.previous_eval for row in blocked}
    kept = set(kept_runs(runs, waiting, bounds))
    for run in runs:
        if run.eval_id not in kept:
            change.delete_explanations(run.eval_id)


def _by_worth(runs: Sequence[ExplainedRun], waiting: Collection[str]) -> list[ExplainedRun]:
    """The newest, then what waits now, then in turns from each line of what runs are like."""
    lines = (
        [run for run in runs if run.ended is RunEnd.FAILED],
        [run for run in runs if run.ended is RunEnd.WAITS],
        firsts_of_versions(runs),
        runs,
    )
    turns = (run for turn in zip_longest(*lines) for run in turn if run is not None)
    still = (run for run in runs if run.eval_id in waiting)
    return list(dict.fromkeys([*runs[:1], *still, *turns]))
