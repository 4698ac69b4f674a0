"""Nodes and node pools: reads, drain, eligibility, re-evaluation, purge."""

from typing import Any

from django.http import HttpResponse

from cluster.api.blocking_read import answer_read
from cluster.api.body import Body
from cluster.api.encode import to_plain
from cluster.api.paging import (
    BY_NAME,
    Rows,
    check_uuid,
    page_of,
    page_of_rows,
    read_listing,
    read_listing_by_uuid,
)
from cluster.api.parameters import read_flag
from cluster.api.request import Call
from cluster.api.respond import Found, answer_write
from cluster.api.server_facts import server_info
from cluster.api.stubs import allocation_form, node_stub
from cluster.api.watches import watch_row, watch_table
from cluster.operations.errors import OperationRefused
from cluster.operations.nodes import (
    DrainRequest,
    NodeWritten,
    drain_node,
    evaluate_node,
    purge_node,
    set_node_eligibility,
)
from scheduler.ports import StateReader
from scheduler.state.writes.node_drain import DrainNote
from scheduler.structs.node import DrainStrategy, Node

NOT_FOUND = "node not found"
_LOOKUP = "node lookup failed: "


async def list_nodes(call: Call) -> HttpResponse:
    """GET /v1/nodes."""
    call.caller.require_cluster()
    listing = read_listing_by_uuid(call.query, _LOOKUP)
    with_resources = read_flag(call.query, "resources") or False
    with_os = read_flag(call.query, "os") or False

    def stub(node: Node) -> dict[str, Any]:
        return node_stub(node, with_resources=with_resources, with_os=with_os)

    def work(reader: StateReader) -> Found:
        page = page_of_rows(reader, Rows(table="nodes"), listing, stub)
        index = reader.table_index("nodes")
        return Found(index=index, body=page.items, next_token=page.next_token)

    return await answer_read(call, work, watch_table("nodes"))


async def read_node(call: Call, node_id: str) -> HttpResponse:
    """GET /v1/node/<id>."""
    call.caller.require_cluster()
    check_uuid(node_id, _LOOKUP)

    def work(reader: StateReader) -> Found:
        node = reader.node(node_id)
        if node is None:
            return Found(index=reader.table_index("nodes"), missing=NOT_FOUND)
        return Found(index=node.modify_index, body=to_plain(node))

    return await answer_read(call, work, watch_row("nodes", node_id))


async def node_allocations(call: Call, node_id: str) -> HttpResponse:
    """GET /v1/node/<id>/allocations: whole, with their jobs."""
    call.caller.require_cluster()

    def work(reader: StateReader) -> Found:
        allocations = [
            alloc
            for alloc in reader.allocations_by_node(node_id)
            if call.caller.sees(alloc.namespace)
        ]
        newest = max((alloc.modify_index for alloc in allocations), default=0)
        return Found(
            index=newest or reader.table_index("allocations"),
            body=[allocation_form(reader, alloc) for alloc in allocations],
        )

    return await answer_read(call, work, watch_row("allocations", node_id))


async def drain(call: Call, node_id: str) -> HttpResponse:
    """PUT /v1/node/<id>/drain."""
    call.caller.require_cluster(writes=True)
    body = call.body("NodeUpdateDrainRequest")
    request = DrainRequest(
        strategy=_strategy(body.nested("DrainSpec")),
        mark_eligible=body.flag("MarkEligible"),
        note=DrainNote(accessor_id=call.caller.accessor_id, meta=body.texts("Meta")),
    )
    written = await call.write(drain_node, node_id, request)
    return answer_write(call.request, _update_form(written), written.index)


async def set_eligibility(call: Call, node_id: str) -> HttpResponse:
    """PUT /v1/node/<id>/eligibility."""
    call.caller.require_cluster(writes=True)
    wanted = call.body("NodeUpdateEligibilityRequest").text("Eligibility")
    written = await call.write(set_node_eligibility, node_id, wanted)
    form = _update_form(written) | {"NodeModifyIndex": 0}
    return answer_write(call.request, form, written.index)


async def evaluate(call: Call, node_id: str) -> HttpResponse:
    """PUT /v1/node/<id>/evaluate."""
    return await _evaluations_written(call, evaluate_node, node_id)


async def purge(call: Call, node_id: str) -> HttpResponse:
    """PUT /v1/node/<id>/purge."""
    return await _evaluations_written(call, purge_node, node_id)


async def list_pools(call: Call) -> HttpResponse:
    """GET /v1/node/pools."""
    call.caller.require_cluster()
    listing = read_listing(call.query)

    def work(reader: StateReader) -> Found:
        pools = (pool for pool in reader.node_pools() if pool.name.startswith(listing.prefix))
        page = page_of(pools, listing, BY_NAME)
        index = reader.table_index("node_pools")
        return Found(
            index=index, body=[to_plain(pool) for pool in page.items], next_token=page.next_token
        )

    return await answer_read(call, work, watch_table("node_pools"))


async def read_pool(call: Call, name: str) -> HttpResponse:
    """GET /v1/node/pool/<name>."""
    call.caller.require_cluster()

    def work(reader: StateReader) -> Found:
        pool = reader.node_pool(name)
        if pool is None:
            missing = "node pool not found"
            return Found(index=reader.table_index("node_pools"), missing=missing)
        return Found(index=pool.modify_index, body=to_plain(pool))

    return await answer_read(call, work, watch_row("node_pools", name))


async def _evaluations_written(call: Call, operation: Any, node_id: str) -> HttpResponse:
    call.caller.require_cluster(writes=True)
    written = await call.write(operation, node_id)
    form = _update_form(written) | {
        "HeartbeatTTL": 0,
        "Features": 0,
        "KnownLeader": False,
        "LastContact": 0,
        "LeaderRPCAddr": "",
        "NextToken": "",
        "NumNodes": 0,
        "SchedulingEligibility": "",
        "Servers": [server_info()],
        "SignedIdentity": None,
    }
    return answer_write(call.request, form, written.index)


def _strategy(spec: Body | None) -> DrainStrategy | None:
    if spec is None:
        return None
    deadline, ignores = spec.number("Deadline"), spec.flag("IgnoreSystemJobs")
    if not -(2**63) <= deadline < 2**63:
        raise OperationRefused(
            f"json: cannot unmarshal number {deadline} into Go struct field"
            " DrainSpec.DrainSpec.Deadline of type time.Duration"
        )
    return DrainStrategy(deadline=deadline, ignore_system_jobs=ignores)


def _update_form(written: NodeWritten) -> dict[str, Any]:
    return {
        "NodeModifyIndex": written.node.modify_index if written.index else 0,
        "EvalIDs": list(written.eval_ids) or None,
        "EvalCreateIndex": written.eval_create_index,
        "Index": written.index,
    }
