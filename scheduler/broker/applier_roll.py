"""Whether the plan applier is awake, and when it should be woken.

In: its questions, their empty answers, and evaluations that went out. Out: wake-ups. There is one
applier, so the roll is of one.
"""

from scheduler.broker.leader_settings import LeaderSettings


class ApplierRoll:
    """What is known of the applier; times are monotonic seconds."""

    def __init__(self, settings: LeaderSettings) -> None:
        self._settings = settings
        self._is_asleep = True
        #: When it last asked or was last woken.
        self._stirred_at = float("-inf")
        self._is_expecting = False

    def asked(self, monotonic: float) -> None:
        """It asked for plans: it is awake until it is sent away."""
        self._is_asleep = False
        self._stirred_at = monotonic

    def sent_away(self) -> None:
        """It was told that there is nothing, and sleeps."""
        self._is_asleep = True

    def expect(self) -> None:
        """Evaluations went out, whose plans will follow: woken now, it is there when they come."""
        self._is_expecting = True

    def take_wake(self, open_plans: int, monotonic: float) -> bool:
        """Whether to wake it now; it counts as woken.

        `open_plans` wait, or were taken and not answered: the applier that took them may have
        died, which the question of the next one tells. One that was woken, or has asked,
        within the last second is still expected to ask (again).
        """
        is_needed = self._is_expecting or open_plans > 0
        self._is_expecting = False
        is_expected = monotonic < self._stirred_at + self._settings.wake_again_after
        if not is_needed or (is_expected and not self._is_asleep):
            return False
        self._is_asleep = False
        self._stirred_at = monotonic
        return True
