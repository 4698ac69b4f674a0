"""Writes of jobs: register, plan, validate, evaluate, deregister; and reading a job file."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from django.http import HttpResponse
from msgspec.structs import replace

from cluster.api.body import Body
from cluster.api.job_requests import (
    check_region,
    job_of_body,
    job_to_validate,
    registration_of,
)
from cluster.api.parameters import read_flag, read_integer
from cluster.api.plan_form import plan_form
from cluster.api.request import Call
from cluster.api.respond import answer_json, answer_write, write_meta
from cluster.api.unknown_fields import ignored_fields
from cluster.jobspec.canonicalize import canonicalize_form
from cluster.jobspec.hcl.job_file import parse_hcl
from cluster.jobspec.problems import JobProblems, error_text, warning_text
from cluster.operations.admission import problems_of, warnings_about
from cluster.operations.errors import OperationRefused
from cluster.operations.job_plan import plan_job
from cluster.operations.jobs import (
    JobRegistration,
    JobWritten,
    deregister_job,
    evaluate_job,
    register_job,
)
from cluster.operations.periodic import force_launch
from cluster.operations.rights import require

Result = TypeVar("Result")

#: Bytes; a body of this size takes a few milliseconds.
_READ_AT_ONCE = 32 * 1024


async def register(call: Call) -> HttpResponse:
    """PUT /v1/jobs."""
    return await _registered(call, await _read(registration_of, call))


async def update(call: Call, job_id: str) -> HttpResponse:
    """PUT /v1/job/<id>."""
    request = await _read(registration_of, call)
    if request.job.id != job_id:
        raise OperationRefused("Job ID does not match name")
    return await _registered(call, request)


async def _registered(call: Call, request: JobRegistration) -> HttpResponse:
    written = await call.write(register_job, request)
    return answer_write(call.request, written_form(written), written.index)


async def deregister(call: Call, job_id: str) -> HttpResponse:
    """DELETE /v1/job/<id>. `global` is for several regions and changes nothing here."""
    key = call.key_of_job(job_id)
    read_flag(call.query, "global")
    # Commands send 0 for "none given", and a negative priority is the job's own too.
    priority = max(0, read_integer(call.query, "eval_priority") or 0)
    written = await call.write(
        deregister_job,
        key,
        purge=read_flag(call.query, "purge") or False,
        eval_priority=priority,
        no_shutdown_delay=read_flag(call.query, "no_shutdown_delay") or False,
    )
    body = written_form(written) | {"VolumeEvalID": "", "VolumeEvalIndex": 0}
    body.pop("Warnings")
    return answer_write(call.request, body, written.index)


async def evaluate(call: Call, job_id: str) -> HttpResponse:
    """PUT /v1/job/<id>/evaluate."""
    key = call.key_of_job(job_id)
    force = False
    if call.raw_body.strip():
        body = call.body("JobEvaluateRequest")
        if not body.text("JobID"):
            raise OperationRefused("Job ID must be specified")
        if body.text("JobID") != job_id:
            raise OperationRefused("JobID not same as job name")
        options = body.nested("EvalOptions")
        force = options is not None and options.flag("ForceReschedule")
    written = await call.write(evaluate_job, key, force_reschedule=force)
    return answer_write(call.request, written_form(written), written.index)


async def force_periodic(call: Call, job_id: str) -> HttpResponse:
    """PUT /v1/job/<id>/periodic/force: launch a child now. A body is not read."""
    launched = await call.write(force_launch, call.key_of_job(job_id))
    body = {
        "EvalID": launched.eval_id,
        "EvalCreateIndex": launched.eval_create_index,
        "Index": launched.index,
    }
    return answer_write(call.request, body, launched.index)


async def plan(call: Call, job_id: str) -> HttpResponse:
    """PUT /v1/job/<id>/plan: what registering it would do."""
    body = call.body("JobPlanRequest")
    job, dropped = await _read(job_of_body, call, body)
    if not job.id:
        raise OperationRefused("Job must have a valid ID")
    if job.id != job_id:
        raise OperationRefused("Job ID does not match")
    check_region(job)
    by, now, ids = call.caller, call.now, call.ids
    planned = await call.read(lambda reader: plan_job(reader, job, by=by, now=now, ids=ids))
    with_diff = body.flag("Diff")
    planned = replace(planned, warnings=(*planned.warnings, *dropped, *ignored_fields(body)))
    form = plan_form(planned, with_diff=with_diff, additions=call.additions)
    return answer_write(call.request, form, planned.index)


async def validate(call: Call) -> HttpResponse:
    """PUT /v1/validate/job: a job that breaks rules is a good answer here."""
    body = call.body("JobValidateRequest")
    job, dropped = await _read(job_to_validate, call, body)
    require(call.caller, job.namespace, "read-job")
    problems, warnings = await call.read(
        lambda reader: (problems_of(reader, job), warnings_about(reader, job))
    )
    messages = [problem.message for problem in problems]
    answer = {
        "DriverConfigValidated": True,
        "ValidationErrors": messages or None,
        "Error": error_text(messages),
        "Warnings": warning_text([*warnings, *dropped]),
    }
    return answer_json(call.request, answer)


async def parse(call: Call) -> HttpResponse:
    """PUT /v1/jobs/parse: a job file as the JSON a request would carry."""
    body = call.body("JobsParseRequest")
    call.require("parse-job", "submit-job")
    text = body.text("JobHCL")
    if not text:
        raise OperationRefused("Job spec is empty")
    try:
        form, _ = await asyncio.to_thread(parse_hcl, text, body.text("Variables"))
    except JobProblems as problems:
        raise OperationRefused(f"Failed to parse job: {problems.text}") from None
    return answer_json(
        call.request, canonicalize_form(form) if body.flag("Canonicalize") else form
    )


async def _read(reading: Callable[..., Result], call: Call, *args: Body) -> Result:
    """What a request says; large ones are read on a thread, so that others need not wait."""
    if len(call.raw_body) <= _READ_AT_ONCE:
        return reading(call, *args)
    return await asyncio.to_thread(reading, call, *args)


def written_form(written: JobWritten) -> dict[str, Any]:
    """What the answer to a write of a job says."""
    return write_meta(written.index) | {
        "EvalID": written.eval_id,
        "EvalCreateIndex": written.eval_create_index,
        "JobModifyIndex": written.job_modify_index,
        "Warnings": warning_text(written.warnings),
    }
