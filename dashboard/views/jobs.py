"""The page of one job."""

from django.http import HttpRequest, HttpResponse

from dashboard.page import key_in, page, shown
from dashboard.queries.job import JobWish, job_page
from dashboard.queries.own_text import OwnText
from dashboard.viewer import Viewer


@page
async def job(
    request: HttpRequest, viewer: Viewer, namespace: str = "", job_id: str = ""
) -> HttpResponse:
    """GET /jobs/<namespace>/<id>/, and /jobs/named/?namespace=&id= for ids no path can hold."""
    key = key_in(request, namespace, job_id)
    asked = JobWish(
        tab=request.GET.get("tab", ""),
        query=request.GET.dict(),
        compared=(request.GET.get("from", ""), request.GET.get("to", "")),
        own_text=OwnText() if "own" in request.GET else None,
        shown_as=request.GET.get("as", ""),
        token=request.ids.next_id(),  # type: ignore[attr-defined]  # set by request_context
    )
    return await shown(
        request,
        viewer,
        "dashboard/job.html",
        lambda reader, viewer: job_page(reader, viewer, key, asked),
    )
