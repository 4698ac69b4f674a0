"""Reads of deployments, and the verbs that steer one."""

from collections.abc import Callable
from typing import Any

from django.http import HttpResponse

from cluster.api.blocking_read import answer_read
from cluster.api.body import Body
from cluster.api.paging import Rows, check_uuid, page_of_rows, read_listing_by_uuid
from cluster.api.request import Call
from cluster.api.respond import INDEX, Found, answer_write
from cluster.api.stubs import allocation_stub, deployment_form
from cluster.api.watches import watch_table
from cluster.operations.deployments import (
    NOT_FOUND,
    DeploymentWritten,
    fail_deployment,
    pause_deployment,
    promote_deployment,
    set_allocation_health,
)
from cluster.operations.errors import NotFound, OperationRefused
from cluster.operations.rights import require
from cluster.store.ports import RecordReader
from scheduler.access.capabilities import PARTS_OF_SUBMIT
from scheduler.state import nouns
from scheduler.structs.deployment import Deployment

_LOOKUP = "deployment lookup failed: "


async def list_deployments(call: Call) -> HttpResponse:
    """GET /v1/deployments."""
    call.require("read-job")
    listing = read_listing_by_uuid(call.query, "")

    def work(reader: RecordReader) -> Found:
        rows = Rows(noun=nouns.DEPLOYMENTS, namespaces=call.listed(reader, "read-job"))
        page = page_of_rows(
            reader, rows, listing, lambda each: deployment_form(each, additions=call.additions)
        )
        index = reader.table_index("deployments")
        return Found(index=index, body=page.items, next_token=page.next_token)

    return await answer_read(call, work, watch_table("deployments"))


async def read_deployment(call: Call, deployment_id: str) -> HttpResponse:
    """GET /v1/deployment/<id>."""
    check_uuid(deployment_id, _LOOKUP)

    def work(reader: RecordReader) -> Found:
        deployment = _readable(call, reader, deployment_id)
        if deployment is None:
            return Found(index=reader.table_index("deployments"), missing=NOT_FOUND)
        form = deployment_form(deployment, additions=call.additions)
        return Found(index=deployment.modify_index, body=form)

    return await answer_read(call, work, watch_table("deployments"))


async def deployment_allocations(call: Call, deployment_id: str) -> HttpResponse:
    """GET /v1/deployment/allocations/<id>."""

    def work(reader: RecordReader) -> Found:
        index = reader.table_index("allocations")
        if _readable(call, reader, deployment_id) is None:
            return Found(index=index, body=[])
        allocs = reader.allocations_by_deployment(deployment_id)
        stubs = [allocation_stub(a, with_resources=False, with_states=True) for a in allocs]
        return Found(index=index, body=stubs)

    return await answer_read(call, work, watch_table("allocations"))


async def promote(call: Call, deployment_id: str) -> HttpResponse:
    """PUT /v1/deployment/promote/<id>."""
    body = _body(call, deployment_id)
    return await _written(
        call,
        deployment_id,
        promote_deployment,
        groups=body.list_of_texts("Groups"),
        every_group=body.flag("All"),
    )


async def pause(call: Call, deployment_id: str) -> HttpResponse:
    """PUT /v1/deployment/pause/<id>: pause or resume."""
    body = _body(call, deployment_id)
    return await _written(call, deployment_id, pause_deployment, pause=body.flag("Pause"))


async def fail(call: Call, deployment_id: str) -> HttpResponse:
    """PUT /v1/deployment/fail/<id>; the body is ignored."""
    return await _written(call, deployment_id, fail_deployment)


async def set_health(call: Call, deployment_id: str) -> HttpResponse:
    """PUT /v1/deployment/allocation-health/<id>."""
    body = _body(call, deployment_id)
    return await _written(
        call,
        deployment_id,
        set_allocation_health,
        healthy=body.list_of_texts("HealthyAllocationIDs"),
        unhealthy=body.list_of_texts("UnhealthyAllocationIDs"),
    )


async def unblock(call: Call, deployment_id: str) -> HttpResponse:
    """PUT /v1/deployment/unblock/<id>: means something across regions only."""
    _body(call, deployment_id)
    found = await call.read(lambda reader: reader.deployment(deployment_id))
    namespace = call.namespace if found is None else found.namespace
    require(call.caller, namespace, "submit-job", "unblock-deployment")
    if found is None:
        raise NotFound(NOT_FOUND)
    response = answer_write(call.request, _form(DeploymentWritten(index=0)), 0)
    # Told though nothing was written, as 0 (recorded).
    response[INDEX] = "0"
    return response


def _body(call: Call, deployment_id: str) -> Body:
    body = call.body("DeploymentRequest")
    named = body.text("DeploymentID")
    if not named:
        raise OperationRefused("DeploymentID must be specified")
    if named != deployment_id:
        raise OperationRefused("Deployment ID does not match")
    return body


async def _written(
    call: Call,
    deployment_id: str,
    operation: Callable[..., DeploymentWritten],
    **options: Any,
) -> HttpResponse:
    try:
        written = await call.write_to(operation, deployment_id, **options)
    except NotFound:
        # Whoever changes no deployments here learns nothing of ids.
        call.require("submit-job", *PARTS_OF_SUBMIT)
        raise
    return answer_write(call.request, _form(written), written.index)


def _form(written: DeploymentWritten) -> dict[str, Any]:
    return {
        "EvalID": written.eval_id,
        "EvalCreateIndex": written.eval_create_index,
        "DeploymentModifyIndex": written.modify_index,
        "RevertedJobVersion": written.reverted_version,
        "Index": written.index,
    }


def _readable(call: Call, reader: RecordReader, deployment_id: str) -> Deployment | None:
    """The deployment; refuses callers who may not read it, or not where they ask for it."""
    deployment = reader.deployment(deployment_id)
    namespace = call.namespace if deployment is None else deployment.namespace
    require(call.caller, namespace, "read-job")
    return deployment
