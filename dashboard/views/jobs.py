"""Pages of jobs: the list, and one job."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from cluster.store.ports import RecordReader
from dashboard.page import key_in, page, shown
from dashboard.queries.job import JobWish, job_page
from dashboard.queries.jobs import PAGE_SIZE, jobs_told, list_jobs
from dashboard.viewer import Viewer


@page
async def jobs(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /jobs/, by prefix (`q`) and namespace, a page at a time (`after`)."""
    prefix = request.GET.get("q", "").strip()
    after = request.GET.get("after", "")
    wanted = request.GET.get("namespace", "")
    namespaces = viewer.namespaces
    if wanted:
        namespaces = frozenset({wanted}) if viewer.sees(wanted) else frozenset()

    def query(reader: RecordReader, viewer: Viewer) -> dict[str, Any]:
        found = list_jobs(reader, namespaces, prefix=prefix, after=after)
        return {
            "jobs": found,
            "prefix": prefix,
            "after": after,
            "wanted": wanted,
            "told": jobs_told(reader.job_count(namespaces)),
            "page_size": PAGE_SIZE,
            "has_namespaces": viewer.namespaces is None or len(viewer.namespaces) > 1,
            "live_topics": f"jobs:{wanted or '*'}",
            "namespace": wanted,
        }

    return await shown(request, viewer, "dashboard/jobs.html", query)


@page
async def job(
    request: HttpRequest, viewer: Viewer, namespace: str = "", job_id: str = ""
) -> HttpResponse:
    """GET /jobs/<namespace>/<id>/, and /jobs/named/?namespace=&id= for ids no path can hold."""
    key = key_in(request, namespace, job_id)
    asked = JobWish(
        tab=request.GET.get("tab", ""),
        compared=(request.GET.get("from", ""), request.GET.get("to", "")),
        token=request.ids.next_id(),  # type: ignore[attr-defined]  # set by request_context
    )
    return await shown(
        request,
        viewer,
        "dashboard/job.html",
        lambda reader, viewer: job_page(reader, viewer, key, asked),
    )
