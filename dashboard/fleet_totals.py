"""Sums over many nodes: what they have, what is allocated of it, what is used, the largest hole.

In: where nodes stand, what is held of each, what each says that its tasks use. Out: sums, which
can be added to each other, and what is said of use. One look at each node; knows no reader.
"""

from collections.abc import Iterable, Mapping

import msgspec
from django.utils.translation import gettext

from cluster.store.ports import NodePlace, NodeSum
from cluster.store.used_by_nodes import NodeUsed
from dashboard.wording import NONE, count_of, number
from scheduler.structs.node import LOST as LOST_STATUSES
from scheduler.structs.node import NodeEligibility, NodeStatus

NO_SUM = NodeSum()
_LOST = frozenset(status.value for status in LOST_STATUSES)
_READY, _DISCONNECTED = NodeStatus.READY.value, NodeStatus.DISCONNECTED.value
_ELIGIBLE = NodeEligibility.ELIGIBLE.value


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over nodes. What can be given counts of those that are not lost."""

    nodes: int = 0
    ready: int = 0
    lost: int = 0
    #: They missed their heartbeat; what they hold is not given up yet.
    silent: int = 0
    draining: int = 0
    closed: int = 0
    cpu_mhz: int = 0
    memory_mb: int = 0
    cpu_held: int = 0
    memory_held: int = 0
    #: The node on which one more allocation could get most, and how much.
    hole: NodePlace | None = None
    hole_memory: int = 0
    hole_cpu: int = 0
    #: Of the nodes that say what their tasks use: how many, what they have, hold and use.
    told: int = 0
    cpu_of_told: int = 0
    memory_of_told: int = 0
    memory_held_of_told: int = 0
    cpu_used: int = 0
    memory_used: int = 0

    @property
    def apart(self) -> list[str]:
        """How many of them take no new work, by why."""
        counts = (
            (self.lost, "lost"), (self.silent, "silent"), (self.draining, "draining"),
            (self.closed, "closed"),
        )  # fmt: skip
        return [f"{number(count)} {word}" for count, word in counts if count]

    @property
    def memory_share(self) -> int:
        """Percent of memory allocated."""
        return _percent(self.memory_held, self.memory_mb)

    @property
    def cpu_share(self) -> int:
        """Percent of CPU allocated."""
        return _percent(self.cpu_held, self.cpu_mhz)

    @property
    def memory_used_share(self) -> int | None:
        """Percent of memory used, on the nodes that say so; None where none does."""
        return _percent(self.memory_used, self.memory_of_told) if self.told else None

    @property
    def cpu_used_share(self) -> int | None:
        """Percent of CPU used, on the nodes that say so; None where none does."""
        return _percent(self.cpu_used, self.cpu_of_told) if self.told else None

    @property
    def is_told_by_all(self) -> bool:
        """Whether every node that is not lost says what its tasks use."""
        return 0 < self.told == self.nodes - self.lost

    def share(self, by: str) -> int | None:
        """Percent, by what darkness means; None where nobody says it."""
        if by == "memory-used":
            return self.memory_used_share
        if by == "cpu-used":
            return self.cpu_used_share
        if by == "cpu":
            return self.cpu_share
        return max(self.memory_share, self.cpu_share) if by == "fullest" else self.memory_share


def totals_of(
    nodes: Iterable[NodePlace], sums: Mapping[str, NodeSum], used: Mapping[str, NodeUsed] = {}
) -> Totals:
    """Sums over these nodes."""
    counts = {"ready": 0, "lost": 0, "silent": 0, "draining": 0, "ineligible": 0}
    cpu = memory = cpu_held = memory_held = 0
    told = cpu_of_told = memory_of_told = held_of_told = cpu_used = memory_used = 0
    best: tuple[int, int, NodePlace] | None = None
    for node in nodes:
        state = state_of_place(node)
        counts[state] += 1
        if state == "lost":
            continue
        held = sums.get(node.id, NO_SUM)
        cpu, memory = cpu + node.cpu_mhz, memory + node.memory_mb
        cpu_held, memory_held = cpu_held + held.cpu_mhz, memory_held + held.memory_mb
        if state == "ready":
            left = max(node.memory_mb - held.memory_mb, 0), max(node.cpu_mhz - held.cpu_mhz, 0)
            # Of equal ones the first by name, however they come.
            if best is None or left > best[:2] or (left == best[:2] and node.name < best[2].name):
                best = (*left, node)
        use = used.get(node.id)
        if use is not None:
            told += 1
            cpu_of_told, memory_of_told = (
                cpu_of_told + node.cpu_mhz,
                memory_of_told + node.memory_mb,
            )
            held_of_told += held.memory_mb
            cpu_used, memory_used = cpu_used + use.cpu_mhz, memory_used + use.memory_mb
    return Totals(
        nodes=sum(counts.values()), ready=counts["ready"], lost=counts["lost"],
        silent=counts["silent"], draining=counts["draining"], closed=counts["ineligible"],
        cpu_mhz=cpu, memory_mb=memory, cpu_held=cpu_held, memory_held=memory_held,
        hole=best[2] if best else None,
        hole_memory=best[0] if best else 0, hole_cpu=best[1] if best else 0,
        told=told, cpu_of_told=cpu_of_told, memory_of_told=memory_of_told,
        memory_held_of_told=held_of_told, cpu_used=cpu_used, memory_used=memory_used,
    )  # fmt: skip


_ADDED = tuple(name for name in Totals.__struct_fields__ if not name.startswith("hole"))


def merged(parts: Iterable[Totals]) -> Totals:
    """The sums of sums, as if they had been made over all their nodes at once."""
    each = list(parts)
    added = {name: sum(getattr(totals, name) for totals in each) for name in _ADDED}
    best = min(
        (totals for totals in each if totals.hole is not None),
        key=lambda totals: (
            -totals.hole_memory, -totals.hole_cpu, totals.hole.name if totals.hole else ""
        ),
        default=Totals(),
    )  # fmt: skip
    return Totals(**added, hole=best.hole, hole_memory=best.hole_memory, hole_cpu=best.hole_cpu)


def state_of_place(node: NodePlace) -> str:
    """`ready`, `draining`, `lost`, `silent`, or `ineligible`: closed, or not heard of yet."""
    status = node.status
    if status in _LOST:
        return "lost"
    if status == _DISCONNECTED:
        return "silent"
    if node.is_draining:
        return "draining"
    is_open = status == _READY and node.eligibility == _ELIGIBLE
    return "ready" if is_open else "ineligible"


def used_share(totals: Totals, by: str = "memory-used") -> str:
    """`56 % used`, or of how many nodes where not all say so; `by` is what darkness means."""
    share = totals.share(by)
    if share is None:
        return NONE
    if totals.is_told_by_all:
        return gettext("{share} % used").format(share=share)
    return gettext("{share} % used on {nodes}").format(
        share=share,
        nodes=count_of(totals.told, "{count} node that says so", "{count} nodes that say so"),
    )


def memory_told(totals: Totals) -> str:
    """What is used beside what is allocated, as a sentence."""
    if totals.memory_used_share is None:
        return gettext("No node has said what its tasks use.")
    idle = totals.memory_held_of_told - totals.memory_used
    told = gettext("{used}; {idle} MiB are allocated there and idle.")
    if idle < 0:
        told = gettext("{used}; that is {idle} MiB more than is allocated there.")
    return told.format(used=_begun(used_share(totals)), idle=number(abs(idle)))


def cpu_told(totals: Totals) -> str:
    """The same of CPU."""
    if totals.cpu_used_share is None:
        return gettext("No node has said what its tasks use.")
    return gettext("{used}: {mhz} MHz.").format(
        used=_begun(used_share(totals, "cpu-used")), mhz=number(totals.cpu_used)
    )


def _begun(text: str) -> str:
    return text[:1].upper() + text[1:]


def _percent(held: int, total: int) -> int:
    return round(100 * held / total) if total else 0
