"""The list of services: each address at which an allocation offers one.

In: registrations as they are stored. Out: their ListKind. What checks found is not in the record:
a panel beside the list asks the agents (`service_checks`). Where an allocation runs is told by the
node's name to those who may look at nodes, to others by its id.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from django.utils.translation import gettext

from cluster.store.ports import Listing, RecordReader
from dashboard.queries.facets import MOST_VALUES
from dashboard.queries.list_kind import (
    BesideFound,
    Facet,
    ListColumn,
    ListField,
    ListKind,
    ListOrder,
    column_facet,
    of_all,
)
from dashboard.queries.list_wish import ListWish
from dashboard.queries.on_nodes import NODE, nodes_beside
from dashboard.texts import plural
from dashboard.wording import count_of
from scheduler.state.events import Topic
from scheduler.state.noun import Noun
from scheduler.state.service_noun import SERVICES as REGISTRATIONS
from scheduler.structs.allocation import Allocation
from scheduler.structs.service_registration import ServiceRegistration

_NOUN: Noun[Any, Any] = REGISTRATIONS
_SERVICE: Facet = column_facet("service", "Service", "service_name")._replace(
    is_beside=True, is_open=True
)


class ServiceLine(NamedTuple):
    """One address of a service."""

    service: ServiceRegistration
    address: str
    #: Empty of one that is gone.
    alloc_name: str
    #: Empty for those who may not look at nodes.
    node_name: str


def _rows(
    reader: RecordReader, found: Sequence[ServiceRegistration], _now: int, *, names_node: bool
) -> Mapping[str, Any]:
    reader.preload(allocs={each.alloc_id for each in found})
    return {
        each.id: {"line": _line(each, reader.allocation(each.alloc_id), names_node=names_node)}
        for each in found
    }


def _line(
    service: ServiceRegistration, alloc: Allocation | None, *, names_node: bool
) -> ServiceLine:
    host = f"[{service.address}]" if ":" in service.address else service.address
    node_name = (alloc.node_name if alloc is not None else "") or service.node_id[:8]
    return ServiceLine(
        service=service,
        address=f"{host}:{service.port}" if service.port else host,
        alloc_name=alloc.name if alloc is not None else "",
        node_name=node_name if names_node else "",
    )


def _beside(reader: RecordReader, wish: ListWish, listing: Listing) -> BesideFound:
    """The services that have most addresses; the nodes with most of them."""
    on_nodes = _ON_NODES(reader, wish, listing)
    counts = reader.facets(_NOUN, ("service_name",), listing, MOST_VALUES + 1)
    named = {str(name): count for (name,), count in counts.items()}
    shown = dict([*named.items()][:MOST_VALUES])
    chosen = wish.of(_SERVICE.name)
    if chosen:
        shown.setdefault(chosen, named.get(chosen, 0))
    services = {(_SERVICE.name, name): count for name, count in shown.items()}
    services[_SERVICE.name, ""] = on_nodes.counts[NODE.name, ""]
    return on_nodes._replace(
        counts={**services, **on_nodes.counts},
        further={*on_nodes.further, *([_SERVICE.name] if len(named) > MOST_VALUES else ())},
    )


_ON_NODES = nodes_beside(_NOUN)


def _told(_counts: Mapping[str, int], total: int) -> str:
    if not total:
        return gettext("No service is offered.")
    return gettext("Services are offered at {addresses}.").format(
        addresses=count_of(total, "{count} address", "{count} addresses")
    )


SERVICES = ListKind(
    example="ServiceName == \"web\" and Tags contains \"v2\"",
    name="services", one="address", noun=REGISTRATIONS,
    counts=plural("{count} address", "{count} addresses"),
    topics=frozenset({REGISTRATIONS.topic, Topic.NODE}),
    orders={
        "name": ListOrder("Service"),
        "job": ListOrder("Job", ("namespace", "job_id")),
    },
    columns=(
        ListColumn("Service", "", "name"), ListColumn("Address", "l"),
        ListColumn("Checks", "m"), ListColumn("Job", "l", "job"), ListColumn("Allocation", "l"),
        ListColumn("Node", "m"), ListColumn("Tags", "l"),
    ),
    facets=(column_facet("namespace", "Namespace"), _SERVICE, NODE),
    counted=("namespace",),
    fields=(
        ListField("q", "Service begins with", lambda text: {"prefix": text}),
        ListField("job", "Job", lambda text: {"equals": {"job_id": text}}),
    ),
    beside=_beside,
    rows_of=of_all(partial(_rows, names_node=True)),
    rows_without_nodes=of_all(partial(_rows, names_node=False)),
    template="dashboard/partials/_service_row.html", container="service-rows", sentence=_told,
    empty=("live", "No service is offered",
           ("A job offers one with a “service” block of provider “nomad” in a group or a task."
            " Each allocation that runs then has its address here, and other tasks find it by"
            " name.")),
)  # fmt: skip
