"""Dispatching children of a parameterized job (http-api.md 4.8, doors.md 5).

In: a call, with what the child is given in the body. Out: the child's name and its evaluation.
"""

from django.http import HttpResponse

from cluster.api.body import Body
from cluster.api.request import Call
from cluster.api.respond import answer_write
from cluster.operations.errors import OperationRefused
from cluster.operations.job_dispatch import Dispatch, JobDispatched, dispatch_job


async def dispatch(call: Call, job_id: str) -> HttpResponse:
    """PUT /v1/job/<id>/dispatch."""
    body = call.body("JobDispatchRequest")
    if body.text("JobID") not in {"", job_id}:
        raise OperationRefused("Job ID does not match")
    asked = Dispatch(
        payload=body.octets("Payload"),
        meta=body.texts("Meta"),
        id_prefix=body.text("IdPrefixTemplate"),
        idempotency_token=_token(call) or _token_of(body),
        priority=body.number("Priority"),
    )
    return await _dispatched(call, job_id, asked)


async def dispatch_payload(call: Call, job_id: str) -> HttpResponse:
    """PUT /v1/job/<id>/dispatch/payload: the body is the payload, and there is nothing else."""
    asked = Dispatch(payload=call.raw_body, idempotency_token=_token(call))
    return await _dispatched(call, job_id, asked)


def _token(call: Call) -> str:
    return call.query.get("idempotency_token", "")


def _token_of(body: Body) -> str:
    """Where python-nomad and the reference's structs say it, who name it differently."""
    return body.text("IdempotencyToken") or body.text("idempotency_token")


async def _dispatched(call: Call, job_id: str, asked: Dispatch) -> HttpResponse:
    dispatched: JobDispatched = await call.write(dispatch_job, call.key_of_job(job_id), asked)
    form = {
        "DispatchedJobID": dispatched.job_id,
        "EvalID": dispatched.eval_id,
        "EvalCreateIndex": dispatched.eval_create_index,
        "JobCreateIndex": dispatched.job_create_index,
        "Index": dispatched.index,
    }
    return answer_write(call.request, form, dispatched.index)
