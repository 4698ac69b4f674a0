"""How a worker paces itself: how many evaluations at once, and how often it looks at the record.

In: for each answered plan, whether something of it was refused, and what ended without one. Out:
numbers, also by how long runs take. A worker that begins anew takes one, and one more for each
that went well: until plans have been answered, nobody knows whether those of two workers collide.
"""

import math

#: Evaluations taken at once (goals.md 5), and while plans are being refused.
_USUAL = 16
_CAUTIOUS = 4
#: Share of refused plans above which batches shrink, over about the newest hundred plans.
_REFUSED_SHARE = 0.01
_REMEMBERED = 100
#: The runs of a batch take so long together, if one does not take longer: others wait for their
#: turn meanwhile, and a batch looks at one state of the record all the while.
_BATCH_S, _RUNS = 0.25, 10
#: How often a batch takes in answers while its runs are begun: after each, later runs look at a
#: newer record, which takes a connection until the batch ends.
_LOOKS = 4


class BatchSize:
    """The size of one worker's next batch."""

    def __init__(self) -> None:
        self._refused_share = 0.0
        self._grown = 1
        #: Seconds of a run, over about the newest ten.
        self._run_s = 0.0

    @property
    def limit(self) -> int:
        """At most so many evaluations."""
        most = _CAUTIOUS if self._refused_share > _REFUSED_SHARE else _USUAL
        in_time = math.floor(_BATCH_S / self._run_s) if self._run_s > 0 else most
        return max(1, min(self._grown, most, in_time))

    def took(self, seconds: float) -> None:
        """A run was begun, and brought to its plan or its end, within so long."""
        self._run_s += (seconds - self._run_s) / _RUNS

    def begin_anew(self) -> None:
        """The worker slept: what others do is unknown."""
        self._grown = 1

    def grow(self) -> None:
        """An evaluation ended."""
        self._grown = min(self._grown + 1, _USUAL)

    def note(self, *, was_refused: bool) -> None:
        """Take one more answer into account."""
        self._refused_share += (float(was_refused) - self._refused_share) / _REMEMBERED
        if not was_refused:
            self.grow()


def looks_up(place: int, size: int) -> bool:
    """Whether answers are taken in before the run at this place of a batch is begun."""
    return place > 0 and place % math.ceil(size / _LOOKS) == 0
