"""What befalls messages for a while: some are lost, late or doubled.

In: chances, and draws of the step's own chance. Out: what becomes of one message. Late ones wait
here until they are due.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

Message = Callable[[], None]


@dataclass(frozen=True)
class Weather:
    """Chances per message."""

    lost: float = 0.0
    late: float = 0.0
    doubled: float = 0.0
    #: Of a worker that looks at an older snapshot which is just new enough.
    stale: float = 0.0


CALM = Weather()
WEATHERS: dict[str, Weather] = {
    "messages are lost": Weather(lost=0.3),
    "messages are late": Weather(late=0.4),
    "messages come twice": Weather(doubled=0.5),
    "snapshots are old": Weather(stale=0.7),
    "everything goes wrong": Weather(lost=0.15, late=0.2, doubled=0.2, stale=0.4),
}
#: A late message arrives after at most so many rounds.
LATEST = 4


@dataclass
class Once:
    """A message that does nothing the second time."""

    message: Message
    has_come: bool = False

    def __call__(self) -> None:
        if not self.has_come:
            self.has_come = True
            self.message()


@dataclass
class Post:
    """Messages between the actors."""

    weather: Weather = CALM
    #: Rounds until it is calm again.
    rounds_left: int = 0
    chance: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    _late: list[tuple[int, Message]] = field(default_factory=list)
    _round: int = 0

    @property
    def is_empty(self) -> bool:
        """Nothing is on its way."""
        return not self._late

    def happens(self, chance: float) -> bool:
        """Draw; nothing is drawn for what cannot happen."""
        return chance > 0 and bool(self.chance.random() < chance)

    def request(self, message: Message) -> None:
        """The same for one that its receiver knows when it comes again (leader_protocol.py)."""
        self.send(Once(message))

    def send(self, message: Message) -> None:
        """Let a message arrive now, later, twice or never."""
        if self.happens(self.weather.lost):
            return
        if self.happens(self.weather.late):
            self._wait(message)
        else:
            message()
        if self.happens(self.weather.doubled):
            self._wait(message)

    def begin_round(self) -> None:
        """Time has passed: what is due arrives."""
        self._round += 1
        self.rounds_left -= 1
        if self.rounds_left <= 0:
            self.weather = CALM
        due = [message for at, message in self._late if at <= self._round]
        self._late = [(at, message) for at, message in self._late if at > self._round]
        for message in due:
            message()

    def _wait(self, message: Message) -> None:
        self._late.append((self._round + int(self.chance.integers(1, LATEST + 1)), message))
