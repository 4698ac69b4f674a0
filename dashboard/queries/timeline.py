"""A chain over time: one row an evaluation, its states as stretches of one shared axis.

In: a chain and a reader. Out: the context of `_timeline.html`, in one read whatever the length.
"""

from collections.abc import Sequence
from typing import Any

from cluster.store.ports import RecordReader
from dashboard.chains import Chain
from dashboard.graphs.lifecycle import EvaluationLife, life_rows
from dashboard.graphs.timeline import Segment, Stretch, timeline_of
from dashboard.queries.progress import took
from dashboard.wording import span
from scheduler.structs.evaluation import Evaluation, LifecycleStep

#: Rows drawn; the newest ones, because they still move.
MAX_LIVES = 120


def timeline_context(
    reader: RecordReader, chain: Chain, *, eval_id: str, now: int
) -> dict[str, Any]:
    """Rows in order of creation; of more than are drawn, the oldest are counted."""
    everyone = sorted(
        [*chain.evaluations.values(), *chain.stubs.values()],
        key=lambda item: (item.create_time, item.id),
    )
    shown = everyone[-MAX_LIVES:]
    steps = reader.lives_of([item.id for item in shown if item.id not in chain.stubs])
    lives = [
        _collected(item) if item.id in chain.stubs else _life(item, steps.get(item.id, ()))
        for item in shown
    ]
    newest = {key: told[-1] for key, told in steps.items()}
    drawn = timeline_of(lives, now)
    states = dict.fromkeys(stretch.state for life in lives for stretch in life)
    return {
        "timeline": drawn,
        "lives": [
            {
                "evaluation": item,
                "state": life[-1].state,
                "is_selected": item.id == eval_id,
                "segments": segments,
                "told": ", ".join(map(_told, segments)),
                "took": took(item, newest.get(item.id)),
                "is_open": segments[-1].is_open,
            }
            for item, life, segments in zip(shown, lives, drawn.lives, strict=True)
        ],
        "states": list(states),
        "older": len(everyone) - len(shown),
    }


def _told(segment: Segment) -> str:
    return f"{segment.state} {span(segment.lasted)}" if segment.lasted else segment.state


def _life(evaluation: Evaluation, steps: Sequence[LifecycleStep]) -> list[Stretch]:
    rows = life_rows(
        EvaluationLife(eval_id=evaluation.id, trigger=evaluation.triggered_by, steps=steps)
    )
    if not rows:
        ended = evaluation.modify_time if evaluation.is_terminal else None
        return [Stretch(evaluation.status.value, evaluation.create_time, ended)]
    return [
        Stretch(row.state, row.at, None if row.duration_ns is None else row.at + row.duration_ns)
        for row in rows
    ]


def _collected(stub: Evaluation) -> list[Stretch]:
    return [Stretch("collected", stub.create_time, max(stub.modify_time, stub.create_time))]
