"""The record as one file through the API: `nomad operator snapshot save`, and why not `restore`.

In: a caller who may read every secret's hash. Out: the archive, streamed, with its digest. It is
the file of `manage.py backup`; putting one back needs a cluster that stands still.
"""

import asyncio
import base64
import hashlib
import tempfile
from collections.abc import AsyncIterator
from typing import Any, BinaryIO

from django.db import connections
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse

from cluster.api.request import Call
from cluster.api.respond import INDEX, KNOWN_LEADER, LAST_CONTACT, refusal
from cluster.operations.audit import note_done
from cluster.operations.rights import require_management, require_operator
from cluster.store.access import the_store
from cluster.store.audit_entries import Act, actor_of
from cluster.store.backup.dump import write_backup
from scheduler.structs.wire import Nanoseconds

_PIECE = 256 * 1024
#: Agents, workers and pages would each follow a record that changed behind their back.
_STOP_FIRST = (
    "a running cluster cannot take in a snapshot: stop `up` on every server machine, run"
    " `manage.py restore FILE --replace` there, and start it again; nothing was changed"
)


async def save(call: Call) -> HttpResponseBase:
    """GET /v1/operator/snapshot."""
    require_operator(call.caller, "snapshot-save")
    file, index, digest = await asyncio.to_thread(_written, call.now)
    # A read, but of everything.
    note_done(the_store(), actor_of(call.caller), Act("save snapshot"), at=call.now)
    response = StreamingHttpResponse(_pieces(file), content_type="application/x-gzip")
    response["Digest"] = f"sha-256={digest}"
    response[INDEX] = str(index)
    response[KNOWN_LEADER] = "true"
    response[LAST_CONTACT] = "0"
    return response


async def restore(call: Call) -> HttpResponse:
    """PUT /v1/operator/snapshot: refused, and says what to do instead."""
    require_management(call.caller)
    return refusal(501, _STOP_FIRST)


def _written(now: Nanoseconds) -> tuple[BinaryIO, int, str]:
    """The archive in a file without a name, at its beginning.

    On a thread of its own, which keeps no connection: those of readers are for short questions.
    """
    file: Any = tempfile.TemporaryFile()  # noqa: SIM115 - closed by whoever streams it
    try:
        contents = write_backup(file, now=now, alias=the_store().alias)
    finally:
        connections.close_all()
    file.seek(0)
    found = hashlib.file_digest(file, "sha256")
    file.seek(0)
    return file, contents.index, base64.b64encode(found.digest()).decode()


async def _pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    with file:
        while piece := await asyncio.to_thread(file.read, _PIECE):
            yield piece
