"""The difference of two job versions as lines of text: what goes, what comes, and where.

In: a JobDiff. Out: lines with depth; unchanged fields are left out, their blocks only named.
"""

from collections.abc import Iterable, Iterator

import msgspec
from django.utils.translation import gettext

from cluster.jobspec.diff_structs import (
    DiffType,
    FieldDiff,
    JobDiff,
    ObjectDiff,
    TaskDiff,
    TaskGroupDiff,
)

QUIET, ADDED, REMOVED = "quiet", "added", "removed"
#: Longer differences are cut; the count is told.
MAX_LINES = 400


class DiffLine(msgspec.Struct, frozen=True):
    """One line; `kind` is also its CSS class: quiet, added or removed."""

    kind: str
    text: str


def diff_lines(diff: JobDiff) -> tuple[DiffLine, ...]:
    """Every change of a job, at most `MAX_LINES` of them."""
    lines = [*_fields(diff.fields, 0), *_objects(diff.objects, 0), *_groups(diff.task_groups)]
    if len(lines) > MAX_LINES:
        more = len(lines) - MAX_LINES
        return (
            *lines[:MAX_LINES],
            DiffLine(QUIET, gettext("  and {more} more lines").format(more=more)),
        )
    return tuple(lines)


def _groups(groups: Iterable[TaskGroupDiff]) -> Iterator[DiffLine]:
    for group in groups:
        if group.type == DiffType.NONE.value:
            continue
        yield _head(group.type, gettext('group "{group}"').format(group=group.name), 0)
        yield from _fields(group.fields, 1)
        yield from _objects(group.objects, 1)
        yield from _tasks(group.tasks)


def _tasks(tasks: Iterable[TaskDiff]) -> Iterator[DiffLine]:
    for task in tasks:
        if task.type == DiffType.NONE.value:
            continue
        forced = f"  ({', '.join(task.annotations)})" if task.annotations else ""
        yield _head(
            task.type, gettext('task "{task}"{forced}').format(task=task.name, forced=forced), 1
        )
        yield from _fields(task.fields, 2)
        yield from _objects(task.objects, 2)


def _objects(objects: Iterable[ObjectDiff], depth: int) -> Iterator[DiffLine]:
    for block in objects:
        if block.type == DiffType.NONE.value:
            continue
        yield _head(block.type, block.name, depth)
        yield from _fields(block.fields, depth + 1)
        yield from _objects(block.objects, depth + 1)


def _fields(fields: Iterable[FieldDiff], depth: int) -> Iterator[DiffLine]:
    for field in fields:
        if field.type == DiffType.NONE.value:
            continue
        note = f"  ({', '.join(field.annotations)})" if field.annotations else ""
        if field.type in {DiffType.DELETED.value, DiffType.EDITED.value} and (
            field.old or field.type == DiffType.DELETED.value
        ):
            yield diff_line(REMOVED, f"{field.name} = {_shown(field.old)}", depth)
        if field.type in {DiffType.ADDED.value, DiffType.EDITED.value}:
            yield diff_line(ADDED, f"{field.name} = {_shown(field.new)}{note}", depth)


def _head(kind: str, text: str, depth: int) -> DiffLine:
    kinds = {DiffType.ADDED.value: ADDED, DiffType.DELETED.value: REMOVED}
    return diff_line(kinds.get(kind, QUIET), text, depth)


def diff_line(kind: str, text: str, depth: int) -> DiffLine:
    """A line with its sign, `depth` blocks within."""
    sign = {ADDED: "+", REMOVED: "\N{MINUS SIGN}"}.get(kind, " ")
    return DiffLine(kind, f"{sign} {'  ' * depth}{text}")


def _shown(value: str) -> str:
    return value or '""'
