"""The chain an evaluation belongs to: as a page, as Mermaid text, as JSON."""

from functools import partial

from django.http import HttpRequest, HttpResponse

from dashboard.page import document, page, read, shown
from dashboard.queries.chain import chain_page, chain_record
from dashboard.viewer import Viewer

_TYPES = {"mmd": "text/plain; charset=utf-8", "json": "application/json"}


@page
async def chain(request: HttpRequest, viewer: Viewer, eval_id: str) -> HttpResponse:
    """Graph, tree and table of one chain."""
    query = partial(
        chain_page,
        eval_id=eval_id,
        view=request.GET.get("view", ""),
        is_tidy=request.GET.get("layout") == "tidy",
    )
    return await shown(request, viewer, "dashboard/chain.html", query)


@document
async def chain_file(
    _request: HttpRequest, viewer: Viewer, eval_id: str, form: str
) -> HttpResponse:
    """The same for scripts: `.mmd` or `.json`."""
    record = await read(viewer, partial(chain_record, eval_id=eval_id))
    if form not in _TYPES or record is None:
        return HttpResponse("not found\n", status=404, content_type="text/plain")
    return HttpResponse(record[form], content_type=_TYPES[form])
