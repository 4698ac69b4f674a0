"""What allocations, machines and jobs use: pages, and the same panel within other pages.

The rows are those of the agents, asked before the record is read; `?part=1` asks for the panel.
"""

import asyncio
from collections.abc import Awaitable
from functools import partial
from typing import TypeVar

import msgspec
from django.http import HttpRequest, HttpResponse

from cluster.operations.agent_calls import AgentRefused, NoPathToNode, call_agent_once
from cluster.operations.errors import NotAllowed
from cluster.operations.nodes_of_work import PATIENCE_S
from cluster.operations.usage import (
    MOST_ALLOCATIONS,
    JobUsage,
    allocation_usage,
    job_usage,
    node_usage,
)
from cluster.store.access import the_store
from dashboard.asked_agents import of_job_as_told, panel_or_page
from dashboard.page import key_in, page
from dashboard.queries.usage import (
    allocation_usage_page,
    job_usage_page,
    node_usage_page,
)
from dashboard.queries.usage_figures import SPANS, UsageWish
from dashboard.viewer import Viewer
from scheduler.structs.allocation import Allocation

Told = TypeVar("Told")


@page
async def of_allocation(request: HttpRequest, viewer: Viewer, alloc_id: str) -> HttpResponse:
    """GET /allocations/<id>/usage/?span=&task=."""
    alloc = await the_store().aread(lambda reader: reader.allocation(alloc_id))
    told, checks = None, None
    if alloc is not None and viewer.sees(alloc.namespace):
        told, checks = await asyncio.gather(
            _in_time(allocation_usage(alloc, by=viewer.caller)), _checks_of(alloc, viewer)
        )
    query = partial(
        allocation_usage_page, alloc_id=alloc_id, asked=_asked(request), told=told, checks=checks
    )
    return await panel_or_page(request, viewer, "usage", query)


@page
async def of_node(request: HttpRequest, viewer: Viewer, node_id: str) -> HttpResponse:
    """GET /nodes/<id>/usage/?span=."""
    told = await _in_time(node_usage(node_id, by=viewer.caller))
    query = partial(node_usage_page, node_id=node_id, asked=_asked(request), told=told)
    return await panel_or_page(request, viewer, "usage", query)


@page
async def of_job(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /jobs/usage/?namespace=&id=&span=."""
    key = key_in(request, "", "")
    told = await of_job_as_told(viewer, key, job_usage, JobUsage(), MOST_ALLOCATIONS)
    query = partial(job_usage_page, key=key, asked=_asked(request), told=told)
    return await panel_or_page(request, viewer, "usage", query)


async def _checks_of(alloc: Allocation, viewer: Viewer) -> object:
    """What its checks found last; what has ended has none."""
    if alloc.is_terminal:
        return None
    asked = call_agent_once(alloc, "alloc.checks", {"AllocID": alloc.id}, by=viewer.caller)
    return await _in_time(asked)


async def _in_time(told: Awaitable[Told]) -> Told | None:
    """What an agent tells; None when it is away, refuses, or takes too long."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await told
    except (NoPathToNode, AgentRefused, NotAllowed, TimeoutError, msgspec.MsgspecError):
        return None


def _asked(request: HttpRequest) -> UsageWish:
    names = [name for name, _, _ in SPANS]
    span = request.GET.get("span", "")
    return UsageWish(span=span if span in names else names[0], task=request.GET.get("task", ""))
