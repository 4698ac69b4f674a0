"""The list of evaluations, live: its rows, and how many are in each state.

In: frames. Out: rows from the changed values; the counts, when one of them has changed.
"""

from collections import Counter

from cluster.store.ports import RecordReader
from dashboard.feeds.feed import NO_PARTS, Feed, Parts
from dashboard.feeds.pieces import Facts, Piece
from dashboard.graphs.lifecycle import STATE_OF
from dashboard.queries.evaluations import COLLECTED, QUASI, evaluation_texts
from dashboard.subscription import Subscription
from scheduler.state.events import StateEvent
from scheduler.structs.evaluation import EvalStatus, Evaluation, LifecycleStep


class EvaluationsFeed(Feed):
    """Loaded once, then counted on; no flush asks the database."""

    def __init__(self, subscription: Subscription, parts: Parts = NO_PARTS) -> None:
        super().__init__(subscription, parts)
        #: By stored status.
        self._counts: Counter[str] = Counter()
        #: The status of each that has not ended; the quasi-status of the few that pass one.
        self._open: dict[str, str] = {}
        self._passing: dict[str, str] = {}
        self._counted_index = 0
        self._told: dict[str, str] = {}

    def load(self, reader: RecordReader) -> None:
        """Read what is counted."""
        namespaces = self.subscription.namespaces
        self._counts = Counter(reader.evaluation_tally(namespaces))
        self._open = reader.open_statuses(namespaces)
        steps = reader.newest_steps_of_pending(namespaces)
        for step in steps.values():
            self._take_step(step)
        self._counted_index = reader.index
        self._told = self._texts()

    def _note(self, event: StateEvent, index: int) -> None:
        super()._note(event, index)
        # What was committed while the feed was loaded comes as a frame too.
        if index <= self._counted_index:
            return
        if isinstance(event.value, LifecycleStep):
            self._take_step(event.value)
        elif isinstance(event.value, Evaluation):
            is_new = event.value.create_index == index
            self._take(event.value, is_new=is_new, deleted=event.deleted)

    def _take(self, value: Evaluation, *, is_new: bool, deleted: bool) -> None:
        before = self._open.pop(value.id, "" if is_new else value.status.value)
        if before:
            self._counts[before] -= 1
        self._counts[COLLECTED if deleted else value.status.value] += 1
        if deleted or value.is_terminal:
            self._passing.pop(value.id, None)
        else:
            self._open[value.id] = value.status.value

    def _take_step(self, step: LifecycleStep) -> None:
        state = STATE_OF.get(step.step, "")
        if state in QUASI:
            self._passing[step.eval_id] = state
        else:
            self._passing.pop(step.eval_id, None)

    def flush(self, reader: RecordReader | None, now: int) -> tuple[Piece, ...]:
        """The rows, and the counts when one of them changed."""
        pieces = super().flush(reader, now)
        before, self._told = self._told, self._texts()
        return pieces if before == self._told else (*pieces, *self.standing(now))

    def standing(self, now: int) -> tuple[Piece, ...]:
        """All counts as they are."""
        del now
        return (Facts(values=self._told),)

    def _texts(self) -> dict[str, str]:
        pending = EvalStatus.PENDING
        passing = [state for key, state in self._passing.items() if self._open.get(key) == pending]
        return evaluation_texts(self._counts, passing)
