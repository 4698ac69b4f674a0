"""Staged drains: many nodes, a few at a time; begin, look, cancel. Ours alone."""

from typing import Any

from django.http import HttpResponse

from cluster.api.blocking_read import answer_read
from cluster.api.encode import to_plain
from cluster.api.paging import BY_ID, page_of, read_listing
from cluster.api.parameters import read_flag
from cluster.api.request import Call
from cluster.api.respond import Found, answer_write
from cluster.api.watches import watch_row, watch_table
from cluster.operations.rights import require_reads, require_writes
from cluster.operations.staged_drains import (
    NOT_FOUND,
    StagedDrainRequest,
    cancel_staged_drain,
    start_staged_drain,
)
from cluster.store.ports import RecordReader
from scheduler.ports import StateReader
from scheduler.state.staged_drain_noun import STAGED_DRAINS
from scheduler.state.writes.staged_drains import under_way
from scheduler.structs.staged_drain import StagedDrain

_TABLE = STAGED_DRAINS.table_index


async def start(call: Call) -> HttpResponse:
    """PUT /v1/drains: nodes in the order in which they drain, and how many at once."""
    require_writes(call.caller, "node")
    body = call.body("StagedDrain")
    spec = body.nested("DrainSpec")
    request = StagedDrainRequest(
        node_ids=body.list_of_texts("NodeIDs"),
        at_once=body.number("AtOnce"),
        deadline=spec.duration("Deadline") if spec is not None else 0,
        ignore_system_jobs=spec is not None and spec.flag("IgnoreSystemJobs"),
        close_first=body.flag("CloseFirst"),
        meta=body.texts("Meta"),
    )
    drain = await call.write(start_staged_drain, request)
    told = {"ID": drain.id, "Index": drain.modify_index}
    return answer_write(call.request, told, drain.modify_index)


async def list_all(call: Call) -> HttpResponse:
    """GET /v1/drains."""
    require_reads(call.caller, "node")
    listing = read_listing(call.query)

    def work(reader: RecordReader) -> Found:
        rows = (row for row in reader.list_all(STAGED_DRAINS) if row.id.startswith(listing.prefix))
        page = page_of(rows, listing, BY_ID)
        return Found(
            index=reader.table_index(_TABLE),
            body=[_form(reader, row) for row in page.items],
            next_token=page.next_token,
        )

    return await answer_read(call, work, watch_table(_TABLE))


async def read(call: Call, drain_id: str) -> HttpResponse:
    """GET /v1/drain/<id>."""
    require_reads(call.caller, "node")

    def work(reader: RecordReader) -> Found:
        row = reader.get(STAGED_DRAINS, drain_id)
        if row is None:
            return Found(index=reader.table_index(_TABLE), missing=NOT_FOUND)
        return Found(index=row.modify_index, body=_form(reader, row))

    return await answer_read(call, work, watch_row(_TABLE, drain_id))


async def cancel(call: Call, drain_id: str) -> HttpResponse:
    """DELETE /v1/drain/<id>: nothing further begins, and what drains stops doing so."""
    eligible = read_flag(call.query, "mark_eligible") or False
    drain = await call.write(cancel_staged_drain, drain_id, mark_eligible=eligible)
    return answer_write(call.request, None, drain.modify_index)


def _form(reader: StateReader, drain: StagedDrain) -> dict[str, Any]:
    """With which of its nodes drain now, and which wait for their turn."""
    draining = under_way(reader, drain)
    return {**to_plain(drain), "Draining": draining, "Waiting": list(drain.waiting)}
