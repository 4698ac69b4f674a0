"""Reads of jobs: the list, one job, and what belongs to it."""

from typing import Any

from django.http import HttpResponse

from cluster.api.blocking_read import answer_read
from cluster.api.encode import to_plain
from cluster.api.paging import Rows, page_of_rows, read_listing
from cluster.api.parameters import LARGEST_STORED, quoted, read_flag, unsigned
from cluster.api.request import Call
from cluster.api.respond import Found
from cluster.api.services import forms
from cluster.api.stubs import (
    allocation_stub,
    deployment_form,
    evaluation_form,
    job_stub,
    summary_form,
)
from cluster.api.watches import JOB_TABLES, watch_job, watch_row, watch_table
from cluster.operations.errors import OperationRefused
from cluster.store.ports import RecordReader
from scheduler.state import nouns
from scheduler.state.nouns import JOB_SUBMISSIONS
from scheduler.state.service_noun import SERVICES
from scheduler.structs.job import Job

NOT_FOUND = "job not found"


async def list_jobs(call: Call) -> HttpResponse:
    """GET /v1/jobs."""
    call.require("list-jobs")
    listing = read_listing(call.query)
    with_meta = read_flag(call.query, "meta") or False

    def work(reader: RecordReader) -> Found:
        rows = Rows(noun=nouns.JOBS, namespaces=call.listed(reader, "list-jobs"))
        page = page_of_rows(
            reader, rows, listing, lambda job: job_stub(reader, job, with_meta=with_meta)
        )
        index = max(reader.table_index("jobs"), reader.table_index("job_summaries"))
        return Found(index=index, body=page.items, next_token=page.next_token)

    return await answer_read(call, work, *JOB_TABLES)


async def read_job(call: Call, job_id: str) -> HttpResponse:
    """GET /v1/job/<id>."""
    call.require("read-job")
    key = call.key_of_job(job_id)

    def work(reader: RecordReader) -> Found:
        job = reader.job(key)
        if job is None:
            return Found(index=reader.table_index("jobs"), missing=NOT_FOUND)
        return Found(index=job.modify_index, body=to_plain(job))

    return await answer_read(call, work, watch_job(key), short=True)


async def job_allocations(call: Call, job_id: str) -> HttpResponse:
    """GET /v1/job/<id>/allocations: of the current incarnation, or with `all` of every one."""
    call.require("read-job")
    key = call.key_of_job(job_id)
    every = read_flag(call.query, "all") or False

    def work(reader: RecordReader) -> Found:
        job = reader.job(key)
        stubs = [
            allocation_stub(alloc)
            for alloc in reader.allocations_by_job(key)
            if every or job is None or alloc.job_create_index == job.create_index
        ]
        return Found(index=reader.table_index("allocations"), body=stubs)

    return await answer_read(call, work, watch_row("allocations", job_id))


async def job_evaluations(call: Call, job_id: str) -> HttpResponse:
    """GET /v1/job/<id>/evaluations."""
    call.require("read-job")
    key = call.key_of_job(job_id)

    def work(reader: RecordReader) -> Found:
        evaluations = [
            evaluation_form(each, call.caller, additions=call.additions)
            for each in reader.evaluations_by_job(key)
        ]
        return Found(index=reader.table_index("evaluations"), body=evaluations)

    return await answer_read(call, work, watch_row("evaluations", job_id))


async def job_deployments(call: Call, job_id: str) -> HttpResponse:
    """GET /v1/job/<id>/deployments, newest last."""
    call.require("read-job")
    key = call.key_of_job(job_id)
    every = read_flag(call.query, "all") or False

    def work(reader: RecordReader) -> Found:
        job = reader.job(key)
        deployments = [
            deployment_form(deployment, additions=call.additions)
            for deployment in reader.deployments_by_job(key)
            if every or job is None or deployment.job_create_index == job.create_index
        ]
        return Found(index=reader.table_index("deployments"), body=deployments)

    return await answer_read(call, work, watch_row("deployments", job_id))


async def job_deployment(call: Call, job_id: str) -> HttpResponse:
    """GET /v1/job/<id>/deployment: the newest, or JSON null."""
    call.require("read-job")
    key = call.key_of_job(job_id)

    def work(reader: RecordReader) -> Found:
        newest = next(iter(reversed(reader.deployments_by_job(key))), None)
        body = None if newest is None else deployment_form(newest, additions=call.additions)
        return Found(index=reader.table_index("deployments"), body=body)

    return await answer_read(call, work, watch_row("deployments", job_id))


async def job_summary(call: Call, job_id: str) -> HttpResponse:
    """GET /v1/job/<id>/summary."""
    call.require("read-job")
    key = call.key_of_job(job_id)

    def work(reader: RecordReader) -> Found:
        job = reader.job(key)
        if job is None:
            return Found(index=reader.table_index("job_summaries"), missing=NOT_FOUND)
        form = summary_form(reader, job)
        return Found(index=form["ModifyIndex"], body=form)

    return await answer_read(call, work, *JOB_TABLES)


async def job_submission(call: Call, job_id: str) -> HttpResponse:
    """GET /v1/job/<id>/submission?version=N: the text a version came as."""
    call.require("read-job")
    key = call.key_of_job(job_id)
    asked = unsigned(call.query.get("version", ""))
    if asked is None:
        raise OperationRefused("Unable to parse job submission version parameter")
    # No job has so many versions, and no column could be asked for more.
    version = min(asked, LARGEST_STORED)

    def work(reader: RecordReader) -> Found:
        submission = reader.get(JOB_SUBMISSIONS, (key, version))
        if submission is None:
            return Found(index=reader.table_index("jobs"), missing="job source not found")
        return Found(index=submission.job_modify_index, body=to_plain(submission))

    return await answer_read(call, work, watch_job(key))


async def job_services(call: Call, job_id: str) -> HttpResponse:
    """GET /v1/job/<id>/services."""
    call.require("read-job")
    table = SERVICES.table_index
    key = call.key_of_job(job_id)

    def work(reader: RecordReader) -> Found:
        if reader.job(key) is None:
            return Found(index=reader.table_index(table), missing=NOT_FOUND)
        found = reader.list_by(SERVICES, "job", (call.namespace, job_id))
        return Found(index=reader.table_index(table), body=forms(found))

    return await answer_read(call, work, watch_table(table))


async def job_actions(call: Call, job_id: str) -> HttpResponse:
    """GET /v1/job/<id>/actions: what its tasks offer."""
    call.require("read-job")
    key = call.key_of_job(job_id)

    def work(reader: RecordReader) -> Found:
        job = reader.job(key)
        if job is None:
            raise OperationRefused(f"Unknown job {quoted(job_id)}")
        return Found(index=job.modify_index, body=_actions(job))

    return await answer_read(call, work, watch_job(key))


def _actions(job: Job) -> list[dict[str, Any]]:
    return [
        {
            "Name": action.name,
            "Command": action.command,
            "Args": list(action.args) or None,
            "TaskGroupName": group.name,
            "TaskName": task.name,
        }
        for group in job.task_groups
        for task in group.tasks
        for action in task.actions
    ]


async def _of_job(call: Call, job_id: str, form: Any) -> HttpResponse:
    call.require("read-job")
    key = call.key_of_job(job_id)

    def work(reader: RecordReader) -> Found:
        job = reader.job(key)
        if job is None:
            return Found(index=reader.table_index("jobs"), missing=NOT_FOUND)
        return Found(index=job.modify_index, body=form(job))

    return await answer_read(call, work, watch_job(key))
