"""Rows of evaluations, the same in every list of them, and the states they are counted by.

In: evaluations, a reader. Out: rows with state, outcome and the time it took.
"""

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext

from cluster.store.ports import RecordReader
from dashboard.outcomes import short_outcome
from dashboard.queries.progress import state_of, took
from scheduler.structs.evaluation import Evaluation, LifecycleStep

PAGE_SIZE = 50
QUASI = ("delayed", "scheduling", "applying")
COLLECTED = "deleted"
#: What the list can be narrowed to.
STATES = ("pending", *QUASI, "blocked", "complete", "failed", "canceled", COLLECTED)


#: Those that wait for room, in their list.
BLOCKED_URL = "/evaluations/?status=blocked"


def evaluation_tabs(current: str) -> list[dict[str, Any]]:
    """What is told by its cause, every evaluation by itself, and those that wait for room."""
    views = (
        ("/stories/", "Stories"),
        ("/evaluations/", gettext("Every evaluation")),
        (BLOCKED_URL, gettext("Blocked")),
    )
    return [{"word": word, "url": url, "is_current": url == current} for url, word in views]


def evaluation_rows(
    reader: RecordReader, shown: Sequence[Evaluation], now: int
) -> list[dict[str, Any]]:
    """The rows of a list, with what their newest steps say, in one read."""
    newest = reader.newest_steps_of([item.id for item in shown])
    return [row_context(item, now, newest.get(item.id)) for item in shown]


def row_context(
    evaluation: Evaluation, now: int, newest: LifecycleStep | None = None
) -> dict[str, Any]:
    """One row, the same on the page and in a frame, which may not know the newest step."""
    return {
        "evaluation": evaluation,
        "state": state_of(evaluation, newest, now),
        "outcome": short_outcome(evaluation),
        "took": took(evaluation, newest),
    }
