"""The page "Inside": sizes, counts, what keeps them within bounds, and what is collected."""

import asyncio
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext, gettext_noop

from cluster.operations.errors import Conflict, OperationRefused
from cluster.operations.garbage import (
    collection_settings,
    demand_collection,
    set_collection_overrides,
)
from cluster.store.access import the_store
from cluster.store.ports import RecordReader
from cluster.store.sizes import read_sizes
from dashboard.acts import note_refusal
from dashboard.page import action, page, shown
from dashboard.queries.collection import collection_lines, read_collections
from dashboard.queries.collection_settings import (
    TypedSettings,
    error_told,
    read_typed,
    setting_lines,
)
from dashboard.queries.inside import Bounds, Disk, inside_context
from dashboard.viewer import Viewer

_DAY_S = 24 * 3600
_COLLECT_TEXT = gettext_noop(
    "All ended work that may go is deleted at once, however young: it cannot be looked at any"
    " more. What runs, and jobs with a tagged version, stay."
)

#: Indexes are smaller than 2**63.
_INDEX_DIGITS = 20
_MOVED_ON = gettext_noop(
    "Somebody changed these settings since you opened the page."
    " Open it again to see how they stand."
)


@page
async def inside(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /inside/."""
    return await _shown(request, viewer)


async def _shown(
    request: HttpRequest, viewer: Viewer, typed: TypedSettings | None = None, problem: str = ""
) -> HttpResponse:
    """The page; with the form as it was typed where nothing was stored of it."""
    sizes = await the_store().aread_call(read_sizes, now=viewer.now)
    logs, disk = await asyncio.to_thread(_files_of, settings.BIVOUAC_DATA_DIR)
    context = inside_context(sizes, _bounds(), logs, disk, viewer.now)
    told = collection_settings()

    def query(reader: RecordReader, _viewer: Viewer) -> Mapping[str, Any]:
        stored = reader.collection_overrides()
        runs = read_collections(reader)
        return {
            **context,
            "collections": collection_lines(runs, stored.over(told), viewer.now),
            "collect_text": gettext(_COLLECT_TEXT),
            "collection_settings": setting_lines(told, stored, typed),
            "overridden": len(stored.values),
            "seen": request.POST.get("seen", "") if typed else stored.modify_index,
            "collection_problem": problem,
            "http_status": 400 if typed else 200,
        }

    return await shown(request, viewer, "dashboard/inside.html", query)


@action
async def set_collection(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """POST /inside/collection/: what stands in place of the environment's settings, whole."""
    fields = {} if "back" in request.POST else request.POST.dict()
    typed = read_typed(fields)
    seen = request.POST.get("seen", "")
    refusal: OperationRefused | None = None
    problem = ""
    if typed.errors:
        problem = error_told(typed)
        refusal = OperationRefused(problem.removesuffix("."))
    else:
        try:
            await the_store().awrite_call(
                set_collection_overrides,
                typed.overrides,
                expected_index=int(seen) if seen.isdecimal() and len(seen) < _INDEX_DIGITS else -1,
                by=viewer.caller,
                now=viewer.now,
            )
        except Conflict as moved:
            refusal, problem = moved, gettext(_MOVED_ON)
        except OperationRefused as refused:
            refusal, problem = refused, f"{refused}."
    if refusal is not None:
        note_refusal(request, viewer.caller, refusal)
        return await _shown(request, viewer, typed, problem)
    messages.success(
        request, gettext("The settings of collection are saved. They count from now on.")
    )
    # A browser keeps the form's fragment else, and what is told stands above it.
    return redirect("/inside/#content")


@action
async def collect(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """POST /inside/collect/: have all that may go collected, however young."""
    try:
        await the_store().awrite_call(demand_collection, by=viewer.caller, now=viewer.now)
    except OperationRefused as refusal:
        note_refusal(request, viewer.caller, refusal)
        messages.error(
            request, gettext("Nothing is collected: {refusal}.").format(refusal=refusal)
        )
    else:
        messages.success(request, gettext("What nobody needs any more is being collected."))
    return redirect("inside")


def _bounds() -> Bounds:
    return Bounds(
        event_hours=settings.BIVOUAC_EVENT_HOURS,
        event_bytes=settings.BIVOUAC_EVENT_BYTES,
        explained_runs=settings.BIVOUAC_EXPLAINED_RUNS,
        explained_bytes=settings.BIVOUAC_EXPLAINED_BYTES,
        stub_days=settings.BIVOUAC_STUB_DAYS,
        stub_count=settings.BIVOUAC_STUB_COUNT,
        session_days=settings.SESSION_COOKIE_AGE / _DAY_S,
        audit_days=settings.BIVOUAC_AUDIT_KEEP,
        log_bytes=settings.BIVOUAC_LOG_BYTES,
        log_files=settings.BIVOUAC_LOG_FILES,
    )


def _files_of(data_dir: Path) -> tuple[list[tuple[str, int]], Disk]:
    """The logs with their sizes, and the disk; of this machine, where others have their own."""
    logs = sorted((data_dir / "logs").glob("*.log*"))
    usage = shutil.disk_usage(data_dir)
    return [(file.name, file.stat().st_size) for file in logs], Disk(usage.free, usage.total)
