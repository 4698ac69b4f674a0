"""The output of a task as a page of lines: the newest, those that hold a text, those of a time.

In: bytes of output, what is looked for. Out: the context of `output.html`. Knows no agent; works
the same without scripts.
"""

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import msgspec
from django.utils.translation import gettext

from cluster.page_addresses import job_url
from cluster.store.ports import RecordReader
from dashboard.viewer import Absent, Viewer, crumbs
from dashboard.wording import count_of, data_size, number

#: Bytes of output that are searched, the newest; lines on one page, and letters of a line.
SEARCHED = 8 * 1024 * 1024
MOST_LINES = 200
_LONGEST_LINE = 4000
_LONGEST_FIND = 200
#: A time at the begin of a line: with its day or without, maybe in brackets.
_TIME = re.compile(rb"^[\[(\"']?(\d{4}-\d\d-\d\d)?[T ]?(\d\d:\d\d:\d\d)")
_ASKED = re.compile(r"(?:(\d{4}-\d\d-\d\d)[T ])?(\d\d:\d\d)(?::(\d\d))?")


class OutputWish(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody looks for."""

    task: str = ""
    type: str = "stdout"
    find: str = ""
    at: str = ""


class OutputLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line: its number from the first that was searched, its text around what was found."""

    number: int
    parts: tuple[tuple[bool, str], ...]


def output_page(
    reader: RecordReader,
    viewer: Viewer,
    alloc_id: str,
    wish: OutputWish,
    output: bytes | None,
    problem: str,
) -> dict[str, Any]:
    """The context of the page; `output` is None for the reason `problem`. Raises Absent."""
    alloc = reader.allocation(alloc_id)
    if alloc is None or not viewer.sees(alloc.namespace):
        raise Absent
    address = f"/allocations/{alloc.id}/"
    job = reader.job_of(alloc)
    group = job.task_group(alloc.task_group) if job is not None else None
    query = urlencode({"task": wish.task, "type": wish.type})
    context: dict[str, Any] = {
        "alloc": alloc,
        "wish": wish,
        "tasks": [task.name for task in group.tasks] if group else sorted(alloc.task_states),
        "crumbs": crumbs(
            ("Jobs", "/jobs/"), (alloc.job_id, job_url(alloc.job_key)), (alloc.name, address),
            ("output", ""),
        ),
        "namespace": alloc.namespace,
        "problem": problem,
        "download": f"{address}logs?{query}&download",
    }  # fmt: skip
    return context | (found_lines(output, wish) if output is not None else {})


def found_lines(output: bytes, wish: OutputWish) -> dict[str, Any]:
    """The lines that are shown, and a sentence about them."""
    lines = output.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    is_part = len(output) >= SEARCHED
    if is_part and len(lines) > 1:
        # It begins in the middle of one.
        lines = lines[1:]
    of = (
        gettext("the newest {searched}").format(searched=data_size(SEARCHED))
        if is_part
        else gettext("all that is kept")
    )
    begin, note = _begin_at(lines, wish.at) if wish.at else (0, "")
    chosen = list(range(begin, len(lines)))
    find = wish.find[:_LONGEST_FIND].casefold()
    if find:
        chosen = [at for at in chosen if find in _text(lines[at]).casefold()]
        told = gettext("{lines} it, in {of}").format(
            lines=count_of(len(chosen), "{count} line holds", "{count} lines hold"), of=of
        )
    else:
        told = gettext("{line} in {of}").format(
            line=count_of(len(lines), "{count} line", "{count} lines"), of=of
        )
    shown = chosen[:MOST_LINES] if wish.at else chosen[-MOST_LINES:]
    if len(chosen) > len(shown):
        which = "first" if wish.at else "newest"
        told += gettext("; the {which} {shown} are shown").format(
            which=which, shown=number(len(shown))
        )
    return {
        "told": told,
        "note": note,
        "has_times": any(_time_of(line) for line in lines[-50:]),
        "lines": [
            OutputLine(number=at + 1, parts=_marked(_text(lines[at])[:_LONGEST_LINE], find))
            for at in shown
        ],
    }


def _begin_at(lines: Sequence[bytes], asked: str) -> tuple[int, str]:
    """The first line at a time or after it, and why there is none."""
    read = _ASKED.fullmatch(asked.strip())
    if read is None:
        return 0, gettext("A time is written 14:05, 14:05:30 or 2026-11-22 14:05:30.")
    times = [(place, found) for place, line in enumerate(lines) if (found := _time_of(line))]
    if not times:
        return 0, gettext("No line begins with a time: there is nothing to jump to.")
    day = read[1] or times[-1][1][0]
    wanted = (day, f"{read[2]}:{read[3] or '00'}")
    for place, found in times:
        if found >= wanted:
            return place, ""
    return len(lines), gettext("Nothing was written at that time or later.")


def _time_of(line: bytes) -> tuple[str, str] | None:
    """Day, "" for none, and time at the begin of a line."""
    found = _TIME.match(line)
    return ((found[1] or b"").decode(), found[2].decode()) if found else None


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace")


def _marked(text: str, find: str) -> tuple[tuple[bool, str], ...]:
    """The text in parts: whether each is what was looked for."""
    folded = text.casefold()
    # A letter may fold to several: then places would not fit, and nothing is marked.
    if not find or len(folded) != len(text):
        return ((False, text),)
    parts, begin = [], 0
    while (at := folded.find(find, begin)) >= 0:
        parts += [(False, text[begin:at]), (True, text[at : at + len(find)])]
        begin = at + len(find)
    parts.append((False, text[begin:]))
    return tuple((is_found, part) for is_found, part in parts if part)
