"""A rehearsal as files: Mermaid text, a picture, its data, a note; as stories have them.

In: a reader, a rehearsal's id, the form. Out: text, in English, with the names that the viewer may
read.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from django.utils import translation

from cluster.rehearsal.result import Rehearsed
from cluster.store.ports import RecordReader
from dashboard.graphs.mermaid import graph_mermaid
from dashboard.queries.rehearsed_story import rehearsed_story
from dashboard.queries.story_files import FORMS, picture
from dashboard.queries.what_if_helps import help_texts
from dashboard.rehearsed import RehearsedGroupLine, group_lines
from dashboard.stories.note import plain, table
from dashboard.viewer import Viewer
from dashboard.wording import full_time, number, span

#: Groups that a note names.
_MOST = 50


def rehearsed_file(
    reader: RecordReader, viewer: Viewer, rehearsal_id: str, form: str, site: str
) -> str | None:
    """The text; None where there is no such form, or no rehearsal that found something."""
    if form not in FORMS:
        return None
    with translation.override("en"):
        story = rehearsed_story(reader, rehearsal_id, viewer.caller, viewer.now, "")
        if story is None:
            return None
        match form:
            case "mmd":
                return graph_mermaid(story["graph"], says_states=True)
            case "svg":
                return picture(story["graph"], site)
            case "md":
                return "\n".join(_note(story, site)) + "\n"
        result = msgspec.json.encode(story["result"])
        return msgspec.json.format(result, indent=2).decode() + "\n"


def _note(story: Mapping[str, Any], site: str) -> Iterator[str]:
    result: Rehearsed = story["result"]
    told, row = story["outcome"], story["row"]
    yield f"# {plain(story['story_title'])}"
    yield ""
    yield "Rehearsed, not done: the real scheduler was asked on a copy of the cluster."
    yield ""
    yield f"**{plain(told.strong)}** {plain(told.rest)}".rstrip()
    yield ""
    yield from table(
        ("", ""),
        [
            ("Asked by", row.by_name or "nobody known"),
            ("Record", f"index {number(result.index)}, {full_time(result.read_at)}"),
            ("Until all is calm", span(result.lasts)),
            *((each.word, f"{each.figure} {each.note}".rstrip()) for each in story["sums"]),
        ],
    )
    yield from _hurt([line for line in group_lines(result) if line.is_hurt or line.why])
    if result.helps:
        yield "## What would help"
        yield ""
        yield from (f"- {plain(each.text)}" for each in help_texts(result))
        yield ""
    for note in story["notes"]:
        yield f"- {plain(note)}"
    yield ""
    yield f"- The rehearsal: <{site}/what-if/{row.id}/>"


def _hurt(lines: list[RehearsedGroupLine]) -> Iterator[str]:
    if not lines:
        return
    yield "## Who falls, who waits"
    yield ""
    yield from table(
        ("Group", "Priority", "Lowest", "In the end", "Why"),
        [
            (
                f"{line.value.job_id}.{line.value.task_group}",
                number(line.value.priority),
                line.lowest,
                line.end,
                f"{line.why} {line.why_node.node_name}" if line.why_node else line.why,
            )
            for line in lines[:_MOST]
        ],
    )
