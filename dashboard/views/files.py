"""The files of an allocation: a page to read them, a download, a stream of what is added.

The agent is asked each time; it keeps secrets closed and paths inside (`cluster.agent`).
"""

import asyncio
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.translation import gettext, gettext_noop

from cluster.operations.agent_calls import NoPathToNode, call_agent, call_agent_once
from cluster.operations.errors import OperationRefused
from cluster.store.access import the_store
from dashboard.agent_streams import attached, streamed
from dashboard.asked_agents import panel_or_page
from dashboard.page import page
from dashboard.queries.files import PIECE, FilesTold, files_page
from dashboard.viewer import Viewer
from scheduler.structs.allocation import Allocation

#: Seconds that an agent may take to say what lies where.
_PATIENCE_S = 5.0
_TEXT = "text/plain; charset=utf-8"
_LONGEST_PATH = 4096
#: The node does not answer: no fault of this server, and another time it may.
_UNAVAILABLE = 424
_AWAY = gettext_noop(
    "Its node does not answer: its files are there, and are read from there alone."
)


@page
async def files(request: HttpRequest, viewer: Viewer, alloc_id: str) -> HttpResponse:
    """GET /allocations/<id>/files/?path=&offset=; the panel alone with `part=1`."""
    path = _path_of(request)
    offset = _offset_of(request)
    alloc = await _allocation(viewer, alloc_id)
    found, problem, status = None, "", 200
    if alloc is not None:
        try:
            async with asyncio.timeout(_PATIENCE_S):
                found = await _look(alloc, viewer, path, offset)
        except NoPathToNode:
            problem = gettext(_AWAY)
        except OperationRefused as refused:
            problem, status = _told(refused), refused.status
        except TimeoutError:
            problem = gettext(_AWAY)

    query = partial(files_page, alloc_id=alloc_id, found=found, problem=problem)
    answer = await panel_or_page(request, viewer, "files", query)
    # A panel within another page was answered, whatever its node says.
    if problem and answer.status_code == 200 and request.GET.get("part") != "1":
        answer.status_code = status
    return answer


@page
async def download(request: HttpRequest, viewer: Viewer, alloc_id: str) -> HttpResponseBase:
    """GET /allocations/<id>/file?path=: the whole file, as long as it is at this moment.

    Its length is told first: an answer that ends early is seen to be one.
    """
    path = _path_of(request)
    alloc = await _allocation(viewer, alloc_id)
    if alloc is None:
        return HttpResponse(
            gettext("There is no such allocation."), status=404, content_type=_TEXT
        )
    try:
        async with asyncio.timeout(_PATIENCE_S):
            facts = await _stat(alloc, viewer, path)
        if facts["IsDir"]:
            raise OperationRefused(gettext("{path} is a folder").format(path=path))
        size = int(facts["Size"])
        pieces = call_agent(
            alloc, "fs.readat", {"AllocID": alloc.id, "Path": path, "Limit": size or 1},
            by=viewer.caller,
        )  # fmt: skip
        response = await streamed(pieces, "application/octet-stream")
    except OperationRefused as refused:
        return _refusal(refused)
    except TimeoutError:
        return _away()
    return attached(response, PurePosixPath(path).name, size)


@page
async def follow(request: HttpRequest, viewer: Viewer, alloc_id: str) -> HttpResponseBase:
    """GET /allocations/<id>/file/follow?path=: the end of a file, then more as it is written."""
    alloc = await _allocation(viewer, alloc_id)
    if alloc is None:
        return HttpResponse(
            gettext("There is no such allocation."), status=404, content_type=_TEXT
        )
    body: dict[str, object] = {
        "AllocID": alloc.id,
        "Path": _path_of(request),
        "Origin": "end",
        "Offset": PIECE,
        "Follow": True,
        "Plain": True,
    }
    try:
        return await streamed(call_agent(alloc, "fs.stream", body, by=viewer.caller), _TEXT)
    except OperationRefused as refused:
        return _refusal(refused)


async def _look(alloc: Allocation, viewer: Viewer, path: str, offset: int) -> FilesTold:
    facts = {"IsDir": True} if path == "/" else await _stat(alloc, viewer, path)
    if facts["IsDir"]:
        return FilesTold(folder=path, entries=await _ls(alloc, viewer, path))
    folder = str(PurePosixPath(path).parent)
    body: dict[str, object] = {
        "AllocID": alloc.id, "Path": path, "Offset": offset, "Limit": PIECE,
    }  # fmt: skip
    piece = b"".join(
        [part async for part in call_agent(alloc, "fs.readat", body, by=viewer.caller)]
    )
    return FilesTold(
        folder=folder,
        entries=await _ls(alloc, viewer, folder),
        file=facts,
        path=path,
        offset=min(offset, int(facts["Size"])),
        piece=piece,
    )


async def _stat(alloc: Allocation, viewer: Viewer, path: str) -> Any:
    return await call_agent_once(
        alloc, "fs.stat", {"AllocID": alloc.id, "Path": path}, by=viewer.caller
    )


async def _ls(alloc: Allocation, viewer: Viewer, path: str) -> Any:
    return await call_agent_once(
        alloc, "fs.ls", {"AllocID": alloc.id, "Path": path}, by=viewer.caller
    )


async def _allocation(viewer: Viewer, alloc_id: str) -> Allocation | None:
    alloc = await the_store().aread(lambda reader: reader.allocation(alloc_id))
    return alloc if alloc is not None and viewer.sees(alloc.namespace) else None


def _path_of(request: HttpRequest) -> str:
    """The path asked for, from the allocation's directory on, without detours."""
    asked = request.GET.get("path", "/")[:_LONGEST_PATH]
    parts = [part for part in asked.split("/") if part not in ("", ".")]
    return "/" + "/".join(parts)


def _offset_of(request: HttpRequest) -> int:
    asked = request.GET.get("offset", "0")
    return int(asked) if asked.isascii() and asked.isdecimal() and len(asked) < 16 else 0


def _told(refused: OperationRefused) -> str:
    missing = getattr(refused, "missing", "")
    if missing:
        return gettext("You may not read its files; the right for it is {missing}.").format(
            missing=missing
        )
    text = str(refused)
    return text[:1].upper() + text[1:] + "."


def _refusal(refused: OperationRefused) -> HttpResponse:
    if isinstance(refused, NoPathToNode):
        return _away()
    return HttpResponse(_told(refused), status=refused.status, content_type=_TEXT)


def _away() -> HttpResponse:
    answer = HttpResponse(gettext(_AWAY), status=_UNAVAILABLE, content_type=_TEXT)
    answer["Retry-After"] = "5"
    return answer
