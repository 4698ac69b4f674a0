"""The bodies of job requests: which namespace and region they mean, and the job they carry.

In: a call. Out: a canonical `Job`, or the refusal. Breaks no rule of the job itself.
"""

from typing import Any, NamedTuple

import msgspec
from django.conf import settings
from msgspec.structs import replace

from cluster.api.body import Body
from cluster.api.parameters import NO_PATH, OWN_REGION
from cluster.api.request import Call
from cluster.api.unknown_fields import ignored_fields, ignored_told
from cluster.jobspec.canonicalize import canonicalize
from cluster.jobspec.left_out import dropped_fields
from cluster.jobspec.parse import decode_job
from cluster.jobspec.request_form import RequestForm
from cluster.jobspec.validate import judge_job
from cluster.operations.errors import OperationRefused, TooLarge
from cluster.operations.jobs import JobRegistration
from scheduler.structs.identity import DEFAULT_NAMESPACE
from scheduler.structs.job import Job, JobSubmission

MAX_JOB = 1024 * 1024
NO_JOB = "Job must be specified"
_NAMESPACE_MISMATCH = 'mismatched request namespace in request: "default", ""'


class RequestedJob(NamedTuple):
    """A canonical job, and warnings about what the request says of it in vain."""

    job: Job
    dropped_fields: tuple[str, ...]


def job_of_body(call: Call, body: Body) -> RequestedJob:
    """The canonical job of a request, in the namespace and region the request means."""
    form, unknown = _form_of(call, body)
    form["Namespace"] = (
        call.query.get("namespace")
        or body.text("Namespace")
        or form["Namespace"]
        or DEFAULT_NAMESPACE
    )
    form["Region"] = body.text("Region") or call.query.get("region") or form["Region"]
    if form["Region"] in {None, "", OWN_REGION}:
        form["Region"] = settings.BIVOUAC_REGION
    return _requested(form, unknown)


def job_to_validate(call: Call, body: Body) -> RequestedJob:
    """As `job_of_body`, for validation, which looks at the job's own namespace and region only."""
    form, unknown = _form_of(call, body)
    if form["Namespace"] == "":
        raise OperationRefused(_NAMESPACE_MISMATCH)
    if form["Region"] in {None, OWN_REGION}:
        form["Region"] = settings.BIVOUAC_REGION
    for region in (body.text("Region"), call.query.get("region")):
        if region not in {None, "", OWN_REGION, settings.BIVOUAC_REGION}:
            raise OperationRefused(NO_PATH)
    return _requested(form, unknown)


def _requested(form: RequestForm, unknown: tuple[str, ...]) -> RequestedJob:
    told = tuple(each.sentence for each in dropped_fields(form))
    return RequestedJob(
        canonicalize(form), (*told, *ignored_told(f"Job.{path}" for path in unknown))
    )


def _form_of(call: Call, body: Body) -> tuple[RequestForm, tuple[str, ...]]:
    """The form of the job that is sent, and the paths of its unknown fields."""
    wrapped = body.nested("Job")
    if wrapped is None:
        raise OperationRefused(NO_JOB)
    _check_size(call, wrapped.document)
    return decode_job(wrapped.document)


def check_region(job: Job) -> None:
    """Refuse a job for another region."""
    if job.region != settings.BIVOUAC_REGION:
        raise OperationRefused(NO_PATH)


def registration_of(call: Call) -> JobRegistration:
    """What a register request asks for."""
    body = call.body("JobRegisterRequest")
    job, dropped = job_of_body(call, body)
    if not job.id:
        raise OperationRefused("Job ID hasn't been provided")
    check_region(job)
    if job.type == "system" and any(group.scaling is not None for group in job.task_groups):
        raise OperationRefused("Task groups with job type system do not support scaling blocks")
    asked = JobRegistration(
        job=job,
        submission=_submission(body),
        enforce_index=body.flag("EnforceIndex"),
        job_modify_index=body.number("JobModifyIndex"),
        eval_priority=_eval_priority(body),
        preserve_counts=body.flag("PreserveCounts"),
        preserve_resources=body.flag("PreserveResources"),
        judged=judge_job(job),
    )
    return replace(asked, dropped_fields=(*dropped, *ignored_fields(body)))


def _eval_priority(body: Body) -> int:
    return body.number("EvalPriority")


def _check_size(call: Call, document: dict[str, Any]) -> None:
    # A body that is small enough as a whole need not be written out again to be measured.
    if len(call.raw_body) > MAX_JOB and len(msgspec.json.encode(document)) > MAX_JOB:
        raise TooLarge("job is larger than 1 MiB")


def _submission(body: Body) -> JobSubmission | None:
    given = body.nested("Submission")
    if given is None:
        return None
    return JobSubmission(
        source=given.text("Source"),
        format=given.text("Format"),
        variable_flags=given.texts("VariableFlags"),
        variables=given.text("Variables"),
    )
