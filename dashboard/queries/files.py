"""The files of an allocation as its page shows them: a folder, a file's text piece by piece.

In: what the agent told. Out: the context of `files.html`. Nothing of it is in the record.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import msgspec
from django.utils.translation import gettext

from cluster.page_addresses import job_url
from cluster.store.ports import RecordReader
from dashboard.viewer import Absent, Viewer, crumbs
from dashboard.wording import count_of, data_size, number

#: Bytes of a file on one page, and entries of a folder; what is beyond is told.
PIECE = 64 * 1024
MOST_ENTRIES = 500
#: Folders of a task whose files no agent gives out.
CLOSED = ("secrets", "private")


class FileLine(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a folder."""

    name: str
    url: str
    is_dir: bool
    size: str
    is_current: bool
    #: A folder whose files are not given out.
    is_closed: bool = False


class FileText(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a file."""

    name: str
    path: str
    size: int
    changed: str
    text: str
    #: No text: it is downloaded.
    is_binary: bool
    begin: int
    end: int
    earlier: str
    later: str
    last: str
    download: str
    follow: str

    @property
    def is_whole(self) -> bool:
        return self.begin == 0 and self.end >= self.size


class FilesTold(msgspec.Struct, frozen=True, kw_only=True):
    """What the agent told of a folder, and of a file in it where one was asked for."""

    folder: str
    entries: Sequence[Mapping[str, Any]] = ()
    file: Mapping[str, Any] | None = None
    path: str = ""
    offset: int = 0
    piece: bytes = b""


def files_page(
    reader: RecordReader, viewer: Viewer, alloc_id: str, found: FilesTold | None, problem: str
) -> dict[str, Any]:
    """The context of the page; `problem`: why the agent told nothing. Raises Absent."""
    alloc = reader.allocation(alloc_id)
    if alloc is None or not viewer.sees(alloc.namespace):
        raise Absent
    address = f"/allocations/{alloc.id}/"
    context: dict[str, Any] = {
        "alloc": alloc,
        "crumbs": crumbs(
            ("Jobs", "/jobs/"), (alloc.job_id, job_url(alloc.job_key)), (alloc.name, address),
            ("files", ""),
        ),
        "namespace": alloc.namespace,
        "problem": problem,
        "address": f"{address}files/",
        "own_url": f"{address}files/",
    }  # fmt: skip
    if found is None:
        return context
    lines = _lines(address, found)
    file = None if found.file is None else _text(address, found)
    return context | {
        "places": _places(address, found.folder),
        "lines": lines[:MOST_ENTRIES],
        "left_out": max(0, len(lines) - MOST_ENTRIES),
        "file": file,
        "own_url": address_of(address, found.path or found.folder),
        "part": "" if file is None else told_part(file),
        "told": count_of(len(lines), "{count} entry", "{count} entries"),
    }


def is_binary(piece: bytes) -> bool:
    """Whether bytes are no text: they hold a zero, or are no UTF-8 even if they are cut."""
    if b"\0" in piece:
        return True
    try:
        piece.decode()
    except UnicodeDecodeError as error:
        # A letter may be cut by either end of the piece.
        return not (error.start < 4 or error.start > len(piece) - 4)
    return False


def address_of(base: str, path: str, **query: str | int) -> str:
    """The page of a path of an allocation."""
    return f"{base}files/?{urlencode({'path': path, **query})}"


def _places(address: str, folder: str) -> list[dict[str, str]]:
    parts = [part for part in folder.split("/") if part]
    return [
        {"word": gettext("alloc dir"), "url": address_of(address, "/")},
        *(
            {"word": part, "url": address_of(address, "/" + "/".join(parts[: number + 1]))}
            for number, part in enumerate(parts)
        ),
    ]


def _lines(address: str, found: FilesTold) -> list[FileLine]:
    """Folders first, each by name."""
    base = "" if found.folder == "/" else found.folder
    depth = len([part for part in base.split("/") if part])
    ordered = sorted(found.entries, key=lambda each: (not each["IsDir"], str(each["Name"])))
    return [
        FileLine(
            name=str(each["Name"]),
            url=address_of(address, f"{base}/{each['Name']}"),
            is_dir=bool(each["IsDir"]),
            size="" if each["IsDir"] else data_size(int(each["Size"])),
            is_current=f"{base}/{each['Name']}" == found.path,
            is_closed=depth == 1 and base != "/alloc" and each["Name"] in CLOSED,
        )
        for each in ordered
    ]


def _text(address: str, found: FilesTold) -> FileText:
    assert found.file is not None, "only of a file"
    size, piece = int(found.file["Size"]), found.piece
    begin, end = found.offset, found.offset + len(piece)
    binary = is_binary(piece)
    query = urlencode({"path": found.path})

    def piece_at(offset: int) -> str:
        return address_of(address, found.path, offset=offset)

    return FileText(
        name=str(found.file["Name"]),
        path=found.path,
        size=size,
        changed=str(found.file["ModTime"])[:19].replace("T", " "),
        text="" if binary else piece.decode("utf-8", "replace"),
        is_binary=binary,
        begin=begin,
        end=end,
        earlier=piece_at(max(0, begin - PIECE)) if begin else "",
        later=piece_at(end) if end < size and piece else "",
        last=piece_at(size - PIECE) if end < size and size > PIECE else "",
        download=f"{address}file?{query}",
        follow="" if binary else f"{address}file/follow?{query}",
    )


def told_part(file: FileText) -> str:
    """Which part is shown, in words."""
    if file.is_whole:
        return data_size(file.size)
    return gettext("bytes {begin} to {end} of {size}").format(
        begin=number(file.begin), end=number(file.end), size=number(file.size)
    )
