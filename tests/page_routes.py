"""Which routes of the dashboard are pages: what takes a GET, and is no text for programs."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from django.test import RequestFactory
from django.urls import URLPattern

from dashboard.urls import urlpatterns

#: They answer with text or with a piece of a page, lead on to another one, or are no page of
#: somebody who is signed in.
TEXTS = {
    "allocation-file", "allocation-file-follow", "allocation-logs", "audit-json", "audit-newer",
    "capsule", "chain-file", "job-rehearsed", "notices", "rehearsed-story-file", "search-suggest",
    "story-file",
}  # fmt: skip
LEADS_ON = {"job-named", "job-edit-named"}
DOORS = {"login", "login-once", "logout", "provider", "provider-back", "provider-leave"}


def page_routes() -> list[URLPattern]:
    """One for each page, in the order of the URL map."""
    # On a thread of its own: that of a browser's test has a loop already.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, _pages()).result()


async def _pages() -> list[URLPattern]:
    named = (each for each in urlpatterns if each.name not in TEXTS | LEADS_ON | DOORS)
    return [each for each in named if await _takes_get(each)]


async def _takes_get(route: URLPattern) -> bool:
    """What only takes a POST says so before it looks at anything else."""
    values = dict.fromkeys(route.pattern.converters, "some")
    try:
        answer = await route.callback(RequestFactory().get("/"), **values)
    except AttributeError:
        # It looked at who asks: nobody does.
        return True
    return answer.status_code != 405
