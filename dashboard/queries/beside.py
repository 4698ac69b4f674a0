"""Two evaluations of a job beside each other: what each wanted, placed, and found of the nodes.

In: a reader, an evaluation, one of its groups, and the other one. Out: lines of a table.
"""

from typing import NamedTuple

import msgspec
from django.utils.translation import gettext, gettext_noop

from cluster.store.ports import RecordReader
from dashboard.wording import NONE, clock_time, number, short_id
from scheduler.structs.evaluation import Evaluation, Step
from scheduler.structs.explanation import ExplainedRun, GroupExplanation, RunEnd

#: Words, the field of an explanation, and whether more of it is better.
_COUNTS = (
    ("Version", "job_version", 0),
    (gettext_noop("Not placed"), "failed", -1),
    (gettext_noop("Nodes with room"), "with_room", 1),
    (gettext_noop("No room"), "exhausted", 0),
    (gettext_noop("Could never"), "refused", 0),
    (gettext_noop("Not asked"), "not_asked", 0),
)


class BesideLine(NamedTuple):
    """One line: what, left and right, and which of them is better: `left`, `right` or ""."""

    word: str
    left: str
    right: str
    better: str = ""


class BesideView(msgspec.Struct, frozen=True, kw_only=True):
    """The panel, ready to be written."""

    left: str
    right: str = ""
    lines: tuple[BesideLine, ...] = ()
    #: Runs to choose from: id and words.
    choices: tuple[tuple[str, str], ...] = ()
    sums: str = ""


class _Side(NamedTuple):
    evaluation: Evaluation
    found: GroupExplanation | None
    placed: int
    refused_plans: int


def beside(
    reader: RecordReader, evaluation: Evaluation, group: str, other_id: str
) -> BesideView | None:
    """Beside the asked one, else the newest explained run of the job that ended otherwise."""
    runs = [
        run for run in reader.explained_runs(evaluation.job_key) if run.eval_id != evaluation.id
    ]
    rows = {run.eval_id: reader.evaluation(run.eval_id) for run in runs}
    known = [run for run in runs if rows[run.eval_id] is not None]
    if not known:
        return None
    chosen = next((run for run in known if run.eval_id == other_id), None) or _other(
        reader, evaluation, known
    )
    other = rows[chosen.eval_id]
    assert other is not None, "only those that are known are chosen"
    left, right = _side(reader, other, group), _side(reader, evaluation, group)
    choices = tuple((run.eval_id, _choice_told(run, rows[run.eval_id])) for run in known)
    return BesideView(
        left=other.id,
        right=evaluation.id,
        lines=tuple(_lines(left, right)),
        choices=choices,
        sums=_sums(left.found, right.found),
    )


def _other(
    reader: RecordReader, evaluation: Evaluation, known: list[ExplainedRun]
) -> ExplainedRun:
    own = next(
        (run for run in reader.explained_runs(evaluation.job_key) if run.eval_id == evaluation.id),
        None,
    )
    ended = own.ended if own else RunEnd.WAITS
    return next((run for run in known if run.ended is not ended), known[0])


def _choice_told(run: ExplainedRun, row: Evaluation | None) -> str:
    ended = {
        RunEnd.FAILED: "failed",
        RunEnd.WAITS: gettext("something waited"),
        RunEnd.PLACED: "placed",
    }
    at = f", {clock_time(row.create_time)}" if row else ""
    return gettext("{eval_id}{at}, version {job_version}, {ended}").format(
        eval_id=short_id(run.eval_id), at=at, job_version=run.job_version, ended=ended[run.ended]
    )


def _side(reader: RecordReader, evaluation: Evaluation, group: str) -> _Side:
    kept = (item.group for item in reader.explanations(evaluation.id) if item.task_group == group)
    placed = [
        alloc
        for alloc in reader.allocations_by_eval(evaluation.id)
        if alloc.task_group == group and alloc.create_index >= evaluation.create_index
    ]
    answers = [
        step
        for step in reader.lifecycle(evaluation.id)
        if step.step is Step.PLAN_ANSWERED and step.nodes
    ]
    return _Side(evaluation, next(kept, None), len(placed), len(answers))


def _lines(left: _Side, right: _Side) -> list[BesideLine]:
    one, two = left.evaluation, right.evaluation
    lines = [
        BesideLine("When", clock_time(one.create_time), clock_time(two.create_time)),
        BesideLine("Trigger", one.triggered_by, two.triggered_by),
        BesideLine("Status", one.status.value, two.status.value),
        _numbers("Placed", (left.placed, right.placed), 1),
        _numbers(gettext("Plans refused by nodes"), (left.refused_plans, right.refused_plans), -1),
    ]
    for word, field, more_is in _COUNTS:
        lines.append(
            _numbers(
                gettext(word), (_count(left.found, field), _count(right.found, field)), more_is
            )
        )
    return [*lines, _scores(left.found, right.found)]


def _count(found: GroupExplanation | None, field: str) -> int | None:
    if found is None:
        return None
    value = getattr(found, field)
    return value if isinstance(value, int) else sum(item.count for item in value)


def _numbers(word: str, values: tuple[int | None, int | None], more_is: int) -> BesideLine:
    """`more_is`: 1 where more is better, -1 where less is, 0 where neither."""
    left, right = values
    better = ""
    if more_is and left is not None and right is not None and left != right:
        better = "left" if (left - right) * more_is > 0 else "right"
    told = [NONE if value is None else number(value) for value in values]
    return BesideLine(word, told[0], told[1], better)


def _scores(one: GroupExplanation | None, two: GroupExplanation | None) -> BesideLine:
    best = [found.best[0].norm_score if found and found.best else None for found in (one, two)]
    told = [NONE if score is None else f"{score:.2f}" for score in best]
    better = ""
    if best[0] is not None and best[1] is not None and best[0] != best[1]:
        better = "left" if best[0] > best[1] else "right"
    return BesideLine(gettext("Best score"), told[0], told[1], better)


def _sums(one: GroupExplanation | None, two: GroupExplanation | None) -> str:
    """`133 + 667 + 182 + 18 = 1 000`, on each side."""
    told = []
    for found in (one, two):
        if found is not None:
            parts = [
                found.with_room,
                *(_count(found, kind) or 0 for kind in ("exhausted", "refused", "not_asked")),
            ]
            told.append(f"{' + '.join(map(number, parts))} = {number(sum(parts))}")
    return "; ".join(told)
