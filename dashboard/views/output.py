"""The output of a task as a page that is searched without scripts."""

import asyncio
from functools import partial

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from cluster.operations.agent_calls import call_agent
from cluster.operations.errors import NotAllowed, OperationRefused
from cluster.store.access import the_store
from dashboard.page import page, shown
from dashboard.queries.output import SEARCHED, OutputWish, output_page
from dashboard.viewer import Viewer

#: Seconds that an agent may take to send what is searched.
_PATIENCE_S = 10.0


@page
async def output(request: HttpRequest, viewer: Viewer, alloc_id: str) -> HttpResponse:
    """GET /allocations/<id>/output/?task=&type=&find=&at=."""
    asked = request.GET
    alloc = await the_store().aread(lambda reader: reader.allocation(alloc_id))
    task = asked.get("task", "")
    if not task and alloc is not None:
        task = min(alloc.task_states or alloc.allocated_resources.tasks, default="")
    wish = OutputWish(
        task=task,
        type="stderr" if asked.get("type") == "stderr" else "stdout",
        find=asked.get("find", ""),
        at=asked.get("at", ""),
    )
    told, problem = None, ""
    if alloc is not None and viewer.sees(alloc.namespace):
        body: dict[str, object] = {
            "AllocID": alloc.id, "Task": wish.task, "Type": wish.type, "Plain": True,
            "Origin": "end", "Offset": SEARCHED,
        }  # fmt: skip
        try:
            async with asyncio.timeout(_PATIENCE_S):
                pieces = call_agent(alloc, "logs", body, by=viewer.caller)
                told = b"".join([piece async for piece in pieces])
        except NotAllowed as refused:
            problem = gettext(
                "You may not read its output; the right for it is {missing}."
            ).format(missing=refused.missing)
        except OperationRefused as refused:
            problem = gettext("There is none to be had: {refused}.").format(refused=refused)
        except TimeoutError:
            problem = gettext("Its node takes too long to send it. Try again.")
    query = partial(output_page, alloc_id=alloc_id, wish=wish, output=told, problem=problem)
    answer = await shown(request, viewer, "dashboard/output.html", query)
    answer["Cache-Control"] = "no-store"
    return answer
