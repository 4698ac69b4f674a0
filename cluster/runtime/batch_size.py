"""How a worker paces itself: how many evaluations at once, and how often it looks at the record.

In: for each answered plan, whether something of it was refused, and what ended without one. Out:
numbers. A worker that begins anew takes one, and one more for each that went well: until plans
have been answered, nobody knows whether those of two workers collide.
"""

import math

#: Evaluations taken at once (goals.md 5), and while plans are being refused.
_USUAL = 16
_CAUTIOUS = 4
#: Share of refused plans above which batches shrink, over about the newest hundred plans.
_REFUSED_SHARE = 0.01
_REMEMBERED = 100
#: How often a batch takes in answers while its runs are begun: after each, later runs look at a
#: newer record, which takes a connection until the batch ends.
_LOOKS = 4


class BatchSize:
    """The size of one worker's next batch."""

    def __init__(self) -> None:
        self._refused_share = 0.0
        self._grown = 1

    @property
    def limit(self) -> int:
        """At most so many evaluations."""
        most = _CAUTIOUS if self._refused_share > _REFUSED_SHARE else _USUAL
        return min(self._grown, most)

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
