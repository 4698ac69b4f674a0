"""What woke an evaluation that waited for room: when, which node or allocation, of which story.

In: a reader and an evaluation. Out: what stands beside its facts. Titles are told of stories of
the same namespace alone; whoever may see the evaluation may see those.
"""

from collections.abc import Sequence

import msgspec

from cluster.store.ports import RecordReader
from dashboard.stories.names import title_of
from scheduler.state.waking import waking_story
from scheduler.structs.evaluation import Cause, CauseKind, Evaluation, LifecycleStep, Step


class WokenEvaluation(msgspec.Struct, frozen=True, kw_only=True):
    """The last time that it was let run again."""

    at: int
    reason: str
    #: `node` or `allocation`, and its id; empty where it was not written down.
    kind: str = ""
    id: str = ""
    #: It has a page still.
    is_kept: bool = False
    #: The story that made the room, where it is another one than the evaluation's own.
    story_id: str = ""
    #: Empty for a story of the cluster, and of another namespace.
    story_title: str = ""


def woken_of(
    reader: RecordReader, evaluation: Evaluation, steps: Sequence[LifecycleStep]
) -> WokenEvaluation | None:
    """Of an evaluation with these steps; None while nothing has let it run again."""
    freed = [step for step in steps if step.step is Step.UNBLOCKED]
    if not freed:
        return None
    last, by = freed[-1], freed[-1].woken_by
    if by is None:
        return WokenEvaluation(at=last.at, reason=last.reason)
    story_id = waking_story(reader, by)
    story = reader.story(story_id) if story_id != evaluation.story_id else None
    near = story is not None and story.namespace == evaluation.namespace
    return WokenEvaluation(
        at=last.at,
        reason=last.reason,
        kind=by.kind.value,
        id=by.id,
        is_kept=_is_kept(reader, by),
        story_id=story.id if story is not None else "",
        story_title=title_of(story).plain if near and story is not None else "",
    )


def _is_kept(reader: RecordReader, by: Cause) -> bool:
    if by.kind is CauseKind.NODE:
        return reader.node(by.id) is not None
    return by.kind is CauseKind.ALLOCATION and reader.allocation(by.id) is not None
