"""How long an agent waits before it calls again (node-agent.md 1.2, 2.2)."""

DEV_RETRY_S = 1.0
#: Seconds a heartbeat may be overdue before the agent waits longer and longer.
_LONG_OVERDUE_S = 30.0


class Retry:
    """The retry rules; in dev mode every retry comes after a second."""

    def __init__(self, *, dev: bool) -> None:
        self.dev = dev

    def registration(self, chance: float) -> float:
        """After a failed registration, or a heartbeat that never succeeded."""
        return self._spread(15.0, chance)

    def fetch(self, chance: float) -> float:
        """After a failed pull."""
        return self._spread(30.0, chance)

    def report(self, chance: float) -> float:
        """After a failed report; also before registering a changed node again."""
        return self._spread(5.0, chance)

    def missing(self, chance: float) -> float:
        """When fewer allocations came back than were asked for."""
        return self._spread(2.0, chance)

    def first_beat(self, chance: float) -> float:
        """After registering a node the server knew already."""
        return DEV_RETRY_S * chance if self.dev else 10.0 * chance

    def beat(self, left_s: float, chance: float) -> float:
        """After a failed heartbeat; `left_s` until the server misses it, negative when overdue."""
        if self.dev:
            return DEV_RETRY_S
        if left_s < -_LONG_OVERDUE_S:
            return -left_s
        if left_s <= 0:
            return 1.0 + chance
        pause = left_s * chance
        if pause < 1.0:
            return 1.0 + chance
        if pause > 30.0:
            return 25.0 + 5.0 * chance
        return pause

    def _spread(self, seconds: float, chance: float) -> float:
        return DEV_RETRY_S if self.dev else seconds + seconds * chance
