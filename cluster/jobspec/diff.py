"""The difference of two versions of a job, and what it means for running allocations.

In: two `Job`s, either of which may be missing; for annotations what a plan means to do. Out: a
`JobDiff` as the public API shows it. Decides nothing: whether an update is destructive is the
scheduler's word.
"""

from collections.abc import Mapping

import msgspec

from cluster.jobspec.diff_objects import (
    GROUP_PARTS,
    JOB_PARTS,
    TASK_PARTS,
    Form,
    Part,
    field_diffs,
    part_diffs,
)
from cluster.jobspec.diff_structs import (
    DiffType,
    FieldDiff,
    JobDiff,
    ObjectDiff,
    TaskDiff,
    TaskGroupDiff,
)
from scheduler.structs.job import Job
from scheduler.structs.plan_annotations import DesiredUpdates

#: What the record keeps of a job, as against what its author says.
_NOT_SAID = frozenset(
    [
        "ID",
        "Status",
        "StatusDescription",
        "Version",
        "Stable",
        "CreateIndex",
        "ModifyIndex",
        "JobModifyIndex",
        "Update",
        "SubmitTime",
        "NomadTokenID",
        "VersionTag",
    ]
)
#: Changes of a task that its running allocations can take.
_HARMLESS_FIELDS = frozenset({"KillTimeout"})
_HARMLESS_OBJECTS = frozenset({"Service", "Constraint", "Affinity", "Spread"})
_CREATE = "forces create"
_DESTROY = "forces destroy"
_REPLACE = "forces create/destroy update"
_IN_PLACE = "forces in-place update"
_UPDATE_WORDS = {
    "ignore": "ignore", "place": "create", "migrate": "migrate", "stop": "destroy",
    "canary": "canary", "in_place_update": "in-place update",
    "destructive_update": "create/destroy update",
}  # fmt: skip


def diff_jobs(old: Job | None, new: Job | None) -> JobDiff:
    """What an author changed from one job to another.

    Raises `ValueError` for two different jobs.
    """
    if old is not None and new is not None and old.id != new.id:
        raise ValueError(f"can not diff jobs with different IDs: {old.id!r} and {new.id!r}")
    before, after = _form(old), _form(new)
    groups = _group_diffs(before.pop("TaskGroups", ()), after.pop("TaskGroups", ()))
    fields, objects = _content(before, after, JOB_PARTS)
    is_changed = bool(fields or objects) or any(group.type != DiffType.NONE for group in groups)
    named = new or old
    return JobDiff(
        type=_kind(old, new, is_changed=is_changed).value,
        id=named.id if named else "",
        fields=fields,
        objects=objects,
        task_groups=groups,
    )


def _form(job: Job | None) -> Form:
    if job is None:
        return {}
    form: Form = msgspec.to_builtins(job)
    return {name: value for name, value in form.items() if name not in _NOT_SAID}


def _content(
    old: Form, new: Form, parts: tuple[Part, ...]
) -> tuple[tuple[FieldDiff, ...], tuple[ObjectDiff, ...]]:
    blocks = {part.field for part in parts} | {"Spreads", "ScalingPolicies", "CSIPluginConfig"}
    before = {name: value for name, value in old.items() if name not in blocks}
    after = {name: value for name, value in new.items() if name not in blocks}
    changed = tuple(
        field
        for field in field_diffs(before, after, unchanged=False)
        if field.type != DiffType.NONE
    )
    return changed, tuple(part_diffs(old, new, parts))


def _kind(old: object, new: object, *, is_changed: bool) -> DiffType:
    if old is None:
        return DiffType.ADDED
    if new is None:
        return DiffType.DELETED
    return DiffType.EDITED if is_changed else DiffType.NONE


def _by_name(forms: object) -> dict[str, Form]:
    items = forms if isinstance(forms, list | tuple) else ()
    return {str(form.get("Name")): form for form in items if isinstance(form, dict)}


def _group_diffs(old: object, new: object) -> tuple[TaskGroupDiff, ...]:
    before, after = _by_name(old), _by_name(new)
    return tuple(
        _group_diff(name, before.get(name), after.get(name))
        for name in sorted(before.keys() | after.keys())
    )


def _group_diff(name: str, old: Form | None, new: Form | None) -> TaskGroupDiff:
    before, after = _nameless(old), _nameless(new)
    tasks = _task_diffs(before.pop("Tasks", ()), after.pop("Tasks", ()))
    fields, objects = _content(before, after, GROUP_PARTS)
    is_changed = bool(fields or objects) or any(task.type != DiffType.NONE for task in tasks)
    kind = _kind(old, new, is_changed=is_changed)
    return TaskGroupDiff(type=kind.value, name=name, fields=fields, objects=objects, tasks=tasks)


def _nameless(form: Form | None) -> Form:
    return {name: value for name, value in (form or {}).items() if name != "Name"}


def _task_diffs(old: object, new: object) -> tuple[TaskDiff, ...]:
    before, after = _by_name(old), _by_name(new)
    return tuple(
        _task_diff(name, before.get(name), after.get(name))
        for name in sorted(before.keys() | after.keys())
    )


def _task_diff(name: str, old: Form | None, new: Form | None) -> TaskDiff:
    fields, objects = _content(_task_form(old), _task_form(new), TASK_PARTS)
    kind = _kind(old, new, is_changed=bool(fields or objects))
    return TaskDiff(type=kind.value, name=name, fields=fields, objects=objects)


def _task_form(form: Form | None) -> Form:
    # The restart policy a task has is its group's unless it says otherwise; it is shown there.
    return {name: value for name, value in _nameless(form).items() if name != "RestartPolicy"}


def annotate(diff: JobDiff, updates: Mapping[str, DesiredUpdates]) -> JobDiff:
    """The difference with what it forces, and with what a plan means to do in each group."""
    groups = tuple(_annotated_group(group, updates.get(group.name)) for group in diff.task_groups)
    return msgspec.structs.replace(diff, task_groups=groups)


def _annotated_group(group: TaskGroupDiff, updates: DesiredUpdates | None) -> TaskGroupDiff:
    counts = {}
    for attribute, word in _UPDATE_WORDS.items():
        count = getattr(updates, attribute) if updates is not None else 0
        if count:
            counts[word] = count
    return msgspec.structs.replace(
        group,
        fields=tuple(_annotated_count(field) for field in group.fields),
        tasks=tuple(_annotated_task(task, group.type) for task in group.tasks),
        updates=counts,
    )


def _annotated_count(field: FieldDiff) -> FieldDiff:
    if field.name != "Count":
        return field
    grows = int(field.new or 0) > int(field.old or 0)
    return msgspec.structs.replace(field, annotations=(_CREATE if grows else _DESTROY,))


def _annotated_task(task: TaskDiff, group_type: str) -> TaskDiff:
    if task.type == DiffType.NONE:
        return task
    if group_type in (DiffType.ADDED, DiffType.DELETED):
        word = _CREATE if task.type == DiffType.ADDED else _DESTROY
    else:
        word = _REPLACE if _replaces(task) else _IN_PLACE
    return msgspec.structs.replace(task, annotations=(word,))


def _replaces(task: TaskDiff) -> bool:
    if any(field.name not in _HARMLESS_FIELDS for field in task.fields):
        return True
    for block in task.objects:
        if block.name == "LogConfig":
            changed = {field.name for field in block.fields if field.type != DiffType.NONE}
            if "Disabled" in changed:
                return True
        elif block.name not in _HARMLESS_OBJECTS:
            return True
    return False
