"""GET of what was used over the past hour: an allocation, a machine, a job.

Beyond the reference. In: a request. Out: the rows that agents keep, as `cluster.operations.usage`
puts them together.
"""

import msgspec
from django.http import HttpResponse

from cluster.api.client_proxy import allocation_of, node_id_of
from cluster.api.jobs import NOT_FOUND
from cluster.api.request import Call
from cluster.api.respond import answer_json
from cluster.operations.errors import NotFound
from cluster.operations.rights import require_reads
from cluster.operations.usage import (
    MOST_ALLOCATIONS,
    allocation_usage,
    job_usage,
    node_usage,
)
from cluster.store.ports import RecordReader
from scheduler.structs.allocation import Allocation


async def of_allocation(call: Call, alloc_id: str) -> HttpResponse:
    """GET /v1/client/allocation/<id>/usage."""
    alloc = await allocation_of(call, alloc_id)
    told = await allocation_usage(alloc, by=call.caller)
    return answer_json(call.request, msgspec.to_builtins(told))


async def of_node(call: Call) -> HttpResponse:
    """GET /v1/client/usage?node_id=."""
    require_reads(call.caller, "node")
    node_id = await node_id_of(call, call.query.get("node_id", ""), NotFound)
    told = await node_usage(node_id, by=call.caller)
    return answer_json(call.request, msgspec.to_builtins(told))


async def of_job(call: Call, job_id: str) -> HttpResponse:
    """GET /v1/job/<id>/usage: of its running allocations together."""
    call.require("read-job")
    key = call.key_of_job(job_id)

    def read(reader: RecordReader) -> list[Allocation]:
        if reader.job(key) is None:
            raise NotFound(NOT_FOUND)
        return reader.open_allocations(key, MOST_ALLOCATIONS)

    told = await job_usage(await call.read(read), key.namespace, by=call.caller)
    return answer_json(call.request, msgspec.to_builtins(told))
