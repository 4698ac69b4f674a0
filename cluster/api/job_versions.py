"""Versions of a job: the list with differences; going back, calling stable, naming.

In: a call. Out: what http-api.md 3.1 and 4.6 and doors.md 4 say.
"""

from typing import Any

from django.http import HttpResponse

from cluster.api.blocking_read import answer_read
from cluster.api.body import Body
from cluster.api.encode import to_plain
from cluster.api.job_writes import written_form
from cluster.api.request import Call
from cluster.api.respond import (
    KNOWN_LEADER,
    LAST_CONTACT,
    Found,
    answer_json,
    answer_write,
    read_meta,
    write_meta,
)
from cluster.api.version_diffs import read_comparison, version_diffs
from cluster.api.watches import watch_versions
from cluster.operations.errors import OperationRefused
from cluster.operations.job_versions import (
    VersionTagged,
    mark_job_stable,
    revert_job,
    tag_version,
    untag_version,
)
from cluster.store.ports import RecordReader


async def job_versions(call: Call, job_id: str) -> HttpResponse:
    """GET /v1/job/<id>/versions, newest first, with differences on request."""
    call.require("read-job")
    key = call.key_of_job(job_id)
    comparison = read_comparison(call.query)

    def work(reader: RecordReader) -> Found:
        versions = reader.job_versions(key)
        if not versions:
            return Found(index=reader.table_index("jobs"), missing="job versions not found")
        index = max(version.modify_index for version in versions)
        body: dict[str, Any] = read_meta(index)
        body["Versions"] = [to_plain(version) for version in versions]
        body["Diffs"] = version_diffs(versions, comparison)
        return Found(index=index, body=body)

    return await answer_read(call, work, *watch_versions(key))


async def revert(call: Call, job_id: str) -> HttpResponse:
    """PUT /v1/job/<id>/revert. Tokens of Consul and Vault mean nothing here."""
    body = _body(call, job_id, "JobRevertRequest")
    field = "EnforcePriorVersion"
    written = await call.write(
        revert_job,
        call.key_of_job(job_id),
        body.unsigned("JobVersion"),
        enforce_prior_version=body.unsigned(field) if body.has(field) else None,
    )
    response = answer_write(call.request, written_form(written), written.index)
    response[KNOWN_LEADER] = "false"
    response[LAST_CONTACT] = "0"
    return response


async def stable(call: Call, job_id: str) -> HttpResponse:
    """PUT /v1/job/<id>/stable."""
    body = _body(call, job_id, "JobStabilityRequest")
    index = await call.write(
        mark_job_stable,
        call.key_of_job(job_id),
        body.unsigned("JobVersion"),
        stable=body.flag("Stable"),
        ids=False,
    )
    return answer_write(call.request, {"Index": index}, index)


async def tag(call: Call, job_id: str, name: str) -> HttpResponse:
    """PUT /v1/job/<id>/versions/<name>/tag."""
    body = call.body("TagRequest")
    tagged = await call.write(
        tag_version,
        call.key_of_job(job_id),
        name,
        version=None if body.flag("Latest") else body.unsigned("Version"),
        description=body.text("Description"),
        ids=False,
    )
    return _answer_tag(call, tagged)


async def untag(call: Call, job_id: str, name: str) -> HttpResponse:
    """DELETE /v1/job/<id>/versions/<name>/tag."""
    key = call.key_of_job(job_id)
    return _answer_tag(call, await call.write(untag_version, key, name, ids=False))


def _body(call: Call, job_id: str, name: str) -> Body:
    body = call.body(name)
    if not body.text("JobID"):
        raise OperationRefused("JobID must be specified")
    if body.text("JobID") != job_id:
        raise OperationRefused("Job ID does not match")
    return body


def _answer_tag(call: Call, tagged: VersionTagged) -> HttpResponse:
    return answer_json(call.request, to_plain(tagged.tag) | write_meta(tagged.index))
