"""Nodes and node pools: reads, drain, eligibility, re-evaluation, purge."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse

from cluster.api.blocking_read import answer_read
from cluster.api.body import Body
from cluster.api.encode import to_plain
from cluster.api.paging import (
    ListRequest,
    Rows,
    check_uuid,
    count_of_rows,
    page_of_rows,
    read_listing_by_uuid,
)
from cluster.api.parameters import read_flag
from cluster.api.request import Call
from cluster.api.respond import INDEX, Found, answer_write
from cluster.api.server_facts import rpc_address, server_info
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
from cluster.operations.rights import require_reads
from cluster.store.ports import RecordReader
from scheduler.state import nouns
from scheduler.state.writes.node_drain import DrainNote
from scheduler.structs.node import DrainStrategy, Node

NOT_FOUND = "node not found"
_LOOKUP = "node lookup failed: "
#: As a deadline (ns): what is on the node is moved at once.
_AT_ONCE = -1_000_000_000


async def list_nodes(call: Call) -> HttpResponse:
    """GET /v1/nodes."""
    require_reads(call.caller, "node")
    return await answer_nodes(call, read_listing_by_uuid(call.query, _LOOKUP), {})


async def answer_nodes(
    call: Call, listing: ListRequest, equals: Mapping[str, str]
) -> HttpResponse:
    """A list of the nodes whose columns have these values."""
    with_resources = read_flag(call.query, "resources") or False
    with_os = read_flag(call.query, "os") or False

    def stub(node: Node) -> dict[str, Any]:
        return node_stub(node, with_resources=with_resources, with_os=with_os)

    def work(reader: RecordReader) -> Found:
        page = page_of_rows(reader, Rows(noun=nouns.NODES, equals=equals), listing, stub)
        index = reader.table_index("nodes")
        return Found(index=index, body=page.items, next_token=page.next_token)

    return await answer_read(call, work, watch_table("nodes"))


async def read_node(call: Call, node_id: str) -> HttpResponse:
    """GET /v1/node/<id>."""
    require_reads(call.caller, "node")
    check_uuid(node_id, _LOOKUP)

    def work(reader: RecordReader) -> Found:
        node = reader.node(node_id)
        if node is None:
            return Found(index=reader.table_index("nodes"), missing=NOT_FOUND)
        return Found(index=node.modify_index, body=to_plain(node))

    return await answer_read(call, work, watch_row("nodes", node_id), short=True)


async def node_allocations(call: Call, node_id: str) -> HttpResponse:
    """GET /v1/node/<id>/allocations: whole, with their jobs."""
    require_reads(call.caller, "node")

    def work(reader: RecordReader) -> Found:
        allocations = [
            alloc
            for alloc in reader.allocations_by_node(node_id)
            if call.allows(alloc.namespace, "read-job")
        ]
        newest = max((alloc.modify_index for alloc in allocations), default=0)
        return Found(
            index=newest or reader.table_index("allocations"),
            body=[allocation_form(reader, alloc) for alloc in allocations],
        )

    return await answer_read(call, work, watch_row("allocations", node_id))


async def drain(call: Call, node_id: str) -> HttpResponse:
    """PUT /v1/node/<id>/drain; older clients send `?enable=` and no body."""
    if not call.raw_body.strip() and "enable" in call.query:
        return await _drain_by_flag(call, node_id)
    body = call.body("NodeUpdateDrainRequest")
    request = DrainRequest(
        strategy=_strategy(body.nested("DrainSpec")),
        mark_eligible=body.flag("MarkEligible"),
        note=DrainNote(accessor_id=call.caller.id, meta=body.texts("Meta")),
    )
    written = await call.write_to(drain_node, node_id, request)
    return answer_write(call.request, _update_form(written), written.index)


async def _drain_by_flag(call: Call, node_id: str) -> HttpResponse:
    """The form from before drains had a deadline: move all at once, or place there again."""
    enables = read_flag(call.query, "enable") is True
    request = DrainRequest(
        strategy=DrainStrategy(deadline=_AT_ONCE) if enables else None,
        mark_eligible=not enables,
        note=DrainNote(accessor_id=call.caller.id),
    )
    written = await call.write_to(drain_node, node_id, request)
    return answer_write(call.request, _update_form(written), written.index)


async def set_eligibility(call: Call, node_id: str) -> HttpResponse:
    """PUT /v1/node/<id>/eligibility."""
    wanted = call.body("NodeUpdateEligibilityRequest").text("Eligibility")
    written = await call.write_to(set_node_eligibility, node_id, wanted)
    form = _update_form(written) | {"NodeModifyIndex": 0}
    response = answer_write(call.request, form, written.index)
    # Told even where nothing changed, as 0 (recorded).
    response[INDEX] = str(written.index)
    return response


async def evaluate(call: Call, node_id: str) -> HttpResponse:
    """PUT /v1/node/<id>/evaluate; the answer also says what a node is told of the servers."""
    written = await call.write_to(evaluate_node, node_id)
    every = Rows(noun=nouns.NODES)
    node_count = await call.read(lambda reader: count_of_rows(reader, every, ListRequest()))
    told = {
        "LeaderRPCAddr": rpc_address(),
        "NumNodes": node_count,
        "SchedulingEligibility": written.node.scheduling_eligibility,
        "Servers": [server_info()],
    }
    return _evaluations_written(call, written, told)


async def purge(call: Call, node_id: str) -> HttpResponse:
    """PUT /v1/node/<id>/purge: a node that is gone is told of no servers."""
    return _evaluations_written(call, await call.write_to(purge_node, node_id), {})


def _evaluations_written(call: Call, written: NodeWritten, told: dict[str, Any]) -> HttpResponse:
    form = _update_form(written) | {
        "HeartbeatTTL": 0,
        "Features": 0,
        "KnownLeader": False,
        "LastContact": 0,
        "LeaderRPCAddr": "",
        "NextToken": "",
        "NumNodes": 0,
        "SchedulingEligibility": "",
        "Servers": None,
        "SignedIdentity": None,
    }
    form |= told
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
