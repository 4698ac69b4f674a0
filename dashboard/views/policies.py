"""Access policies: the list, and a form for each that names every problem at its line.

In: texts in the policy language. Out: pages, or an operation on the record. For management alone.
"""

from functools import partial
from typing import Any

import msgspec
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect
from django.utils.translation import gettext

from cluster.operations.acl_policies import delete_policy, put_policy
from cluster.operations.errors import OperationRefused
from cluster.store.access import the_store
from dashboard.page import action, page, shown
from dashboard.queries.policies import (
    PolicyProblem,
    policies_page,
    policy_page,
    problems_of_refusal,
    problems_of_rules,
)
from dashboard.queries.would_change import would_change
from dashboard.viewer import Viewer
from scheduler.state.nouns import ACL_POLICIES
from scheduler.structs.acl_policy import AclPolicy

_TEMPLATE = "dashboard/policy.html"


@page
async def policies(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /access/policies/."""
    return await shown(request, viewer, "dashboard/policies.html", policies_page)


async def policy(request: HttpRequest, name: str = "") -> HttpResponseBase:
    """GET and POST /access/policies/<name>/, and /access/new-policy/."""
    return await (_sent(request, name) if request.method == "POST" else _opened(request, name))


@action
async def check(request: HttpRequest, _viewer: Viewer) -> JsonResponse:
    """POST /access/check-policy/: everything wrong with a text."""
    problems = problems_of_rules(_rules(request))
    return JsonResponse({"problems": msgspec.to_builtins(problems)})


@action
async def delete(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /access/delete-policy/."""
    name = request.POST.get("name", "")
    try:
        await the_store().awrite_call(delete_policy, name, by=viewer.caller, now=viewer.now)
    except OperationRefused as refused:
        messages.error(request, gettext("Nothing was changed: {refused}.").format(refused=refused))
    else:
        messages.success(
            request,
            gettext("The policy {name} is deleted. It grants nothing any more.").format(name=name),
        )
    return redirect("/access/policies/")


@page
async def _opened(request: HttpRequest, viewer: Viewer, name: str) -> HttpResponse:
    return await shown(request, viewer, _TEMPLATE, partial(policy_page, name=name))


@action
async def _sent(request: HttpRequest, viewer: Viewer, name: str) -> HttpResponseBase:
    stored = await the_store().aread(lambda reader: reader.get(ACL_POLICIES, name))
    typed = AclPolicy(
        name=name or request.POST.get("name", "").strip(),
        description=request.POST.get("description", "").strip(),
        rules=_rules(request),
        job_acl=stored.job_acl if stored is not None else None,
    )
    # A name that is taken is no new policy; one that was changed meanwhile is not what was read.
    seen = request.POST.get("seen", "")
    there = await the_store().aread(lambda reader: reader.get(ACL_POLICIES, typed.name))
    if str(there.modify_index if there is not None else 0) != (seen or "0"):
        told = gettext("It was changed since you opened it. Open it again to see how it stands.")
        if not name:
            told = gettext("There is a policy {typed} already.").format(typed=typed.name)
        return await _again(request, viewer, name, typed, [PolicyProblem(message=told)])
    if request.POST.get("look"):
        found = problems_of_rules(typed.rules)
        return await _again(request, viewer, name, typed, found, looks=not found)
    try:
        await the_store().awrite_call(put_policy, typed, by=viewer.caller, now=viewer.now)
    except OperationRefused as refused:
        return await _again(request, viewer, name, typed, problems_of_refusal(refused))
    messages.success(
        request,
        gettext("The policy {typed} is saved. It counts from now on.").format(typed=typed.name),
    )
    return redirect(f"/access/policies/{typed.name}/")


async def _again(
    request: HttpRequest,
    viewer: Viewer,
    name: str,
    typed: AclPolicy,
    problems: list[PolicyProblem],
    *,
    looks: bool = False,
) -> HttpResponse:
    """The form as it was sent, with what is wrong, or with whom it changes; nothing was stored."""

    def query(reader: Any, viewer: Viewer) -> dict[str, Any]:
        context = policy_page(reader, viewer, name=name, typed=typed)
        told = {
            "problems": problems,
            "findings": msgspec.to_builtins(problems),
            "seen": request.POST.get("seen", ""),
            "http_status": 400 if problems else 200,
        }
        return context | told | (would_change(reader, viewer.now, policy=typed) if looks else {})

    return await shown(request, viewer, _TEMPLATE, query)


def _rules(request: HttpRequest) -> str:
    # Browsers send lines of forms with CRLF.
    return request.POST.get("text", "").replace("\r\n", "\n")
