"""The page of each evaluation."""

from functools import partial

from django.http import HttpRequest, HttpResponse

from dashboard.page import document, page, read, shown
from dashboard.queries.capsule import capsule_file
from dashboard.queries.evaluation import evaluation_page
from dashboard.queries.explain import ExplainAsk, explain_page
from dashboard.viewer import Viewer


@page
async def evaluation(request: HttpRequest, viewer: Viewer, eval_id: str) -> HttpResponse:
    """One evaluation; a collected one answers 404 with what its stub kept."""
    query = partial(evaluation_page, eval_id=eval_id)
    return await shown(request, viewer, "dashboard/evaluation.html", query)


@page
async def explain(request: HttpRequest, viewer: Viewer, eval_id: str) -> HttpResponse:
    """Why one group of it waits, node by node, then and now."""
    clock = request.clock  # type: ignore[attr-defined]  # set by request_context
    query = partial(
        explain_page, eval_id=eval_id, asked=ExplainAsk.from_query(request.GET), clock=clock
    )
    return await shown(request, viewer, "dashboard/explain.html", query)


@document
async def capsule(_request: HttpRequest, viewer: Viewer, eval_id: str) -> HttpResponse:
    """What the scheduler saw when it decided, for `manage.py evaluate`."""
    found = await read(viewer, partial(capsule_file, eval_id=eval_id))
    if found is None:
        return HttpResponse("not found\n", status=404, content_type="text/plain")
    name = f"capsule-{eval_id[:8]}.json"
    return HttpResponse(
        found["json"],
        content_type="application/json",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
