"""The list of evaluations, and the page of each."""

from functools import partial

from django.http import HttpRequest, HttpResponse

from dashboard.page import page, shown
from dashboard.queries.evaluation import evaluation_page
from dashboard.queries.evaluations import EvaluationFilter, evaluations_page
from dashboard.viewer import Viewer


@page
async def evaluations(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Newest first, narrowed by what the address says."""
    wanted = EvaluationFilter.from_query(request.GET)
    query = partial(evaluations_page, wanted=wanted)
    return await shown(request, viewer, "dashboard/evaluations.html", query)


@page
async def evaluation(request: HttpRequest, viewer: Viewer, eval_id: str) -> HttpResponse:
    """One evaluation; a collected one answers 404 with what its stub kept."""
    query = partial(evaluation_page, eval_id=eval_id)
    return await shown(request, viewer, "dashboard/evaluation.html", query)
