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
from dashboard.rights import actions_in
from dashboard.viewer import Absent, Viewer, crumbs
from dashboard.wording import count_of
from scheduler.state.nouns import NAMESPACES
from scheduler.state.volume_nouns import HOST_VOLUMES, VOLUME_CLAIMS
from scheduler.state.writes.volumes import users_of
from scheduler.structs.host_volume import AccessMode, AttachmentMode, DynamicVolume, VolumeState
from scheduler.structs.identity import DEFAULT_NAMESPACE

READ, CREATE, DELETE = "host-volume-read", "host-volume-create", "host-volume-delete"
#: Rows of the list.
MOST_LISTED = 200
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


def volumes_page(reader: RecordReader, viewer: Viewer, *, named: str = "") -> dict[str, Any]:
    """The context of the list: volumes whose name, id or node begins so."""
    listed = sorted(_listed(reader, viewer), key=lambda each: (each.namespace, each.name, each.id))
    found = [each for each in listed if _is_named(reader, viewer, each, named)]
    reader.preload(nodes={each.node_id for each in found[:MOST_LISTED]})
    few_nodes = viewer.access.reads("node") and _has_few_nodes(reader)
    strong, rest = _told(listed, viewer.chosen)
    return {
        "lines": [_line(reader, viewer, each) for each in found[:MOST_LISTED]],
        "found": len(found),
        "left_out": max(len(found) - MOST_LISTED, 0),
        "there": len(listed),
        "named": named,
        "statics": _statics(reader) if few_nodes else [],
        "has_many_nodes": viewer.access.reads("node") and not few_nodes,
        "most_nodes": MOST_NODES,
        "strong": strong,
        "rest": rest,
        "crumbs": crumbs(("Volumes", "")),
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
    users = list(users_of(reader, volume))
    return {
        "volume": volume,
        "line": _line(reader, viewer, volume),
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


def _listed(reader: RecordReader, viewer: Viewer) -> list[DynamicVolume]:
    wanted = (
        reader.list_by(HOST_VOLUMES, "namespace", viewer.chosen)
        if viewer.chosen
        else reader.list_all(HOST_VOLUMES)
    )
    return [each for each in wanted if viewer.access.allows(each.namespace, READ)]


def _line(reader: RecordReader, viewer: Viewer, volume: DynamicVolume) -> VolumeLine:
    node = reader.node(volume.node_id) if viewer.access.reads("node") else None
    return VolumeLine(
        volume=volume,
        url=url_of(volume),
        tone=_STATES[volume.state],
        node=(node.name or node.id) if node else "",
        size=size_text(volume.capacity_bytes),
    )


def _is_named(reader: RecordReader, viewer: Viewer, volume: DynamicVolume, beginning: str) -> bool:
    if not beginning or volume.name.startswith(beginning) or volume.id.startswith(beginning):
        return True
    node = reader.node(volume.node_id) if viewer.access.reads("node") else None
    return node is not None and node.name.startswith(beginning)


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


def _told(listed: list[DynamicVolume], chosen: str) -> tuple[str, str]:
    """The strong clause, and the rest."""
    if not listed:
        return gettext("No volume that you may look at."), ""
    spaces = len({each.namespace for each in listed})
    strong = count_of(len(listed), "{count} volume", "{count} volumes")
    strong += (
        gettext(" in {chosen}.").format(chosen=chosen)
        if chosen
        else gettext(" in {namespace}.").format(
            namespace=count_of(spaces, "{count} namespace", "{count} namespaces")
        )
    )
    waiting = [each for each in listed if each.state is not VolumeState.READY]
    if not waiting:
        return strong, gettext("Every one is ready.")
    lost = sum(each.state is VolumeState.UNAVAILABLE for each in waiting)
    pending = len(waiting) - lost
    told = [
        gettext("{pending} pending").format(pending=pending) if pending else "",
        gettext("{lost} unavailable").format(lost=lost) if lost else "",
    ]
    return strong, f"{', '.join(filter(None, told))}."
