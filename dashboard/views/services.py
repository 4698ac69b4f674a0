"""Services: the list, and what the checks of those on one page of it found.

Agents are asked about the page that an address names, then the record is read once more.
"""

import asyncio
from collections import defaultdict
from typing import Any

from django.http import HttpRequest, HttpResponse

from cluster.operations.checks import JobChecks, job_checks
from cluster.operations.errors import NotAllowed
from cluster.operations.story_rights import levels_of
from cluster.store.access import the_store
from cluster.store.ports import RecordReader
from dashboard.asked_agents import panel_or_page
from dashboard.page import page
from dashboard.queries.list_kinds import KINDS
from dashboard.queries.list_wish import NAMESPACE, ListWish
from dashboard.queries.lists import read_list
from dashboard.queries.service_checks import joined, service_checks, services_of_rows
from dashboard.viewer import Viewer, crumbs
from scheduler.structs.allocation import Allocation
from scheduler.structs.service_registration import ServiceRegistration

_PATH = "/services/checks/"


def checks_url(wish: ListWish) -> str:
    """Where the checks of a page of the list are told."""
    return wish.address(_PATH)


@page
async def checks(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /services/checks/, narrowed and paged as the list is."""
    kind = KINDS["services"].as_seen(levels_of(viewer.access))
    wish = kind.wish({NAMESPACE: viewer.chosen, **request.GET.dict()})

    def rows(reader: RecordReader) -> tuple[list[ServiceRegistration], list[Allocation]]:
        found = read_list(reader, kind, wish, kind.seen_by(viewer.namespaces), viewer.now, None)
        services = services_of_rows(found.rows)
        ids = {each.alloc_id for each in services}
        reader.preload(allocs=ids)
        return services, [alloc for each in ids if (alloc := reader.allocation(each)) is not None]

    services, allocs = await the_store().aread(rows)
    told = await _asked(allocs, viewer)

    def query(reader: RecordReader, _viewer: Viewer) -> dict[str, Any]:
        return {
            "crumbs": crumbs(("Services", wish.address("/services/")), ("checks", "")),
            "address": checks_url(wish),
            **service_checks(reader, services, told),
        }

    return await panel_or_page(request, viewer, "service_checks", query)


async def _asked(allocs: list[Allocation], viewer: Viewer) -> JobChecks:
    """What the agents of these tell; one call for each node and namespace."""
    by_namespace: dict[str, list[Allocation]] = defaultdict(list)
    for alloc in allocs:
        by_namespace[alloc.namespace].append(alloc)

    async def ask(namespace: str, some: list[Allocation]) -> JobChecks:
        try:
            return await job_checks(some, namespace, by=viewer.caller)
        except NotAllowed:
            # Its rights were narrowed since the list was read.
            return JobChecks()

    return joined(await asyncio.gather(*(ask(*each) for each in by_namespace.items())))
