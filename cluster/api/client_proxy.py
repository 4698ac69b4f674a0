"""Routes that an agent answers (http-api.md 3.3, 3.4): logs, files, orders, stats, metadata.

In: a request about an allocation or a node. Out: the agent's own answer, passed on as it
comes. A refusal keeps its status when it comes before the first byte.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from django.http import HttpResponse, HttpResponseBase, QueryDict, StreamingHttpResponse

from cluster.api.local_node import local_node_id
from cluster.api.paging import check_uuid
from cluster.api.parameters import quoted, read_flag, read_integer
from cluster.api.request import Call
from cluster.api.respond import answer_empty, answer_json
from cluster.jobspec.names import name_fault
from cluster.operations import agent_calls as operations
from cluster.operations.agent_calls import call_agent, call_agent_once, order_agent, require_verb
from cluster.operations.errors import NotFound, OperationRefused
from cluster.operations.rights import require, require_reads, require_writes
from scheduler.structs.allocation import Allocation

#: How long an answer may be silent before its headers are sent anyway.
_FIRST_FRAME_S = 1.0
_JSON = "application/json"
_TEXT = "text/plain; charset=utf-8"
_UUID_LENGTH = 36
_IDENTIFIER = re.compile(r"[^\W\d][\w-]*")


async def file_route(call: Call, verb: str, alloc_id: str) -> HttpResponseBase:
    """GET /v1/client/fs/<verb>/<alloc>."""
    if len(alloc_id) != _UUID_LENGTH:
        raise OperationRefused("must provide a valid alloc id")
    body = _FILE_BODIES[verb](call.query)
    alloc = await allocation_of(call, alloc_id)
    body["AllocID"] = alloc.id
    if verb in {"ls", "stat"}:
        told = await call_agent_once(alloc, f"fs.{verb}", body, by=call.caller)
        return answer_json(call.request, told)
    if verb == "logs":
        # A task's name is told to nobody else.
        require_verb(call.caller, alloc, verb)
        await _check_task(call, alloc, str(body["Task"]))
        framed = not body["Plain"]
        frames = call_agent(alloc, "logs", body, by=call.caller)
        return await streamed(frames, _JSON if framed else _TEXT)
    return await streamed(call_agent(alloc, f"fs.{verb}", body, by=call.caller), _TEXT)


async def restart(call: Call, alloc_id: str) -> HttpResponse:
    """PUT /v1/client/allocation/<id>/restart."""
    body = call.optional_body("AllocRestartRequest")
    task, every = body.text("TaskName"), body.flag("AllTasks")
    if task and every:
        raise OperationRefused("task name cannot be set when restarting all tasks")
    call.refuse_unknown()
    alloc = await allocation_of(call, alloc_id)
    asked: dict[str, object] = {"AllocID": alloc.id, "TaskName": task, "AllTasks": every}
    await order_agent(alloc, "restart", asked, by=call.caller, now=call.now)
    return answer_json(call.request, {"Index": 0})


async def signal(call: Call, alloc_id: str) -> HttpResponse:
    """PUT /v1/client/allocation/<id>/signal."""
    body = call.optional_body("AllocSignalRequest")
    alloc = await allocation_of(call, alloc_id)
    asked: dict[str, object] = {
        "AllocID": alloc.id,
        "Task": body.text("Task"),
        "Signal": body.text("Signal"),
    }
    call.refuse_unknown()
    await order_agent(alloc, "signal", asked, by=call.caller, now=call.now)
    return answer_json(call.request, {"Index": 0})


async def stats(call: Call, alloc_id: str) -> HttpResponse:
    """GET /v1/client/allocation/<id>/stats."""
    alloc = await allocation_of(call, alloc_id)
    asked: dict[str, object] = {"AllocID": alloc.id, "Task": call.query.get("task", "")}
    told = await call_agent_once(alloc, "alloc.stats", asked, by=call.caller)
    return answer_json(call.request, told)


async def checks(call: Call, alloc_id: str) -> HttpResponse:
    """GET /v1/client/allocation/<id>/checks: what its checks found last, by their ids."""
    alloc = await allocation_of(call, alloc_id)
    require(call.caller, alloc.namespace, "read-job")
    if alloc.is_terminal:
        return answer_json(call.request, None)
    asked: dict[str, object] = {"AllocID": alloc.id}
    told = await call_agent_once(alloc, "alloc.checks", asked, by=call.caller)
    # Without any check the reference says null.
    return answer_json(call.request, told or None)


async def host_stats(call: Call) -> HttpResponse:
    """GET /v1/client/stats?node_id=."""
    require_reads(call.caller, "node")
    node_id = await node_id_of(call, call.query.get("node_id", ""), NotFound)
    return answer_json(call.request, await operations.host_stats(node_id, by=call.caller))


async def read_metadata(call: Call) -> HttpResponse:
    """GET /v1/client/metadata?node_id=."""
    require_reads(call.caller, "node")
    node_id = await node_id_of(call, call.query.get("node_id", ""), OperationRefused)
    return answer_json(call.request, await operations.node_metadata(node_id, by=call.caller))


async def change_metadata(call: Call) -> HttpResponse:
    """POST /v1/client/metadata."""
    require_writes(call.caller, "node")
    body = call.body("NodeMetaApplyRequest")
    meta = body.texts_or_nulls("Meta")
    if not meta:
        raise OperationRefused("missing required Meta object")
    for key in meta:
        if not all(map(_IDENTIFIER.fullmatch, key.split("."))) or name_fault(key):
            raise OperationRefused(
                f"{quoted(key)} is invalid; metadata keys must be valid dotted hcl identifiers"
            )
    asked = body.text("NodeID") or call.query.get("node_id", "")
    call.refuse_unknown()
    node_id = await node_id_of(call, asked, OperationRefused)
    told = await operations.change_node_metadata(node_id, meta, by=call.caller, now=call.now)
    return answer_json(call.request, told)


async def read_identity(call: Call) -> HttpResponse:
    """GET /v1/client/identity?node_id=."""
    require_reads(call.caller, "node")
    node_id = await node_id_of(call, call.query.get("node_id", ""), OperationRefused)
    return answer_json(call.request, await operations.node_identity(node_id, by=call.caller))


async def renew_identity(call: Call) -> HttpResponse:
    """PUT /v1/client/identity/renew."""
    require_writes(call.caller, "node")
    asked = call.optional_body("NodeIdentityRenewReq").text("NodeID")
    asked = asked or call.query.get("node_id", "")
    node_id = await node_id_of(call, asked, OperationRefused)
    await operations.renew_node_identity(node_id, by=call.caller, now=call.now)
    return answer_json(call.request, {})


async def collect(call: Call, alloc_id: str) -> HttpResponse:
    """GET /v1/client/allocation/<id>/gc: its agent deletes the files of an ended allocation."""
    alloc = await allocation_of(call, alloc_id)
    await order_agent(alloc, "collect", {"AllocID": alloc.id}, by=call.caller, now=call.now)
    return answer_empty()


async def collect_on_node(call: Call) -> HttpResponse:
    """GET /v1/client/gc?node_id=: the same of all that has ended on a node."""
    require_writes(call.caller, "node")
    node_id = await node_id_of(call, call.query.get("node_id", ""), OperationRefused)
    await operations.collect_on_node(node_id, by=call.caller, now=call.now)
    return answer_empty()


async def node_id_of(call: Call, node_id: str, unknown: type[OperationRefused]) -> str:
    """The id of a node that is there; `unknown` is what is raised for one that is not.

    None named means the node of the agent beside this server.
    """
    node_id = node_id or local_node_id()
    if not node_id:
        raise OperationRefused("No local Node and node_id not provided")
    check_uuid(node_id, "node lookup failed: ")
    if await call.read(lambda reader: reader.node(node_id)) is None:
        raise unknown(f"Unknown node {node_id}")
    return node_id


async def allocation_of(call: Call, alloc_id: str) -> Allocation:
    """The allocation of that id. Raises NotFound."""
    alloc = await call.read(lambda reader: reader.allocation(alloc_id))
    if alloc is None:
        raise NotFound(f'Unknown allocation "{alloc_id}"')
    return alloc


async def _check_task(call: Call, alloc: Allocation, task: str) -> None:
    job = await call.read(lambda reader: reader.job_of(alloc))
    group = None if job is None else job.task_group(alloc.task_group)
    if group is not None and group.task(task) is None:
        raise OperationRefused(f'unknown task name "{task}"')


async def streamed(frames: AsyncIterator[bytes], content_type: str) -> HttpResponseBase:
    """An agent's answer, passed on as it comes. A refusal that comes in time is raised."""
    first = asyncio.ensure_future(anext(frames, None))
    done, _ = await asyncio.wait({first}, timeout=_FIRST_FRAME_S)
    if done:
        first.result()
    response = StreamingHttpResponse(_rest(first, frames), content_type=content_type)
    response["Cache-Control"] = "no-store"
    return response


async def _rest(
    first: "asyncio.Future[bytes | None]", frames: AsyncIterator[bytes]
) -> AsyncIterator[bytes]:
    async with aclosing(frames) as stream:  # type: ignore[type-var] # call_agent is a generator
        try:
            frame = await first
        finally:
            first.cancel()
        if frame is None:
            return
        yield frame
        async for following in stream:
            yield following


def _path_body(query: QueryDict) -> dict[str, object]:
    return {"Path": query.get("path") or "/"}


def _file_body(query: QueryDict) -> dict[str, object]:
    path = query.get("path", "")
    if not path:
        raise OperationRefused("must provide a file name")
    return {"Path": path}


def _range_body(query: QueryDict) -> dict[str, object]:
    return _file_body(query) | {
        "Offset": read_integer(query, "offset") or 0,
        "Limit": read_integer(query, "limit") or 0,
    }


def _stream_body(query: QueryDict) -> dict[str, object]:
    follow = read_flag(query, "follow")
    return _file_body(query) | _position(query) | {"Follow": follow is not False}


def _logs_body(query: QueryDict) -> dict[str, object]:
    task, kind = query.get("task", ""), query.get("type", "")
    if not task:
        raise OperationRefused("must provide task name")
    if kind not in {"stdout", "stderr"}:
        raise OperationRefused("must provide log type (stdout/stderr)")
    return _position(query) | {
        "Task": task,
        "Type": kind,
        "Follow": read_flag(query, "follow") or False,
        "Plain": read_flag(query, "plain") or False,
    }


def _position(query: QueryDict) -> dict[str, object]:
    origin = query.get("origin") or "start"
    if origin not in {"start", "end"}:
        raise OperationRefused("origin must be start or end")
    return {"Origin": origin, "Offset": read_integer(query, "offset") or 0}


_FILE_BODIES: dict[str, Any] = {
    "ls": _path_body,
    "stat": _file_body,
    "cat": _file_body,
    "readat": _range_body,
    "stream": _stream_body,
    "logs": _logs_body,
}
