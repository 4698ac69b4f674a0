"""How the parts of the cluster stand, as this process last saw them.

In: what a watch found of each part. Out: the parts, each with its fault and since when, for
programs and for people; whoever listens is told of changes. Looks at nothing itself.
"""

from collections.abc import Callable

import msgspec

from scheduler.structs.moment import Moment

#: In the order of what hurts most.
RECORD, LEADER, APPLIER, WORKERS, REDIS = PARTS = (
    "record",
    "leader",
    "applier",
    "workers",
    "redis",
)
NOT_SEEN = "not seen yet"


class ClusterPart(msgspec.Struct, frozen=True, kw_only=True):
    """One part. It stands well where `fault` is empty."""

    name: str
    #: A clause that says what is wrong.
    fault: str = ""
    #: When its fault began, or ended: wall clock, ns.
    since: int = 0
    #: When it was last seen well, by the monotonic clock, s; None when it never was.
    well_at: float | None = None


class Health:
    """What is known of each part. Without a watch nothing is, and nothing is said."""

    def __init__(self) -> None:
        self._parts: dict[str, ClusterPart] = {}
        self._listeners: set[Callable[[], None]] = set()

    @property
    def parts(self) -> tuple[ClusterPart, ...]:
        """Every part that is watched, in the order of `PARTS`."""
        return tuple(self._parts[name] for name in PARTS if name in self._parts)

    @property
    def faulty(self) -> tuple[ClusterPart, ...]:
        """Those that do not stand well."""
        return tuple(part for part in self.parts if part.fault)

    def expect(self, *, now: int) -> None:
        """A watch begins: no part has been seen yet."""
        self._parts = {name: ClusterPart(name=name, fault=NOT_SEEN, since=now) for name in PARTS}

    def note(self, name: str, fault: str, moment: Moment) -> None:
        """What a look found. Listeners are told when the fault of a part changes."""
        before = self._parts.get(name, ClusterPart(name=name))
        changes = before.fault != fault
        self._parts[name] = ClusterPart(
            name=name,
            fault=fault,
            since=moment.now if bool(before.fault) != bool(fault) else before.since,
            well_at=before.well_at if fault else moment.monotonic,
        )
        if changes:
            for listener in tuple(self._listeners):
                listener()

    def forget(self) -> None:
        """The watch ended."""
        self._parts.clear()

    def listen(self, listener: Callable[[], None]) -> None:
        """Call `listener`, on the event loop, after each change."""
        self._listeners.add(listener)

    def leave(self, listener: Callable[[], None]) -> None:
        """Call it no more."""
        self._listeners.discard(listener)


#: The health that this process sees.
HEALTH = Health()
