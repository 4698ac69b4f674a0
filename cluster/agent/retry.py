"""How long an agent waits before it calls again: soon at first, then less and less often.

In: how often the call has failed in a row, how many nodes there are, chance. Out: seconds. A fleet
whose server was away comes back spread out: together its nodes beat as often as they may, no more.
"""

#: All nodes together call again at most this often a second, once they have tried for a while.
MAX_CALLS_PER_S = 50


class Retry:
    """The retry rules of one node; in dev mode every pause is a second, in a small fleet."""

    def __init__(self, *, dev: bool) -> None:
        self._shortest = 0.5 if dev else 1.0
        self._dev = dev
        #: As the server counted last; 0 while it has not said.
        self.node_count = 0

    def registration(self, failures: int, chance: float) -> float:
        """After so many failed registrations, or heartbeats that never succeeded."""
        return self._pause(failures, 15.0, chance)

    def fetch(self, failures: int, chance: float) -> float:
        """After so many failed pulls."""
        return self._pause(failures, 30.0, chance)

    def report(self, failures: int, chance: float) -> float:
        """After so many failed reports."""
        return self._pause(failures, 5.0, chance)

    def change(self, chance: float) -> float:
        """Before registering a changed node again."""
        return 1.0 if self._dev else 5.0 + 5.0 * chance

    def missing(self, chance: float) -> float:
        """When fewer allocations came back than were asked for."""
        return 1.0 if self._dev else 2.0 + 2.0 * chance

    def beat(self, failures: int, ttl_s: float, chance: float) -> float:
        """After so many failed heartbeats; never longer than the server waits for one, if it can.

        A server that was away for long gives each node a whole TTL when it returns.
        """
        low = self._low(failures, 0.0)
        high = min(2 * low, max(ttl_s, 2 * self._shortest))
        return low + max(0.0, high - low) * chance

    def _pause(self, failures: int, longest: float, chance: float) -> float:
        low = self._low(failures, 0.0 if self._dev else longest)
        return low + low * chance

    def _low(self, failures: int, longest: float) -> float:
        """Doubles from failure to failure until every node may have its turn."""
        limit = max(self._shortest, longest, self.node_count / MAX_CALLS_PER_S)
        # The exponent is bounded so that no float overflows in a very long absence.
        return min(self._shortest * 2.0 ** min(failures - 1, 16), limit)
