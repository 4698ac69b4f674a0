"""Pages of allocations: one allocation, and the output of its tasks as a stream."""

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.translation import gettext

from cluster.operations.agent_calls import NOT_STARTED, call_agent
from cluster.operations.errors import NotAllowed, OperationRefused
from cluster.store.access import the_store
from dashboard.agent_streams import attached, streamed
from dashboard.page import page, shown
from dashboard.queries.allocation import allocation_page
from dashboard.viewer import Viewer
from scheduler.structs.allocation import Allocation

#: Bytes of what was written before the page was opened.
_TAIL = 50_000
_NOT_YET = 202
_TEXT = "text/plain; charset=utf-8"


@page
async def allocation(request: HttpRequest, viewer: Viewer, alloc_id: str) -> HttpResponse:
    """GET /allocations/<id>/."""
    return await shown(
        request,
        viewer,
        "dashboard/allocation.html",
        lambda reader, viewer: allocation_page(reader, viewer, alloc_id),
    )


@page
async def logs(request: HttpRequest, viewer: Viewer, alloc_id: str) -> HttpResponseBase:
    """GET /allocations/<id>/logs?task=&type=: the newest output, then more as it is written.

    202 with the reason while there is none: the task did not start, or its node is out of reach.
    With `download` all of it that is kept, as a file.
    """
    alloc = await the_store().aread(lambda reader: reader.allocation(alloc_id))
    if alloc is None or not viewer.sees(alloc.namespace):
        return HttpResponse(
            gettext("There is no such allocation."), status=404, content_type=_TEXT
        )
    is_file = "download" in request.GET
    body: dict[str, object] = {
        "AllocID": alloc.id,
        "Task": request.GET.get("task", ""),
        "Type": request.GET.get("type", "stdout"),
        "Follow": request.GET.get("follow", "true") == "true" and not is_file,
        "Plain": True,
        "Origin": "start" if is_file else "end",
        "Offset": 0 if is_file else _TAIL,
    }
    try:
        response = await streamed(call_agent(alloc, "logs", body, by=viewer.caller), _TEXT)
    except NotAllowed as refused:
        told = gettext("You may not read its output; the right for it is {missing}.").format(
            missing=refused.missing
        )
        return HttpResponse(told, status=refused.status, content_type=_TEXT)
    except OperationRefused as refused:
        # The allocation is there; its output may be in a moment. No fault to report in a browser.
        return _none_yet(alloc, str(body["Task"]), str(refused))
    return attached(response, f"{body['Task']}.{body['Type']}.log") if is_file else response


def _none_yet(alloc: Allocation, task: str, refused: str) -> HttpResponse:
    """Why there is no output; with `Retry-After` as long as asking again may bring some."""
    state = alloc.task_states.get(task)
    if state is not None and state.started_at and NOT_STARTED in refused:
        # It did start: its node, or its driver, keeps nothing of what it writes.
        why = gettext("no output is kept of this task")
        return HttpResponse(why, status=_NOT_YET, content_type=_TEXT)
    if alloc.is_client_terminal and NOT_STARTED in refused:
        why = gettext("this task never started: there is no output")
        return HttpResponse(why, status=_NOT_YET, content_type=_TEXT)
    answer = HttpResponse(
        gettext("waiting: {refused}").format(refused=refused), status=_NOT_YET, content_type=_TEXT
    )
    answer["Retry-After"] = "1"
    return answer
