"""What a run of a scheduler hands back, and how a submitted plan is answered.

In and out: plain values. A run is a generator: it yields each `Plan` to submit, is sent a
`PlanAnswer`, and returns an `Outcome`. Who submits, stores or retries is not known here.
"""

import msgspec

from scheduler.ports import Snapshot
from scheduler.structs.evaluation import EvalStatus, Evaluation
from scheduler.structs.explanation import GroupExplanation
from scheduler.structs.plan import PlanResult


class PlanAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The applier's answer to one plan."""

    result: PlanResult
    #: A snapshot at or after `result.refresh_index`; only when the result asked for a refresh.
    snapshot: Snapshot | None = None


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Everything one run leaves to be written, besides the plans it submitted."""

    #: The evaluation with its final status, to be stored; None when it is only reblocked.
    evaluation: Evaluation | None
    #: New evaluations in the order they are to be created.
    created: tuple[Evaluation, ...] = ()
    #: The evaluation itself, to be handed back to the tracker of blocked evaluations.
    reblocked: Evaluation | None = None
    #: By each task group that the run tried to place.
    explanations: dict[str, GroupExplanation] = {}

    @property
    def waits_for_room(self) -> bool:
        """It leaves an evaluation, its own or a new one, to wait for capacity."""
        created = any(evaluation.status is EvalStatus.BLOCKED for evaluation in self.created)
        return created or self.reblocked is not None
