"""The search page, and what is suggested while one types. One hit alone opens at once."""

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect

from cluster.store.access import the_store
from dashboard.labels import label_for
from dashboard.page import page, shown
from dashboard.queries.search import search
from dashboard.viewer import Viewer

_LONGEST = 200
#: Of each kind, while one types.
_SUGGESTED = 5


@page
async def find(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """GET /search/?q=."""
    text = request.GET.get("q", "").strip()[:_LONGEST]

    found = await the_store().aread(lambda reader: search(reader, viewer, text))
    hits = [hit for kind in found for hit in kind.hits]
    if len(hits) == 1:
        return redirect(hits[0].url)
    context = {"found": found, "search_text": text}
    return await shown(request, viewer, "dashboard/search.html", lambda _reader, _viewer: context)


@page
async def suggest(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /search/suggest/?q=: the first hits of each kind, for scripts."""
    text = request.GET.get("q", "").strip()[:_LONGEST]
    found = await the_store().aread(lambda reader: search(reader, viewer, text, _SUGGESTED))
    hits = [
        {
            "url": hit.url,
            "title": hit.title,
            "note": f"{kind.word[:-1].lower()}, {hit.note}",
            "state": label_for(hit.kind, hit.status).word,
            "icon": kind.icon,
        }
        for kind in found
        for hit in kind.hits
    ]
    answer = JsonResponse({"hits": hits})
    answer["Cache-Control"] = "no-store"
    return answer
