"""What is told of a job's versions: how one stands, what it changed, what going back to it means.

In: versions of one job, their difference, the status of a deployment. Out: words. Knows no reader.
"""

from collections.abc import Iterable, Iterator, Sequence

from django.utils.translation import gettext, gettext_noop

from cluster.jobspec.diff import diff_jobs
from cluster.jobspec.diff_structs import (
    DiffType,
    FieldDiff,
    JobDiff,
    ObjectDiff,
    TaskDiff,
    TaskGroupDiff,
)
from dashboard.wording import count_of, number
from scheduler.structs.deployment import DeploymentStatus
from scheduler.structs.job import Job, JobType

#: Changes that are named; the rest is counted.
_NAMED = 3
_DIFFERS = frozenset({DiffType.ADDED.value, DiffType.DELETED.value, DiffType.EDITED.value})
_BECAME = {DiffType.ADDED.value: "added", DiffType.DELETED.value: "removed"}
NOTHING = gettext_noop("nothing its author says")


def version_state(version: Job, current: Job, rollout: DeploymentStatus | None) -> tuple[str, str]:
    """How a version stands: a key of the labels of versions, and the words for it."""
    if version.stop:
        return "stops", gettext("stops the job")
    if version.version == current.version:
        return "current", gettext("current, stable") if version.stable else "current"
    if version.stable:
        return "stable", "stable"
    if rollout is DeploymentStatus.FAILED:
        return "failed", "failed"
    return "older", gettext("not stable") if version.type == JobType.SERVICE.value else "older"


def changes(diff: JobDiff) -> tuple[str, ...]:
    """Each change in a few words: `Priority`, `image of web`, `group cache added`."""
    return (*_of_fields(diff.fields, ""), *_of_objects(diff.objects, ""), *_of_groups(diff))


def changes_told(diff: JobDiff) -> str:
    """The changes counted, and the first of them named: `2 changes: Priority, image of web`."""
    found = changes(diff)
    named = changes_named(diff)
    if not found:
        return named
    return f"{count_of(len(found), '{count} change', '{count} changes')}: {named}"


def changes_named(diff: JobDiff) -> str:
    """The first of the changes by name: `Priority, image of web`."""
    found = changes(diff)
    if not found:
        return gettext(NOTHING)
    named = ", ".join(found[:_NAMED])
    more = len(found) - _NAMED
    rest = gettext(" and {more} more").format(more=number(more)) if more > 0 else ""
    return f"{named}{rest}"


def going_back(current: Job, version: Job) -> str:
    """What the scheduler will be asked for when a version is stored again as the newest.

    What is wanted, not what there is room for: the rollout that follows says the rest.
    """
    after = {group.name: group for group in version.task_groups}
    before = {group.name: group for group in current.task_groups if not current.stop}
    parts = [
        gettext("{name} goes from {count} to {count2}").format(
            name=name, count=number(before[name].count), count2=number(after[name].count)
        )
        for name in before
        if name in after and before[name].count != after[name].count
    ]
    parts += [gettext("{name} goes").format(name=name) for name in before if name not in after]
    parts += [gettext("{name} comes").format(name=name) for name in after if name not in before]
    parts += _replaced(diff_jobs(current, version), {*before} & {*after})
    if not parts:
        return gettext(
            "It asks for what is asked for now: nothing is replaced because of its groups."
        )
    return f"{'; '.join(parts)}."


def counts_told(current: Job, version: Job) -> str:
    """The counts of now of groups that have others in the version: `web 6, cache 2`."""
    if current.stop:
        return ""
    after = {group.name: group.count for group in version.task_groups}
    return ", ".join(
        f"{group.name} {number(group.count)}"
        for group in current.task_groups
        if after.get(group.name, group.count) != group.count
    )


def comparison_told(older: Job, newer: Job, diff: JobDiff) -> str:
    """The heading of a comparison says which; this says how much."""
    if older.version == newer.version:
        return gettext("the same version twice")
    count = len(changes(diff))
    return (
        gettext("they say the same")
        if not count
        else count_of(count, "{count} change", "{count} changes")
    )


def kept_told(versions: Sequence[Job]) -> str:
    """How many there are to choose from, and of these the tagged ones."""
    tagged = sum(version.version_tag is not None for version in versions)
    told = gettext("{version} kept").format(
        version=count_of(len(versions), "{count} version", "{count} versions")
    )
    return (
        gettext("{told}, {tagged} tagged").format(told=told, tagged=number(tagged))
        if tagged
        else told
    )


def _replaced(diff: JobDiff, groups: set[str]) -> list[str]:
    changed = [
        gettext("{task} of {group}").format(task=task.name, group=group.name)
        for group in diff.task_groups
        if group.name in groups
        for task in group.tasks
        if task.type in _DIFFERS
    ]
    if not changed:
        return []
    named = ", ".join(changed[:_NAMED])
    more = len(changed) - _NAMED
    return [
        gettext("changed: {named}{part}").format(
            named=named,
            part=gettext(" and {more} more").format(more=number(more)) if more > 0 else "",
        )
    ]


def _of_groups(diff: JobDiff) -> Iterator[str]:
    for group in diff.task_groups:
        if group.type in _BECAME:
            yield gettext("group {group} {became}").format(
                group=group.name, became=_BECAME[group.type]
            )
        elif group.type in _DIFFERS:
            yield from _within(group)
            for task in group.tasks:
                if task.type in _BECAME:
                    yield gettext("task {task} {became}").format(
                        task=task.name, became=_BECAME[task.type]
                    )
                elif task.type in _DIFFERS:
                    yield from _within(task)


def _within(part: TaskGroupDiff | TaskDiff) -> Iterator[str]:
    yield from _of_fields(part.fields, part.name)
    yield from _of_objects(part.objects, part.name)


def _of_objects(blocks: Iterable[ObjectDiff], place: str) -> Iterator[str]:
    for block in blocks:
        if block.type in _BECAME:
            yield _placed(f"{block.name} {_BECAME[block.type]}", place, "in")
        elif block.type in _DIFFERS:
            yield from _of_fields(block.fields, place)
            yield from _of_objects(block.objects, place)


def _of_fields(fields: Iterable[FieldDiff], place: str) -> Iterator[str]:
    for field in fields:
        if field.type in _DIFFERS:
            yield _placed(field.name, place, "of")


def _placed(words: str, place: str, link: str) -> str:
    return f"{words} {link} {place}" if place else words
