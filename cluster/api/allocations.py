"""Reads of allocations, and stopping one."""

import msgspec
from django.http import HttpResponse

from cluster.api.blocking_read import answer_read
from cluster.api.paging import Rows, check_uuid, page_of_rows, read_listing_by_uuid
from cluster.api.parameters import read_flag
from cluster.api.request import Call
from cluster.api.respond import Found, answer_write
from cluster.api.services import services_of
from cluster.api.stubs import allocation_form, allocation_stub
from cluster.api.watches import watch_row, watch_table
from cluster.operations.allocations import stop_allocation
from cluster.operations.rights import require
from cluster.store.ports import RecordReader
from scheduler.state import nouns
from scheduler.state.service_noun import SERVICES
from scheduler.structs.allocation import Allocation

_LOOKUP = "alloc lookup failed: "
NOT_FOUND = "alloc not found"


async def list_allocations(call: Call) -> HttpResponse:
    """GET /v1/allocations."""
    call.require("read-job")
    listing = read_listing_by_uuid(call.query, _LOOKUP)
    with_resources = read_flag(call.query, "resources") or False
    with_states = read_flag(call.query, "task_states") is not False

    def stub(alloc: Allocation) -> msgspec.Raw:
        # As text at once: a long list would hold all its allocations as objects otherwise.
        shown = allocation_stub(alloc, with_resources=with_resources, with_states=with_states)
        return msgspec.Raw(msgspec.json.encode(shown))

    def work(reader: RecordReader) -> Found:
        rows = Rows(noun=nouns.ALLOCATIONS, namespaces=call.listed(reader, "read-job"))
        page = page_of_rows(reader, rows, listing, stub)
        index = reader.table_index("allocations")
        return Found(index=index, body=page.items, next_token=page.next_token)

    return await answer_read(call, work, watch_table("allocations"))


async def read_allocation(call: Call, alloc_id: str) -> HttpResponse:
    """GET /v1/allocation/<id>, with its job."""
    check_uuid(alloc_id, _LOOKUP)

    def work(reader: RecordReader) -> Found:
        alloc = reader.allocation(alloc_id)
        # Whoever may not know of it is not told that it is there.
        if alloc is None or not call.allows(alloc.namespace, "read-job"):
            return Found(index=reader.table_index("allocations"), missing=NOT_FOUND)
        return Found(index=alloc.modify_index, body=allocation_form(reader, alloc))

    return await answer_read(call, work, watch_row("allocations", alloc_id), short=True)


async def allocation_services(call: Call, alloc_id: str) -> HttpResponse:
    """GET /v1/allocation/<id>/services."""

    def work(reader: RecordReader) -> Found:
        index = reader.table_index("allocations")
        alloc = reader.allocation(alloc_id)
        require(call.caller, call.namespace if alloc is None else alloc.namespace, "read-job")
        if alloc is None:
            return Found(index=index, missing="allocation not found")
        return services_of(reader, alloc_id)

    return await answer_read(call, work, watch_table(SERVICES.table_index))


async def stop(call: Call, alloc_id: str) -> HttpResponse:
    """PUT /v1/allocation/<id>/stop: the scheduler replaces it."""
    stopped = await call.write(
        stop_allocation,
        alloc_id,
        no_shutdown_delay=read_flag(call.query, "no_shutdown_delay") or False,
        reschedule=read_flag(call.query, "reschedule") or False,
    )
    body = {"EvalID": stopped.eval_id, "Index": stopped.index}
    return answer_write(call.request, body, stopped.index)
