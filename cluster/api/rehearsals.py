"""Rehearsals: what would happen, asked of the real scheduler on a copy of the cluster.

In: a call. Out: the id of a rehearsal that waits for its turn; how far one is; what it found, with
the names of work that the caller may not read left out.
"""

from typing import Any

import msgspec
from django.conf import settings
from django.http import HttpResponse

from cluster.api.blocking_read import answer_read
from cluster.api.encode import to_plain
from cluster.api.paging import BY_ID, page_of, read_listing
from cluster.api.request import Call
from cluster.api.respond import Found, answer_write
from cluster.api.watches import watch_row, watch_table
from cluster.operations.rehearsals import NOT_FOUND, cancel_rehearsal
from cluster.operations.rights import require_reads
from cluster.rehearsal.asking import ask_to_rehearse
from cluster.rehearsal.rights import may_see_scenario
from cluster.rehearsal.scenario_form import read_scenario
from cluster.rehearsal.wire import for_reader, unpack
from cluster.store.ports import RecordReader
from scheduler.access.access import Access
from scheduler.state.rehearsal_noun import REHEARSALS
from scheduler.structs.rehearsal import StoredRehearsal

_TABLE = "rehearsals"


async def ask(call: Call) -> HttpResponse:
    """PUT /v1/rehearsals: one change, or several as `Changes`."""
    document = call.body("Rehearsal").document
    asked = await call.write(
        ask_to_rehearse,
        document,
        keep=settings.BIVOUAC_REHEARSALS,
        keep_hours=settings.BIVOUAC_REHEARSAL_HOURS,
    )
    body = {"ID": asked.id, "Index": asked.modify_index}
    return answer_write(call.request, body, asked.modify_index)


async def list_all(call: Call) -> HttpResponse:
    """GET /v1/rehearsals: without what they found."""
    require_reads(call.caller, "node")
    listing = read_listing(call.query)

    def work(reader: RecordReader) -> Found:
        rows = (row for row in reader.list_all(REHEARSALS) if row.id.startswith(listing.prefix))
        page = page_of(rows, listing, BY_ID)
        access = call.caller.access
        return Found(
            index=reader.table_index(_TABLE),
            body=[form_of(row, access) for row in page.items],
            next_token=page.next_token,
        )

    return await answer_read(call, work, watch_table(_TABLE))


async def read(call: Call, rehearsal_id: str) -> HttpResponse:
    """GET /v1/rehearsal/<id>: with what it found, once it is complete."""
    require_reads(call.caller, "node")

    def work(reader: RecordReader) -> Found:
        row = reader.get(REHEARSALS, rehearsal_id)
        if row is None:
            return Found(index=reader.table_index(_TABLE), missing=NOT_FOUND)
        access = call.caller.access
        body = form_of(row, access)
        body["Result"] = to_plain(for_reader(unpack(row.packed), access)) if row.packed else None
        return Found(index=row.modify_index, body=body)

    return await answer_read(call, work, watch_row(_TABLE, rehearsal_id))


async def cancel(call: Call, rehearsal_id: str) -> HttpResponse:
    """DELETE /v1/rehearsal/<id>: end it, or forget one that has ended."""
    canceled = await call.write(cancel_rehearsal, rehearsal_id, ids=False)
    return answer_write(call.request, None, canceled.modify_index)


def form_of(row: StoredRehearsal, access: Access) -> dict[str, Any]:
    """A rehearsal without what it found."""
    form: dict[str, Any] = to_plain(row)
    form.pop("Packed")
    document = msgspec.json.decode(row.scenario)
    told = may_see_scenario(access, read_scenario(document))
    form["Scenario"] = document if told else None
    return form
