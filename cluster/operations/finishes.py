"""What the finished runs of workers leave in the record, several in one write.

In: an open change and what the leader said may be written (`Leader.check_finish`). Out: rows put.
Whether a run may finish at all was the leader's question.
"""

from collections.abc import Sequence

import msgspec
from django.conf import settings

from scheduler.collection.reaps import write_ended
from scheduler.messages import FinishWrite
from scheduler.ports import Change
from scheduler.state.events import WriteKind
from scheduler.state.nouns import LIFECYCLE_STEPS
from scheduler.state.writes.evaluations import write_outcomes
from scheduler.state.writes.explanations import write_explanations
from scheduler.structs.explanation import ExplainedBounds


def writes_anything(writes: Sequence[FinishWrite]) -> bool:
    """Whether there is anything to commit."""
    return any(
        write.evaluations or write.steps or write.explanations or write.ended for write in writes
    )


def kind_of(writes: Sequence[FinishWrite]) -> WriteKind:
    """What the write is called: after collection only when there is nothing else in it."""
    only_ends = not any(write.evaluations or write.steps for write in writes)
    return WriteKind.COLLECTED if only_ends else WriteKind.EVALUATION_UPDATED


def explained_bounds() -> ExplainedBounds:
    """How much of each job stays explained, as this process was told."""
    return ExplainedBounds(
        runs=settings.BIVOUAC_EXPLAINED_RUNS, size=settings.BIVOUAC_EXPLAINED_BYTES
    )


def write_finishes(
    change: Change, writes: Sequence[FinishWrite], bounds: ExplainedBounds | None = None
) -> None:
    """Put outcomes, what they created, explanations, steps, and that collections have ended."""
    evaluations = [item for write in writes for item in write.evaluations]
    if evaluations:
        write_outcomes(change, evaluations)
    write_explanations(change, (item for write in writes for item in write.explanations), bounds)
    for write in writes:
        for step in write.steps:
            change.put(LIFECYCLE_STEPS, msgspec.structs.replace(step, index=change.index))
        if write.ended is not None:
            write_ended(change, *write.ended)
