"""How many evaluations stand in each state, kept current change by change.

In: a reader once, then evaluations as they are written. Out: counts, and the evaluations that have
not ended. An ended one may end in another way: one that was canceled while a worker had it is
completed. Of one that ended before anything is remembered of it nobody knows what it was counted
as; then `is_unsure`, until all are counted anew.
"""

from collections import Counter
from collections.abc import Mapping

from cluster.store.ports import Namespaces, RecordReader
from dashboard.graphs.machine import PLACES
from scheduler.structs.evaluation import Evaluation

#: Ended evaluations of which it is remembered what they are counted as.
MAX_ENDED = 20_000


class EvaluationCounts:
    """Mutable: `load` once, then `take` what is written; `load` again while `is_unsure`."""

    def __init__(self, namespaces: Namespaces) -> None:
        """Those of other namespaces do not count (None: all do)."""
        self._namespaces = namespaces
        #: Those that have not ended, by id.
        self.open: dict[str, Evaluation] = {}
        #: Whether some count may be wrong, for what it was before is not known.
        self.is_unsure = False
        self._counts: Counter[str] = Counter()
        self._ended: dict[str, str] = {}
        self._index = 0

    def load(self, reader: RecordReader) -> None:
        """Count all of them."""
        shown = self._namespaces
        self._counts = Counter(reader.evaluation_tally(shown))
        self.open = {
            item.id: item
            for item in reader.open_evaluations()
            if shown is None or item.namespace in shown
        }
        # What ended since the last look may have ended in another way meanwhile.
        self._ended.clear()
        self._index, self.is_unsure = reader.index, False

    def take(self, value: Evaluation, index: int, *, deleted: bool) -> None:
        """Count one that was written at an index; one that was read already counts no more."""
        if index <= self._index:
            return
        before = self._taken_out(value.id)
        status = value.status.value
        if before is None and deleted:
            # Whoever collects one changes nothing else about it.
            before = status
        if before is not None:
            self._counts[before] -= 1
        elif value.create_index != index:
            self.is_unsure = True
        self._counts["deleted" if deleted else status] += 1
        if not (deleted or value.is_terminal):
            self.open[value.id] = value
        elif not deleted:
            self._remember(value.id, status)

    def _taken_out(self, eval_id: str) -> str | None:
        """What it was counted as; None where that is not known."""
        item = self.open.pop(eval_id, None)
        return item.status.value if item is not None else self._ended.pop(eval_id, None)

    def _remember(self, eval_id: str, status: str) -> None:
        self._ended[eval_id] = status
        if len(self._ended) > MAX_ENDED:
            del self._ended[next(iter(self._ended))]

    def told(self, states: Mapping[str, str]) -> dict[str, int]:
        """How many are in each state; one that passes a quasi-status (`states`) counts there."""
        told = {state: max(self._counts[state], 0) for state in PLACES}
        for item in self.open.values():
            state = states.get(item.id) or item.status.value
            if state != item.status.value and state in told:
                told[item.status.value] = max(told[item.status.value] - 1, 0)
                told[state] += 1
        return told
