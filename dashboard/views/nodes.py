"""One node, and drains: pages, and the buttons that open, close and stop draining a node."""

from functools import partial
from urllib.parse import quote

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext, gettext_noop

from cluster.operations.errors import NotAllowed, OperationRefused
from cluster.operations.nodes import DrainRequest, drain_node, set_node_eligibility
from cluster.operations.staged_drains import cancel_staged_drain
from cluster.store.access import the_store
from cluster.store.audit_entries import Act
from dashboard.acts import note_refusal
from dashboard.page import action, page, shown
from dashboard.queries.drains import drain_page, drains_page
from dashboard.queries.nodes import node_page
from dashboard.queries.staged_drains import staged_page
from dashboard.rehearsed_acts import eligibility_change
from dashboard.rehearsing import rehearse_act
from dashboard.viewer import Viewer

_NOT_STAFF = gettext_noop("Nodes are changed by staff. Ask an administrator.")


@page
async def node(request: HttpRequest, viewer: Viewer, node_id: str) -> HttpResponse:
    """GET /nodes/<id>/."""
    return await shown(request, viewer, "dashboard/node.html", partial(node_page, node_id=node_id))


@page
async def drains(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Drains under way, and those that ended."""
    return await shown(request, viewer, "dashboard/drains.html", drains_page)


@page
async def drain(request: HttpRequest, viewer: Viewer, node_id: str) -> HttpResponse:
    """The board of one drain."""
    return await shown(
        request, viewer, "dashboard/drain.html", partial(drain_page, node_id=node_id)
    )


@page
async def staged_drain(request: HttpRequest, viewer: Viewer, drain_id: str) -> HttpResponse:
    """GET /drains/staged/<id>/: many nodes, a few at a time."""
    query = partial(staged_page, drain_id=drain_id)
    return await shown(request, viewer, "dashboard/staged_drain.html", query)


@action
async def cancel_staged(request: HttpRequest, viewer: Viewer, drain_id: str) -> HttpResponse:
    """POST /drains/staged/<id>/cancel: nothing further begins, what drains stops doing so."""
    ids = request.ids  # type: ignore[attr-defined]  # set by request_context
    eligible = request.POST.get("eligible") == "yes"
    try:
        await the_store().awrite_call(
            cancel_staged_drain,
            drain_id,
            mark_eligible=eligible,
            by=viewer.caller,
            now=viewer.now,
            ids=ids,
        )
    except OperationRefused as refusal:
        act = Act("cancel staged drain", "staged drain", drain_id)
        note_refusal(request, viewer.caller, refusal, act)
        messages.error(request, gettext("Not canceled: {refusal}.").format(refusal=refusal))
    else:
        messages.success(request, gettext("The staged drain is canceled."))
    return redirect("staged-drain", drain_id)


@action
async def set_eligibility(request: HttpRequest, viewer: Viewer, node_id: str) -> HttpResponse:
    """Open or close a node for new allocations; with `rehearse`, what that would do."""
    wanted = request.POST.get("eligibility", "")
    back = redirect("node", node_id)
    if not viewer.access.writes("node"):
        note_refusal(request, viewer.caller, NotAllowed(missing="node:write"))
        messages.error(request, gettext(_NOT_STAFF))
        return back
    if "rehearse" in request.POST:
        change = eligibility_change([node_id], wanted)
        act = Act("open or close node", "node", node_id)
        return await rehearse_act(request, viewer, change, act, back=f"/nodes/{quote(node_id)}/")
    ids = request.ids  # type: ignore[attr-defined]  # set by request_context
    try:
        await the_store().awrite_call(
            set_node_eligibility, node_id, wanted, by=viewer.caller, now=viewer.now, ids=ids
        )
    except OperationRefused as refusal:
        note_refusal(request, viewer.caller, refusal)
        messages.error(request, str(refusal))
    else:
        messages.success(request, gettext("The node is {wanted} now.").format(wanted=wanted))
    return back


@action
async def cancel_drain(request: HttpRequest, viewer: Viewer, node_id: str) -> HttpResponse:
    """Let what is still on the node stay; open the node again if asked to."""
    back = redirect("drain", node_id)
    if not viewer.access.writes("node"):
        note_refusal(request, viewer.caller, NotAllowed(missing="node:write"))
        messages.error(request, gettext(_NOT_STAFF))
        return back
    ids = request.ids  # type: ignore[attr-defined]  # set by request_context
    asked = DrainRequest(mark_eligible=request.POST.get("eligible") == "yes")
    try:
        await the_store().awrite_call(
            drain_node, node_id, asked, by=viewer.caller, now=viewer.now, ids=ids
        )
    except OperationRefused as refusal:
        note_refusal(request, viewer.caller, refusal)
        messages.error(request, str(refusal))
    else:
        messages.success(request, gettext("The drain is canceled."))
    return back
