"""The record as one file through the API: `nomad operator snapshot save` and `restore`.

In: a caller who may read every secret's hash, or change everything. Out: the archive, streamed,
with its digest; or the record as it was. The file is that of `manage.py backup`.
"""

import asyncio
import base64
import hashlib
import logging
import shutil
import tempfile
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from django.db import connections
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse

from cluster.api.request import Call
from cluster.api.respond import INDEX, KNOWN_LEADER, LAST_CONTACT, answer_write
from cluster.operations.audit import note_done
from cluster.operations.errors import Conflict, OperationRefused
from cluster.operations.rights import require_management, require_operator
from cluster.store.access import the_store
from cluster.store.audit_entries import Act, AuditEntry, actor_of, entry_of
from cluster.store.backup.archive import BadArchive, Contents, made_at
from cluster.store.backup.dump import write_backup
from cluster.store.backup.restore import Restored
from cluster.store.backup.swap import Noted, swap_record
from cluster.store.backup.tables import NewerRecord
from cluster.store.faults import RecordAway
from scheduler.structs.wire import Nanoseconds

_PIECE = 256 * 1024
#: What the reference says before every reason.
_NOT_RESTORED = "failed to restore from snapshot: "

log = logging.getLogger(__name__)
_restoring = threading.Lock()


class SnapshotRefused(OperationRefused):
    """The body is no snapshot that can be put back; the status is the reference's."""

    status = 500


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
    """PUT /v1/operator/snapshot: the record as it was, under everybody who works with it."""
    require_management(call.caller)

    def noted(contents: Contents, index: int) -> AuditEntry:
        detail = f"made {made_at(contents):%Y-%m-%d %H:%M:%S} UTC at index {contents.index}"
        act = Act("restore snapshot", detail=detail)
        return entry_of(actor_of(call.caller), act, at=call.now, made_index=index)

    done = await asyncio.to_thread(_put_back, _body_of(call), call.now, noted)
    response = answer_write(call.request, None, done.index)
    made = f"{made_at(done.contents):%Y-%m-%dT%H:%M:%SZ}"
    response["X-Bivouac-Restored"] = f"tokens, policies and accounts are those of {made}"
    return response


def _body_of(call: Call) -> IO[bytes]:
    """As it came, piece by piece: `Call.raw_body` would hold all of it, and takes far less."""
    body: Any = call.request
    return cast("IO[bytes]", body)


def _put_back(body: IO[bytes], now: Nanoseconds, noted: Noted) -> Restored:
    """Carried out whole even where the caller hangs up meanwhile.

    On a thread of its own, as `_written`. Raises Conflict while another one is under way.
    """
    if not _restoring.acquire(blocking=False):
        raise Conflict("another snapshot is being restored")
    try:
        with tempfile.TemporaryDirectory(prefix="bivouac-snapshot-") as place:
            file = Path(place) / "snapshot"
            try:
                with file.open("wb") as kept:
                    shutil.copyfileobj(body, kept, _PIECE)
            except OSError as error:
                raise RecordAway(f"the snapshot cannot be kept: {error.strerror}") from None
            try:
                done = swap_record(file, now=now, noted=noted, alias=the_store().alias)
            except (BadArchive, NewerRecord) as error:
                reason = str(error).replace(str(file), "the snapshot")
                raise SnapshotRefused(_NOT_RESTORED + reason) from None
    finally:
        _restoring.release()
        connections.close_all()
    log.warning(
        "action=restore_snapshot index=%d made_at_index=%d", done.index, done.contents.index
    )
    the_store().announce(done.index)
    return done


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
