"""The search page. One exact hit opens at once."""

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect

from cluster.store.access import the_store
from dashboard.page import page, shown
from dashboard.queries.search import search
from dashboard.viewer import Viewer

_LONGEST = 200


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
