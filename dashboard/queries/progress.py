"""Where the evaluations of a list stand, and how long those that ended took.

In: evaluations and the newest recorded step of each. Out: a state, quasi-statuses included, and a
span. Every page and frame asks here, so that one evaluation says the same everywhere.
"""

from dashboard.graphs.lifecycle import STATE_OF, TERMINAL
from scheduler.structs.evaluation import EvalStatus, Evaluation, LifecycleStep


def state_of(evaluation: Evaluation, newest: LifecycleStep | None, now: int) -> str:
    """Its stored status, or the quasi-status that a pending one passes."""
    if evaluation.status is not EvalStatus.PENDING:
        return evaluation.status.value
    if newest is not None:
        return STATE_OF.get(newest.step, "pending")
    starts = max(
        evaluation.wait_until, evaluation.create_time + evaluation.wait if evaluation.wait else 0
    )
    return "delayed" if starts > now else "pending"


def took(evaluation: Evaluation, newest: LifecycleStep | None) -> int:
    """From its creation to its last step, ns; 0 while it lasts and where that step is not known.

    The row's own time of change is no end: it is the beginning of the run (evaluations.md 7.5).
    """
    if newest is None or STATE_OF.get(newest.step) not in TERMINAL:
        return 0
    return max(newest.at - evaluation.create_time, 0)
