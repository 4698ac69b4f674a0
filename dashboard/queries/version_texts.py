"""Two versions of a job as whole texts: the job files that they came as, or the jobs as JSON.

In: a reader, two versions, which text. Out: all lines in the order of the newer text, those that
only one of the two has marked; or why there are none.
"""

from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import chain
from typing import NamedTuple

from django.utils.translation import gettext, gettext_noop

from cluster.store.ports import RecordReader
from dashboard.queries.differences import ADDED, QUIET, REMOVED, DiffLine, diff_line
from dashboard.queries.job_source import as_json
from dashboard.wording import number
from scheduler.state.nouns import JOB_SUBMISSIONS
from scheduler.structs.job import Job

#: What can be looked at: word of the address, word of the page. The first is no whole text.
VIEWS = (
    ("", gettext_noop("Changes")),
    ("file", gettext_noop("Whole file")),
    ("json", gettext_noop("As JSON")),
)
FILE, JSON = "file", "json"
#: Longer texts are not laid beside each other.
MOST_LINES = 2_000


class WholeTexts(NamedTuple):
    """All lines of both, or why there are none."""

    lines: tuple[DiffLine, ...] = ()
    why_none: str = ""


def whole_texts(reader: RecordReader, older: Job, newer: Job, view: str) -> WholeTexts:
    """`view` is FILE or JSON."""
    texts = []
    for version in (older, newer):
        text = as_json(version) if view == JSON else _file(reader, version)
        if not text:
            return WholeTexts(
                why_none=gettext("The text that v{version} came as was not kept.").format(
                    version=version.version
                )
            )
        texts.append(text.splitlines())
    if max(map(len, texts)) > MOST_LINES:
        return WholeTexts(
            why_none=gettext("Texts of more than {lines} lines are not compared here.").format(
                lines=number(MOST_LINES)
            )
        )
    return WholeTexts(tuple(_lines(*texts)))


def _file(reader: RecordReader, version: Job) -> str:
    submission = reader.get(JOB_SUBMISSIONS, (version.key, version.version))
    return submission.source if submission is not None else ""


def _lines(before: list[str], after: list[str]) -> Iterator[DiffLine]:
    # Lines that stand everywhere in a long text are no landmarks; with them it takes seconds.
    same = SequenceMatcher(a=before, b=after, autojunk=True)
    for kind, start, end, new_start, new_end in same.get_opcodes():
        if kind == "equal":
            yield from (diff_line(QUIET, text, 0) for text in after[new_start:new_end])
        else:
            gone = (diff_line(REMOVED, text, 0) for text in before[start:end])
            yield from chain(
                gone, (diff_line(ADDED, text, 0) for text in after[new_start:new_end])
            )
