"""Pages of what agents tell: they are asked first, then the record is read and the page is drawn.

In: a request, what to ask. Out: the answer, which nobody may keep.
"""

from collections.abc import Awaitable, Iterable
from typing import Any, Protocol, TypeVar

from django.http import HttpRequest, HttpResponse

from cluster.operations.errors import NotAllowed
from cluster.store.access import the_store
from cluster.store.ports import RecordReader
from dashboard.page import shown
from dashboard.viewer import Query, Viewer
from scheduler.access.caller import Caller
from scheduler.structs.allocation import Allocation
from scheduler.structs.identity import JobKey

Told_co = TypeVar("Told_co", covariant=True)
Told = TypeVar("Told")


class Question(Protocol[Told_co]):
    """What the nodes of some allocations are asked."""

    def __call__(
        self, allocs: Iterable[Allocation], namespace: str, *, by: Caller
    ) -> Awaitable[Told_co]:
        """What they told. Raises NotAllowed."""


async def of_job_as_told(
    viewer: Viewer, key: JobKey, ask: Question[Told], nothing: Told, at_most: int
) -> Told:
    """What the nodes of a job tell; `nothing` of one that the viewer may not read."""
    if not viewer.sees(key.namespace):
        return nothing
    allocs = await the_store().aread(lambda reader: reader.open_allocations(key, at_most))
    try:
        return await ask(allocs, key.namespace, by=viewer.caller)
    except NotAllowed:
        # The page says that there is no such job, as it does of one that is none.
        return nothing


async def panel_or_page(
    request: HttpRequest, viewer: Viewer, name: str, query: Query
) -> HttpResponse:
    """The panel `_<name>.html` where `?part=1` asks for it, else the page around it."""
    is_part = request.GET.get("part") == "1"
    template = f"dashboard/partials/_{name}.html" if is_part else f"dashboard/{name}.html"

    def told(reader: RecordReader, viewer: Viewer) -> dict[str, Any]:
        return {**query(reader, viewer), "is_part": is_part}

    answer = await shown(request, viewer, template, told)
    answer["Cache-Control"] = "no-store"
    return answer
