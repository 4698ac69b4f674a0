"""What a version of a job changed, in one line: `image of app 2.0 → 2.1 and 2 more`.

In: the difference of two versions. Out: words. All of it stands on the page of versions.
"""

from collections.abc import Iterable, Iterator

from django.utils.translation import gettext

from cluster.jobspec.diff_structs import DiffType, FieldDiff, JobDiff, ObjectDiff
from dashboard.versions import NOTHING, changes
from dashboard.wording import clipped, number, one_of

#: Changes that are told with what they were and became; the rest is counted.
_TOLD = 3
_LONGEST = 24
_ARROW = "\N{RIGHTWARDS ARROW}"


def changes_line(diff: JobDiff) -> str:
    """The first changes with their values, and how many more there are."""
    count = len(changes(diff))
    if not count:
        return gettext(NOTHING)
    valued = list(_valued(diff))
    # What came or went whole has no values, and is told by its name alone.
    told = valued[:_TOLD] if len(valued) >= min(count, _TOLD) else list(changes(diff))[:_TOLD]
    more = count - len(told)
    rest = [gettext("{more} more").format(more=number(more))] if more > 0 else []
    return one_of([*told, *rest], "and")


def _valued(diff: JobDiff) -> Iterator[str]:
    yield from _of_fields(diff.fields, "")
    yield from _of_objects(diff.objects, "")
    for group in diff.task_groups:
        if group.type != DiffType.EDITED.value:
            continue
        yield from _of_fields(group.fields, group.name)
        yield from _of_objects(group.objects, group.name)
        for task in group.tasks:
            if task.type == DiffType.EDITED.value:
                yield from _of_fields(task.fields, task.name)
                yield from _of_objects(task.objects, task.name)


def _of_objects(blocks: Iterable[ObjectDiff], place: str) -> Iterator[str]:
    for block in blocks:
        if block.type == DiffType.EDITED.value:
            yield from _of_fields(block.fields, place)
            yield from _of_objects(block.objects, place)


def _of_fields(fields: Iterable[FieldDiff], place: str) -> Iterator[str]:
    for field in fields:
        name = (
            gettext("{name} of {place}").format(name=field.name, place=place)
            if place
            else field.name
        )
        if field.type == DiffType.EDITED.value:
            yield f"{name} {clipped(field.old, _LONGEST)} {_ARROW} {clipped(field.new, _LONGEST)}"
        elif field.type == DiffType.ADDED.value:
            yield f"{name} {clipped(field.new, _LONGEST)}"
        elif field.type == DiffType.DELETED.value:
            yield gettext("{name} removed").format(name=name)
