"""What an agent may not make itself: time, identifiers, chance."""

from collections.abc import Callable
from dataclasses import dataclass

from scheduler.ports import Clock, IDSource


@dataclass(frozen=True)
class Means:
    """Given to an agent by whoever starts it."""

    clock: Clock
    ids: IDSource
    chance: Callable[[], float]
