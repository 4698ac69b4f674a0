"""Registered services (doors.md 8): by namespace, by name with a choice, of jobs and allocations.

In: a name. Out: where it is offered. Reading asks for `read-job`, or for being a workload.
"""

from collections import defaultdict
from typing import Any

from django.http import HttpResponse

from cluster.api.blocking_read import answer_read
from cluster.api.encode import to_plain
from cluster.api.paging import BY_ID, page_of, read_listing
from cluster.api.request import Call
from cluster.api.respond import Found, answer_write
from cluster.api.watches import watch_table
from cluster.operations.errors import NotAllowed, OperationRefused
from cluster.operations.services import chosen_services, delete_service
from cluster.store.ports import RecordReader
from scheduler.access.access import EVERY_NAMESPACE
from scheduler.ports import StateReader
from scheduler.state.service_noun import SERVICES
from scheduler.structs.service_registration import ServiceRegistration

_TABLE = SERVICES.table_index


async def list_services(call: Call) -> HttpResponse:
    """GET /v1/services: names with all their tags in order, by namespace."""
    _require_reading(call)

    def work(reader: RecordReader) -> Found:
        body = _names(call, reader)
        return Found(index=reader.table_index(_TABLE), body=body)

    return await answer_read(call, work, watch_table(_TABLE))


async def service_instances(call: Call, name: str) -> HttpResponse:
    """GET /v1/service/<name>: where it is offered; with `choose` some of that."""
    _require_reading(call)
    if not name:
        raise OperationRefused("missing service name")
    listing = read_listing(call.query)
    choice = call.query.get("choose", "")

    def work(reader: RecordReader) -> Found:
        namespace = call.namespace
        if namespace == EVERY_NAMESPACE:
            every = (row for row in reader.list_all(SERVICES) if row.service_name == name)
            found = [row for row in every if call.allows(row.namespace, "read-job")]
        else:
            found = list(reader.list_by(SERVICES, "name", (namespace, name)))
        page = page_of(found, listing, BY_ID)
        rows = chosen_services(page.items, choice) if choice else page.items
        return Found(
            index=reader.table_index(_TABLE),
            body=[to_plain(row) for row in rows],
            next_token=page.next_token,
        )

    return await answer_read(call, work, watch_table(_TABLE))


async def remove_service(call: Call, name: str, service_id: str) -> HttpResponse:
    """DELETE /v1/service/<name>/<id>: by the id alone."""
    call.require("submit-job", "delete-service-registration")
    del name
    index = await call.write_to(delete_service, call.namespace, service_id, ids=False)
    return answer_write(call.request, None, index)


async def too_many_parts(call: Call) -> HttpResponse:
    """GET, PUT, DELETE /v1/service/<name>/<id>/<more>."""
    _require_reading(call)
    raise OperationRefused("invalid URI")


def services_of(reader: StateReader, alloc_id: str) -> Found:
    """What GET /v1/allocation/<id>/services tells of an allocation that may be read."""
    found = reader.list_by(SERVICES, "alloc", alloc_id)
    return Found(index=reader.table_index(_TABLE), body=forms(found))


def forms(rows: Any) -> list[dict[str, Any]]:
    """Registrations as the API shows them, by id."""
    return [to_plain(row) for row in sorted(rows, key=lambda row: row.id)]


def _require_reading(call: Call) -> None:
    access = call.caller.access
    if call.namespace == EVERY_NAMESPACE or access.is_workload:
        return
    if not call.allows(call.namespace, "read-job"):
        raise NotAllowed(missing=f"read-job in namespace {call.namespace}")


def _names(call: Call, reader: RecordReader) -> list[dict[str, Any]]:
    rows: list[ServiceRegistration] = (
        list(reader.list_all(SERVICES))
        if call.namespace == EVERY_NAMESPACE
        else list(reader.list_by(SERVICES, "namespace", call.namespace))
    )
    tags: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in rows:
        if call.namespace == EVERY_NAMESPACE and not call.allows(row.namespace, "read-job"):
            continue
        tags[row.namespace][row.service_name].update(row.tags)
    return [
        {
            "Namespace": namespace,
            "Services": [
                {"ServiceName": name, "Tags": sorted(found)}
                for name, found in sorted(of_namespace.items())
            ],
        }
        for namespace, of_namespace in sorted(tags.items())
    ]
