"""The audit: a page with filters, the same as lines of JSON, and whether there is anything new."""

from collections.abc import Iterator

import msgspec
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse

from cluster.store.access import the_store
from cluster.store.audit import read_audit, sum_up
from dashboard.page import document, page, shown
from dashboard.queries.audit import HOUR, PAGE_SIZE, AuditQuestion, audit_context
from dashboard.viewer import Viewer

#: Rows of one download; who needs more asks `manage.py audit`.
_MOST_LINES = 10_000


@page
async def audit(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /audit/: who did what, newest first."""
    asked = AuditQuestion.from_query(request.GET.dict())
    store = the_store()
    found = await store.aread_call(read_audit, asked.filter(viewer.now), limit=PAGE_SIZE)
    sums = await store.aread_call(sum_up, since=viewer.now - HOUR)
    context = audit_context(
        asked, found, sums, keep_days=settings.BIVOUAC_AUDIT_KEEP, now=viewer.now
    )
    return await shown(request, viewer, "dashboard/audit.html", lambda _reader, _viewer: context)


@page
async def newer(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """GET /audit/newer?above=: whether rows that fit came since."""
    asked = AuditQuestion.from_query(request.GET.dict())
    above = request.GET.get("above", "")
    place = int(above) if above.isdecimal() and len(above) < 19 else 0
    wanted = msgspec.structs.replace(asked.filter(viewer.now), above=place, below=0)
    found = await the_store().aread_call(read_audit, wanted, limit=PAGE_SIZE)
    return JsonResponse({"newer": len(found.rows), "is_all": not found.next_below})


@document
async def as_lines(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """GET /audit.json: the newest rows that fit, one JSON object per line."""
    wanted = AuditQuestion.from_query(request.GET.dict()).filter(viewer.now)
    found = await the_store().aread_call(read_audit, wanted, limit=_MOST_LINES)
    lines: Iterator[bytes] = (msgspec.json.encode(entry) + b"\n" for entry in found.rows)
    response = HttpResponse(b"".join(lines), content_type="application/x-ndjson")
    response["Content-Disposition"] = 'attachment; filename="audit.json"'
    return response
