"""Whether workers think at the same time, or one after another.

In: for each answered plan, whether something of it was refused. Out: a yes or no. Two workers that
think at once do not see what the other is about to take, and best fit leads both to one node.
"""

#: For so many plans after a refusal, workers take turns: what one of them made is known to the
#: next before it begins.
_PLANS = 1_000


class Turns:
    """Counts down from the newest refusal."""

    def __init__(self) -> None:
        self._left = 0

    @property
    def are_taken(self) -> bool:
        """One after another."""
        return self._left > 0

    def note(self, *, was_refused: bool) -> None:
        """One more plan was answered."""
        self._left = _PLANS if was_refused else max(0, self._left - 1)
