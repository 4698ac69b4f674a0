"""Host volumes for people: those of namespaces whose volumes they may read, and one with its use.

In: a reader, who looks. Out: the contexts of the pages. Static volumes of nodes stand beside, for
whoever may look at nodes: they are of no namespace.
"""

from typing import Any

import msgspec
from django.utils.translation import gettext

from cluster.operations.host_volumes import volume_named
from cluster.operations.volume_placing import plugin_attribute
from cluster.store.ports import RecordReader
from dashboard.rights import NODE_READ, actions_in
from dashboard.subscription import Subscription
from dashboard.viewer import Absent, Viewer, crumbs
from dashboard.wording import count_of
from scheduler.state.nouns import NAMESPACES
from scheduler.state.volume_nouns import VOLUME_CLAIMS
from scheduler.state.writes.volumes import users_of
from scheduler.structs.host_volume import AccessMode, AttachmentMode, DynamicVolume, VolumeState
from scheduler.structs.identity import DEFAULT_NAMESPACE
from scheduler.structs.node import Node

READ, CREATE, DELETE = "host-volume-read", "host-volume-create", "host-volume-delete"
#: Of more nodes what their configurations offer is not told: every node would have to be read.
MOST_NODES = 500
_STATES = {
    VolumeState.READY: "running",
    VolumeState.PENDING: "pending",
    VolumeState.UNAVAILABLE: "lost",
}


class VolumeLine(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the list."""

    volume: DynamicVolume
    url: str
    tone: str
    node: str
    size: str


class StaticLine(msgspec.Struct, frozen=True, kw_only=True):
    """A volume that nodes offer by their configuration."""

    name: str
    nodes: int
    #: Of these, on how many it can only be read.
    read_only: int


def volume_line(volume: DynamicVolume, node: Node | None) -> VolumeLine:
    """What its row says; `node` where it may be told."""
    return VolumeLine(
        volume=volume,
        url=url_of(volume),
        tone=_STATES[volume.state],
        node=(node.name or node.id) if node else "",
        size=size_text(volume.capacity_bytes),
    )


def offered_page(reader: RecordReader, viewer: Viewer) -> dict[str, Any]:
    """Of the page of the list: what nodes offer by their configuration."""
    context = _offered(reader, reads_nodes=viewer.access.reads("node"))
    return {**context, "crumbs": crumbs(("Volumes", ""))}


def offered_panel(reader: RecordReader, subscription: Subscription, _now: int) -> dict[str, Any]:
    """The same, as nodes are now."""
    return _offered(reader, reads_nodes=NODE_READ in subscription.may)


def _offered(reader: RecordReader, *, reads_nodes: bool) -> dict[str, Any]:
    is_told = reads_nodes and _has_few_nodes(reader)
    return {
        "statics": _statics(reader) if is_told else [],
        "has_many_nodes": reads_nodes and not is_told,
        "most_nodes": MOST_NODES,
    }


def volume_page(
    reader: RecordReader, viewer: Viewer, *, namespace: str, volume_id: str
) -> dict[str, Any]:
    """The context of one, with what uses it and what sticks to it. Raises Absent."""
    if not viewer.access.allows(namespace, READ):
        raise Absent
    volume = volume_named(reader, namespace, volume_id)
    if volume is None:
        raise Absent
    sees_work = viewer.access.allows(namespace, "read-job")
    sees_nodes = viewer.access.reads("node")
    users = list(users_of(reader, volume))
    return {
        "volume": volume,
        "line": volume_line(volume, reader.node(volume.node_id) if sees_nodes else None),
        "users": users if sees_work else [],
        "user_count": len(users),
        "claims": reader.list_by(VOLUME_CLAIMS, "volume", volume.id) if sees_work else [],
        "may": actions_in(viewer.access, namespace),
        "why": _why(volume),
        "crumbs": crumbs(("Volumes", "/volumes/"), (volume.name, "")),
    }


def form_page(reader: RecordReader, viewer: Viewer) -> dict[str, Any]:
    """The context of the form for a new one: where it may be, and who could make it."""
    names = {DEFAULT_NAMESPACE, *(each.name for each in reader.list_all(NAMESPACES))}
    return {
        "places": sorted(name for name in names if viewer.access.allows(name, CREATE)),
        "namespace": viewer.chosen or DEFAULT_NAMESPACE,
        "plugins": _plugins(reader) if _has_few_nodes(reader) else [],
        "modes": [mode.value for mode in AccessMode],
        "attachments": [mode.value for mode in AttachmentMode],
        "crumbs": crumbs(("Volumes", "/volumes/"), ("New", "")),
    }


def url_of(volume: DynamicVolume) -> str:
    """The address of a volume's page."""
    return f"/volumes/{volume.namespace}/{volume.id}/"


def size_text(size: int) -> str:
    """Bytes in words; "" where nothing says how many."""
    if not size:
        return ""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return count_of(size, "{count} byte", "{count} bytes")


def _has_few_nodes(reader: RecordReader) -> bool:
    return reader.node_tally()["nodes"] <= MOST_NODES


def _statics(reader: RecordReader) -> list[StaticLine]:
    found: dict[str, list[bool]] = {}
    for node in reader.nodes():
        for name, volume in node.host_volumes.items():
            if not volume.id:
                found.setdefault(name, []).append(volume.read_only)
    return [
        StaticLine(name=name, nodes=len(kinds), read_only=sum(kinds))
        for name, kinds in sorted(found.items())
    ]


def _plugins(reader: RecordReader) -> list[str]:
    head, tail = plugin_attribute("\0").split("\0")
    return sorted(
        {
            key.removeprefix(head).removesuffix(tail)
            for node in reader.nodes()
            for key in node.attributes
            if key.startswith(head) and key.endswith(tail)
        }
    )


def _why(volume: DynamicVolume) -> str:
    """What its state means for those who ask for it."""
    if volume.state is VolumeState.READY:
        return gettext(
            "Its node has it: groups of the namespace that ask for it are placed there."
        )
    if volume.state is VolumeState.PENDING:
        return gettext("Its node has not told of it yet: groups that ask for it wait.")
    return gettext("Its node is down, gone, or no longer has it: groups that ask for it wait.")
