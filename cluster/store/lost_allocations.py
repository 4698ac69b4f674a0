"""What a loss of nodes took, and what was placed because of it."""

from typing import NamedTuple, Self

from scheduler.structs.allocation import Allocation, AllocState, ClientStatus
from scheduler.structs.wire import Wire

#: Allocations of its nodes that are read; a larger loss is told in part, and says so.
MOST_LOST = 2_000
_NEVER = -1


class Stood(Wire, frozen=True):
    """Of an allocation's body, what is asked of one whose node was lost."""

    id: str
    namespace: str
    job_id: str
    name: str
    node_id: str
    job_type: str = ""
    client_status: ClientStatus = ClientStatus.PENDING
    alloc_states: tuple[AllocState, ...] = ()
    next_allocation: str = ""
    create_index: int = 0


class LostAlloc(NamedTuple):
    """An allocation that stood on a node when that was lost."""

    id: str
    namespace: str
    job_id: str
    name: str
    node_id: str
    job_type: str
    #: The one that took its place, by what it says or by its name; empty while none has.
    next_id: str
    #: Its node may still come back with it.
    is_unknown: bool

    @classmethod
    def of(cls, alloc: Allocation | Stood) -> Self:
        """What counts of it."""
        is_unknown = alloc.client_status is ClientStatus.UNKNOWN
        return cls(
            alloc.id, alloc.namespace, alloc.job_id, alloc.name, alloc.node_id, alloc.job_type,
            alloc.next_allocation, is_unknown,
        )  # fmt: skip


class ReplacedAlloc(NamedTuple):
    """An allocation that took the place of a lost one, whatever story placed it."""

    id: str
    create_index: int
    created_at: int


class StoryLosses(NamedTuple):
    """What a loss took, and what was placed because of it, as far as allocations are kept."""

    lost: tuple[LostAlloc, ...]
    placed: tuple[ReplacedAlloc, ...]
    #: More stood on its nodes than one look reads.
    is_cut: bool


def lost_at(alloc: Allocation | Stood) -> int:
    """When it was lost, or became unknown and still is, ns; below 0: it never was."""
    is_unknown = alloc.client_status is ClientStatus.UNKNOWN
    words = {ClientStatus.LOST.value} | ({ClientStatus.UNKNOWN.value} if is_unknown else set())
    told = (each.time for each in alloc.alloc_states if each.field == 0 and each.value in words)
    return max(told, default=_NEVER)
