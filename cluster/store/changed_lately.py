"""What changed lately: what a record tells of it, and how it is asked."""

from collections.abc import Collection, Mapping
from typing import NamedTuple, Protocol

from cluster.store.past_nodes import NodeThen
from scheduler.structs.evaluation import LifecycleStep


class MovedLives(NamedTuple):
    """The steps of evaluations that changed lately, each life in its order."""

    steps: list[LifecycleStep]
    #: Moves before this instant may be missing, because there were too many; 0 where none are.
    whole_from: int = 0
    #: Evaluations that ended in that time and were collected, and their steps with them.
    collected: int = 0


class Ran(NamedTuple):
    """When an allocation ran; `ended` is 0 for one that does."""

    started: int
    ended: int


class Lately(NamedTuple):
    """What changed since an instant; what is missing is as it is now."""

    #: Of allocations that changed since, and have run.
    runs: list[Ran]
    #: By the ids of nodes.
    nodes: Mapping[str, NodeThen]
    #: Changes of allocations before this instant are missing, because there were too many.
    whole_from: int = 0


class LatelyReader(Protocol):
    """The part of a record's reader that is asked for what changed lately."""

    def moved_lives(
        self, stretch: int, namespaces: Collection[str] | None, at_most: int
    ) -> MovedLives:
        """Of evaluations that changed in a stretch (ns) before the newest change, or are pending.

        Of more than `at_most`, the newest.
        """

    def lately(self, since: int, namespaces: Collection[str] | None, at_most: int) -> Lately:
        """When allocations that changed since an instant ran, and how nodes that did stood."""
