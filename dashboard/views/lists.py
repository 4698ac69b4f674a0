"""The pages of lists: each is one ListKind, and what its page shows beside it."""

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse

from cluster.operations.story_rights import levels_of
from cluster.store.ports import RecordReader
from dashboard.page import page, shown
from dashboard.queries.deployments import running_page
from dashboard.queries.evaluations import BLOCKED_URL, evaluation_tabs
from dashboard.queries.filter_words import filter_words
from dashboard.queries.list_kinds import KINDS
from dashboard.queries.list_wish import NAMESPACE, ListWish
from dashboard.queries.lists import read_list
from dashboard.queries.stories import told_page
from dashboard.queries.variables import told_beside
from dashboard.queries.volumes import offered_page
from dashboard.rights import LOOK, ListedPaths
from dashboard.subscription import topic_text
from dashboard.viewer import Viewer, visible_namespaces
from dashboard.views.services import checks_url
from scheduler.structs.evaluation import EvalStatus

#: What a page shows beside its list.
Beside = Callable[[RecordReader, Viewer, ListWish], Mapping[str, Any]]


def _nothing(_reader: RecordReader, _viewer: Viewer, _wish: ListWish) -> Mapping[str, Any]:
    return {}


async def _listed(
    request: HttpRequest, viewer: Viewer, name: str, beside: Beside = _nothing
) -> HttpResponse:
    kind = KINDS[name].as_seen(levels_of(viewer.access))
    wish = kind.wish({NAMESPACE: viewer.chosen, **request.GET.dict()})

    def query(reader: RecordReader, viewer: Viewer) -> dict[str, Any]:
        seen = kind.seen_by(viewer.namespaces)
        paths = ListedPaths.of(viewer.access) if kind.is_by_path else None
        if kind.is_by_path:
            seen = None
        elif kind.capability != LOOK.word:
            seen = visible_namespaces(reader, viewer.access, kind.capability)
        found = read_list(reader, kind, wish, seen, viewer.now, paths)
        return {
            **beside(reader, viewer, wish),
            "list": found,
            "filter_words": filter_words(found),
            "live_topics": topic_text(kind.name, wish.key),
        }

    return await shown(request, viewer, f"dashboard/{name}.html", query)


@page
async def jobs(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /jobs/."""
    return await _listed(request, viewer, "jobs")


@page
async def nodes(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /nodes/, with what is taken of each."""
    return await _listed(request, viewer, "nodes")


@page
async def evaluations(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /evaluations/, the newest first."""

    def beside(_reader: RecordReader, _viewer: Viewer, wish: ListWish) -> Mapping[str, Any]:
        are_blocked = wish.of("status") == EvalStatus.BLOCKED.value
        return {"tabs": evaluation_tabs(BLOCKED_URL if are_blocked else "/evaluations/")}

    return await _listed(request, viewer, "evaluations", beside)


@page
async def stories(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /stories/: what the cluster did, by its causes; what runs first, then the newest."""
    return await _listed(
        request,
        viewer,
        "stories",
        lambda reader, viewer, wish: {
            "tabs": evaluation_tabs("/stories/"),
            **told_page(reader, viewer, wish.of(NAMESPACE)),
        },
    )


@page
async def allocations(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /allocations/, the newest first."""
    return await _listed(request, viewer, "allocations")


@page
async def deployments(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /deployments/: what is under way, ranked; what has ended as a list."""
    return await _listed(
        request,
        viewer,
        "deployments",
        lambda reader, viewer, wish: running_page(reader, viewer, wish.of(NAMESPACE)),
    )


@page
async def volumes(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /volumes/: those made on demand as a list; what nodes offer by their configuration."""
    return await _listed(
        request, viewer, "volumes", lambda reader, viewer, _wish: offered_page(reader, viewer)
    )


@page
async def services(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /services/: each address at which an allocation offers one."""
    return await _listed(
        request, viewer, "services", lambda _r, _v, wish: {"checks_url": checks_url(wish)}
    )


@page
async def variables(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /variables/: the paths that one may list, and how a task reads one."""
    return await _listed(request, viewer, "variables", lambda *_: told_beside())
