"""Steps of evaluations that were told ahead of the record, until the record has them too.

In: steps as they are hinted, steps as they are recorded. Out: the evaluations whose hints should
have been recorded by now. Whoever gave such a hint may have died: the next leader numbers on from
the record, and its steps would be taken for those that are known.
"""

from scheduler.structs.evaluation import LifecycleStep

#: A step is recorded within a second of its hint; so long it is believed without, ns.
HINTS_HOLD = 10_000_000_000


class HintedSteps:
    """Mutable: the newest hint of each evaluation."""

    def __init__(self) -> None:
        """No hints, no doubts."""
        #: The oldest hint first.
        self._hinted: dict[str, LifecycleStep] = {}
        #: Evaluations that are to be looked up in the record.
        self.doubted: set[str] = set()

    def hint(self, step: LifecycleStep) -> None:
        """Know of a step that is not recorded yet."""
        self._hinted.pop(step.eval_id, None)
        self._hinted[step.eval_id] = step

    def confirm(self, step: LifecycleStep) -> None:
        """A step was recorded: under the number of a hint it is what was hinted, or not."""
        hinted = self._hinted.get(step.eval_id)
        if hinted is None or step.number < hinted.number:
            return
        if step.number > hinted.number or step.step is hinted.step:
            del self._hinted[step.eval_id]

    def doubt(self, now: int) -> None:
        """Doubt what was hinted long ago and was never recorded."""
        for eval_id, step in tuple(self._hinted.items()):
            if step.at + HINTS_HOLD >= now:
                break
            del self._hinted[eval_id]
            self.doubted.add(eval_id)
