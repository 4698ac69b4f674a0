"""Stories: one of them, its files."""

from django.http import HttpRequest, HttpResponse

from dashboard.page import document, page, read, shown
from dashboard.queries.story import LANES, VIEWS, Shown, story_page
from dashboard.queries.story_files import FORMS, story_file
from dashboard.viewer import Viewer

_LONGEST_FOLD = 500
_LONGEST_ID = 36


@page
async def story(request: HttpRequest, viewer: Viewer, story_id: str) -> HttpResponse:
    """One story, as it is or as it was."""
    view = request.GET.get("view", "lanes")
    by = request.GET.get("by", "")
    how = Shown(
        view=view if view in VIEWS else "lanes",
        at=_index(request),
        opened=request.GET.get("open", "")[:_LONGEST_FOLD],
        by=by if by in LANES else "",
        lane=request.GET.get("lane", "")[:_LONGEST_FOLD],
        chosen=request.GET.get("eval", "")[:_LONGEST_ID],
    )
    return await shown(
        request,
        viewer,
        "dashboard/story.html",
        lambda reader, viewer: story_page(reader, viewer, story_id=story_id, shown=how),
    )


@document
async def as_file(request: HttpRequest, viewer: Viewer, story_id: str, form: str) -> HttpResponse:
    """`.mmd`, `.svg`, `.json` or `.md`, for people and programs."""
    site = f"{request.scheme}://{request.get_host()}"
    at = _index(request)
    record = await read(
        viewer,
        lambda reader, viewer: story_file(
            reader, viewer, story_id=story_id, form=form, at=at, site=site
        ),
    )
    if record is None:
        return HttpResponse("unknown\n", status=404, content_type="text/plain; charset=utf-8")
    return HttpResponse(record["text"], content_type=FORMS[form])


def _index(request: HttpRequest) -> int | None:
    """The index that `?at=` asks for; what is none is as good as now."""
    text = request.GET.get("at", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
