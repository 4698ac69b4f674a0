"""Nodes: the rows of lists with what is taken of each, and the page of one.

In: a reader and what the address asks for. Out: rows, and the context of `node.html`.
"""

from collections.abc import Iterable
from typing import Any

import msgspec
from django.utils.translation import gettext, gettext_noop

from cluster.store.ports import RecordReader
from dashboard.queries.allocations import state_of
from dashboard.queries.node_events import told_event
from dashboard.queries.node_refusals import refusals_context
from dashboard.queries.stories import seen_stories, strip_of
from dashboard.rights import NODE_READ
from dashboard.subscription import Subscription
from dashboard.viewer import Absent, Viewer, crumbs
from dashboard.wording import count_of, natural, number, span
from scheduler.state.node_use import NodeUse, UseSum
from scheduler.structs.allocation import Allocation
from scheduler.structs.node import DriverInfo, Node, NodeEligibility, NodeStatus

PAGE_SIZE = 100
SIMULATED_NODE = gettext_noop("Simulated: it runs nothing and only pretends what it is given.")
#: Allocations on the page of a node; live ones come first.
MAX_ALLOCATIONS = 200
#: What the list can be narrowed to.
STATES = ("ready", "draining", "ineligible", "down", "disconnected", "initializing")


class Capacity(msgspec.Struct, frozen=True, kw_only=True):
    """One dimension of a node: what it can give, what is taken."""

    word: str
    unit: str
    used: int
    total: int
    #: Of `used`, what is to stop and has not stopped yet.
    leaving: int = 0

    @property
    def free(self) -> int:
        """What a new allocation could get."""
        return max(self.total - self.used, 0)

    @property
    def staying(self) -> int:
        """What is used and stays so."""
        return max(self.used - self.leaving, 0)

    @property
    def is_nearly_full(self) -> bool:
        """Whether hardly anything more fits. No state of the node, so it has no tone."""
        return self.used > 0.9 * self.total

    @property
    def label(self) -> str:
        """For screen readers."""
        return gettext("{word}: {used} of {total} {unit}").format(
            word=self.word, used=number(self.used), total=number(self.total), unit=self.unit
        )


def node_row(reader: RecordReader, node_id: str) -> dict[str, Any] | None:
    """One row of the list; None for a node that is gone."""
    node = reader.node(node_id)
    if node is None:
        return None
    use = reader.node_use(node_id)
    return {
        "node": node,
        "state": node_state(node),
        "capacities": capacities(node, use)[:2],
        "count": use.planned.alloc_count,
    }


def node_state(node: Node) -> str:
    """One word for status, eligibility and drain together."""
    drains = node.drain_strategy is not None
    return state_told(node.status.value, node.scheduling_eligibility.value, drains=drains)


def state_told(status: str, eligibility: str, *, drains: bool) -> str:
    """The word, from what a table says of a node."""
    if status != NodeStatus.READY:
        return status
    if drains:
        return "draining"
    return "ready" if eligibility == NodeEligibility.ELIGIBLE else "ineligible"


def capacities(node: Node, use: NodeUse) -> list[Capacity]:
    """CPU, memory and disk: what the node can give and what is taken of it."""
    has, kept, taken = node.node_resources, node.reserved_resources, use.held
    leaving = _leaving(use)
    return [
        Capacity(
            word="CPU", unit="MHz", used=taken.cpu, leaving=leaving.cpu,
            total=max(has.cpu.cpu_shares - kept.cpu.cpu_shares, 0),
        ),
        Capacity(
            word="Memory", unit="MiB", used=taken.memory_mb, leaving=leaving.memory_mb,
            total=max(has.memory.memory_mb - kept.memory.memory_mb, 0),
        ),
        Capacity(
            word="Disk", unit="MiB", used=taken.disk_mb, leaving=leaving.disk_mb,
            total=max(has.disk.disk_mb - kept.disk.disk_mb, 0),
        ),
    ]  # fmt: skip


def _leaving(use: NodeUse) -> UseSum:
    held, planned = use.held, use.planned
    return UseSum(
        cpu=max(held.cpu - planned.cpu, 0),
        memory_mb=max(held.memory_mb - planned.memory_mb, 0),
        disk_mb=max(held.disk_mb - planned.disk_mb, 0),
    )


def node_page(reader: RecordReader, viewer: Viewer, *, node_id: str) -> dict[str, Any]:
    """The context of one node's page."""
    parts = node_parts(reader, node_id, viewer.namespaces)
    if parts is None:
        raise Absent
    node = parts["node"]
    return {
        **parts,
        "crumbs": crumbs(("Nodes", "/nodes/"), (node.name or node.id[:8], "")),
        "live_topics": f"node:{node_id}",
        "usage_url": f"/nodes/{node_id}/usage/",
        "may": viewer.may_with_nodes,
    }


def node_panel(reader: RecordReader, subscription: Subscription, _now: int) -> dict[str, Any]:
    """What a live frame renders again; a node that was purged says so."""
    parts = node_parts(reader, subscription.key, subscription.namespaces)
    return {"page_index": reader.index, "may": subscription.may, **(parts or {"is_gone": True})}


def node_parts(
    reader: RecordReader, node_id: str, namespaces: frozenset[str] | None
) -> dict[str, Any] | None:
    """Everything the page says of a node that can change, in three reads."""
    node = reader.node(node_id)
    if node is None:
        return None
    use = reader.node_use(node_id)
    everyone = reader.allocations_by_node(node_id)
    allocs = [item for item in everyone if namespaces is None or item.namespace in namespaces]
    shown = _live_first(allocs)[:MAX_ALLOCATIONS]
    return {
        "node": node,
        **strip_of(reader, seen_stories(namespaces, {NODE_READ}), node_id=node_id),
        "state": node_state(node),
        "capacities": capacities(node, use),
        "count": use.planned.alloc_count,
        "strong": _node_sentence(node, use),
        "allocations": [{"alloc": item, "state": state_of(item)} for item in shown],
        "hidden": len(everyone) - len(shown),
        "drain_notes": [
            (_NOTE_WORDS.get(key, key), value)
            for key, value in (node.last_drain.meta if node.last_drain else {}).items()
        ],
        "events": [told_event(event) for event in reversed(node.events)],
        "can_open": node.scheduling_eligibility is NodeEligibility.INELIGIBLE
        and node.drain_strategy is None,
        "can_close": node.scheduling_eligibility is NodeEligibility.ELIGIBLE,
        "drivers": sorted(name for name, info in node.drivers.items() if info.healthy),
        "driver_words": sorted((name, driver_words(info)) for name, info in node.drivers.items()),
        "attributes": sorted(node.attributes.items()),
        "meta": sorted(node.meta.items()),
        **refusals_context(reader, node_id),
    }


def driver_words(driver: DriverInfo) -> str:
    """Whether the node offers a driver; and what it says of it, unless that all is well."""
    word = "Offered" if driver.healthy else gettext("Not offered")
    told = "" if driver.health_description == "Healthy" else driver.health_description
    return f"{word}: {told}" if told else word


#: What people call the notes that a drain from the admin keeps; others keep their own word.
_NOTE_WORDS = {"message": "Reason", "by": "By"}


def _live_first(allocs: Iterable[Allocation]) -> list[Allocation]:
    """What still runs, then the newest; those made at once by name."""
    return sorted(
        allocs,
        key=lambda item: (
            item.is_client_terminal, -item.create_index, natural(item.name), item.id,
        ),
    )  # fmt: skip


def _node_sentence(node: Node, use: NodeUse) -> str:
    allocs = count_of(use.planned.alloc_count, "{count} allocation", "{count} allocations")
    told = {
        "ready": gettext("Ready, with {allocs}.").format(allocs=allocs),
        "draining": gettext("Drains: {allocs} still to move.").format(allocs=allocs),
        "ineligible": gettext("Ineligible: {allocs} stay, nothing new is placed here.").format(
            allocs=allocs
        ),
        "down": gettext("Down: it missed its heartbeat; its allocations are replaced elsewhere."),
        "disconnected": (
            gettext(
                "Silent: it missed its heartbeat; its unknown allocations may still come back."
            )
        ),
        "initializing": gettext("Initializing: it has registered and not reported ready yet."),
    }[node_state(node)]
    if node.clock_off_by_ms:
        side = gettext("ahead of") if node.clock_off_by_ms > 0 else "behind"
        off_by = span(abs(node.clock_off_by_ms) * 1_000_000)
        told += gettext(
            " Its clock is {off_by} {side} the server's: times it reports are off by that."
        ).format(off_by=off_by, side=side)
    return f"{told} {gettext(SIMULATED_NODE)}" if node.is_simulated else told
