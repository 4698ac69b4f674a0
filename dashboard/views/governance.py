"""Pages of namespaces, node pools and quotas: the lists, and one of each."""

from functools import partial

from django.http import HttpRequest, HttpResponse

from dashboard.page import page, shown
from dashboard.queries import namespaces as spaces
from dashboard.queries import pools as pool_queries
from dashboard.viewer import Viewer


@page
async def namespaces(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /namespaces/."""
    return await shown(request, viewer, "dashboard/namespaces.html", spaces.namespaces_page)


@page
async def namespace(request: HttpRequest, viewer: Viewer, name: str) -> HttpResponse:
    """GET /namespaces/<name>/."""
    query = partial(spaces.namespace_page, name=name)
    return await shown(request, viewer, "dashboard/namespace.html", query)


@page
async def pools(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /pools/."""
    return await shown(request, viewer, "dashboard/pools.html", pool_queries.pools_page)


@page
async def pool(request: HttpRequest, viewer: Viewer, name: str) -> HttpResponse:
    """GET /pools/<name>/."""
    query = partial(pool_queries.pool_page, name=name)
    return await shown(request, viewer, "dashboard/pool.html", query)


@page
async def quotas(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /quotas/."""
    return await shown(request, viewer, "dashboard/quotas.html", spaces.quotas_page)


@page
async def quota(request: HttpRequest, viewer: Viewer, name: str) -> HttpResponse:
    """GET /quotas/<name>/."""
    query = partial(spaces.quota_page, name=name)
    return await shown(request, viewer, "dashboard/quota.html", query)
