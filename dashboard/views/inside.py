"""The page "Inside": sizes, counts, and what keeps them within bounds."""

import asyncio
import shutil
from pathlib import Path

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from cluster.store.access import the_store
from cluster.store.sizes import read_sizes
from dashboard.page import page, shown
from dashboard.queries.inside import Bounds, Disk, inside_context
from dashboard.viewer import Viewer

_DAY_S = 24 * 3600


@page
async def inside(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /inside/."""
    sizes = await the_store().aread_call(read_sizes, now=viewer.now)
    logs, disk = await asyncio.to_thread(_files_of, settings.BIVOUAC_DATA_DIR)
    context = inside_context(sizes, _bounds(), logs, disk, viewer.now)
    return await shown(request, viewer, "dashboard/inside.html", lambda _reader, _viewer: context)


def _bounds() -> Bounds:
    return Bounds(
        event_hours=settings.BIVOUAC_EVENT_HOURS,
        event_bytes=settings.BIVOUAC_EVENT_BYTES,
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
