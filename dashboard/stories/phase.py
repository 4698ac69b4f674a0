"""A phase of a rollout: a stretch of it, as its lane, its row and its note tell it."""

import msgspec

from scheduler.structs.allocation import Allocation


class RolloutPhase(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of a rollout. It begins with the evaluation of `since`, an index."""

    key: str
    title: str
    since: int
    began: int = 0
    #: Names of allocations that it places; those healthy of them.
    wanted: int = 0
    healthy: int = 0
    #: When the last of them became healthy, ns.
    whole_at: int = 0
    #: What a circle at its beginning says.
    event: tuple[str, ...] = ()
    is_to_come: bool = False
    #: Whether it is known which allocations it placed; of the others only how many is.
    is_known: bool = True
    #: What it waits for before it begins, in the few words of a drawing, and as a sentence.
    expects: str = ""
    begins: str = ""
    #: Names that took several allocations: the newest of each, and how many there were.
    again: tuple[tuple[Allocation, int], ...] = ()
    #: Who promoted or failed it, where a person did.
    by: str = ""
    #: What people did while it lasted.
    notes: tuple[str, ...] = ()
    #: A tone of its own, whatever its evaluations say.
    tone: str = ""
