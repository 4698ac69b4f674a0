"""Links to the reference's pages, which command lines print: led to our page of the same object.

In: a path below `/ui/`. Out: a temporary redirect; what is not known leads to the front page. The
link may name things that do not exist: the page says so.
"""

import re
from urllib.parse import quote

from django.http import HttpRequest, HttpResponse

from cluster.page_addresses import job_url
from scheduler.structs.identity import DEFAULT_NAMESPACE, JobKey

_FRONT_PAGE = "/"
_LISTS = {
    "jobs": "/jobs/",
    "jobs/run": "/jobs/new/",
    "evaluations": "/evaluations/",
    "clients": "/nodes/",
    "topology": "/topology/",
}
#: Pages of one object by id; further segments (a task, a tab) are dropped.
_OBJECTS = {"allocations": "/allocations", "clients": "/nodes", "evaluations": "/evaluations"}
#: Job ids may hold slashes; the namespace after the last `@` ends them.
_JOB = re.compile(r"jobs/(?P<id>[^@]+)(?:@(?P<namespace>[^/@]+))?(?:/[\s\S]*)?")


async def follow_link(request: HttpRequest, rest: str = "") -> HttpResponse:
    """GET /ui/…."""
    chosen = request.GET.get("currentEval", "")
    response = HttpResponse(status=307)
    response["Location"] = page_of(rest.strip("/"), chosen)
    return response


def page_of(path: str, chosen_evaluation: str = "") -> str:
    """Our page for a path below `/ui/`."""
    if path == "evaluations" and chosen_evaluation:
        return f"/evaluations/{quote(chosen_evaluation, safe='')}/"
    if path in _LISTS:
        return _LISTS[path]
    kind, _, rest = path.partition("/")
    if kind in _OBJECTS and rest:
        return f"{_OBJECTS[kind]}/{quote(rest.partition('/')[0], safe='')}/"
    job = _JOB.fullmatch(path)
    if job is not None:
        return job_url(JobKey(job["namespace"] or DEFAULT_NAMESPACE, job["id"]))
    return _FRONT_PAGE
