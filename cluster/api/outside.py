"""Routes of things that are not here, or not yet: clients ask for them and get an answer."""

from django.http import HttpResponse

from cluster.api.blocking_read import answer_read
from cluster.api.request import Call
from cluster.api.respond import Found, refusal

#: Job routes that later work fills; without them a suffix would be taken for part of an id.
LATER_JOB_SUFFIXES = (
    "periodic/force",
    "dispatch/payload",
    "dispatch",
    "revert",
    "stable",
    "scale",
)

#: Lists of kinds that are never there: clients show them as empty.
EMPTY_LISTS = (
    "services", "scaling/policies", "volumes", "plugins", "vars",
)  # fmt: skip


async def not_yet(call: Call, job_id: str) -> HttpResponse:
    """An operation that is not there yet, said so."""
    call.key_of_job(job_id, writes=True)
    return refusal(501, "Not supported yet")


async def no_resource(call: Call) -> HttpResponse:
    """A verb that nobody knows."""
    del call
    return refusal(404, "resource not found")


async def empty_list(call: Call) -> HttpResponse:
    """A list with nothing on it."""
    call.require_listing()
    return await answer_read(call, lambda _reader: Found(index=1, body=[]))
