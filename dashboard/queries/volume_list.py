"""The list of host volumes that were made on demand.

In: volumes as they are stored. Out: their ListKind. Where a volume is, is told by the node's name
to those who may look at nodes, to others by its id, as `/v1` does it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext

from cluster.store.ports import RecordReader
from dashboard.queries import volumes
from dashboard.queries.list_kind import (
    Facet,
    ListColumn,
    ListField,
    ListKind,
    ListOrder,
    column_facet,
    of_all,
)
from dashboard.queries.on_nodes import NODE, nodes_beside
from dashboard.texts import plural
from dashboard.wording import count_of, number
from scheduler.state.events import Topic
from scheduler.state.volume_nouns import HOST_VOLUMES
from scheduler.structs.host_volume import DynamicVolume, VolumeState

#: A volume that no plugin made, as the facet calls it: no plugin has such a name.
_REGISTERED = "(registered)"


def _rows(reader: RecordReader, found: Sequence[DynamicVolume], _now: int) -> Mapping[str, Any]:
    reader.preload(nodes={each.node_id for each in found})
    return {
        each.id: {"line": volumes.volume_line(each, reader.node(each.node_id))} for each in found
    }


def _rows_without_nodes(
    _reader: RecordReader, found: Sequence[DynamicVolume], _now: int
) -> Mapping[str, Any]:
    return {each.id: {"line": volumes.volume_line(each, None)} for each in found}


def _told(counts: Mapping[str, int], total: int) -> str:
    if not total:
        return gettext("No volume that you may look at.")
    told = count_of(total, "{count} volume", "{count} volumes")
    pending, lost = counts.get("pending", 0), counts.get("unavailable", 0)
    if not pending and not lost:
        return gettext("{volumes}; every one is ready.").format(volumes=told)
    waiting = [
        gettext("{pending} pending").format(pending=number(pending)) if pending else "",
        gettext("{lost} unavailable").format(lost=number(lost)) if lost else "",
    ]
    return f"{told}; {', '.join(filter(None, waiting))}."


VOLUMES = ListKind(
    example="PluginID == \"mkdir\" and State != \"ready\"",
    name="volumes", one="volume", noun=HOST_VOLUMES,
    counts=plural("{count} volume", "{count} volumes"),
    capability=volumes.READ,
    topics=frozenset({HOST_VOLUMES.topic, Topic.NODE}),
    orders={
        "name": ListOrder("Volume"),
        "state": ListOrder("State", ("state",)),
        "plugin": ListOrder("Made by", ("plugin_id",)),
        "made": ListOrder("Made", ("create_index",), is_down=True),
    },
    columns=(
        ListColumn("Volume", "", "name"), ListColumn("State", "m", "state"),
        ListColumn("Namespace", "m"), ListColumn("Node", "l"),
        ListColumn("Made by", "m", "plugin"), ListColumn("Size", "s", is_number=True),
        ListColumn("Made", "m", "made", is_number=True),
    ),
    facets=(
        column_facet("status", "State", "state",
                     {each.value: each.value for each in VolumeState}, is_open=True),
        Facet("plugin", "Made by", lambda cells: str(cells["plugin_id"]) or _REGISTERED,
              lambda value: {"plugin_id": "" if value == _REGISTERED else value},
              column="plugin_id"),
        column_facet("namespace", "Namespace"), NODE,
    ),
    counted=("state", "plugin_id", "namespace"),
    beside=nodes_beside(HOST_VOLUMES),
    fields=(ListField("named", "Name or id begins with", lambda text: {"named": text}),),
    rows_of=of_all(_rows), rows_without_nodes=of_all(_rows_without_nodes),
    template="dashboard/partials/_volume_row.html", container="volume-rows", sentence=_told,
    empty=("pool", "No volume",
           ("A directory of one node, made for the jobs of a namespace and kept until it is"
            " deleted.")),
)  # fmt: skip
