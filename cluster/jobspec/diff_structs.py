"""The difference of two versions of a job, as the public API shows it. All values are text."""

from enum import StrEnum

from scheduler.structs.wire import Wire


class DiffType(StrEnum):
    """What has become of a thing."""

    NONE = "None"
    ADDED = "Added"
    DELETED = "Deleted"
    EDITED = "Edited"


class FieldDiff(Wire, frozen=True):
    """One field, before and after."""

    type: str = DiffType.NONE.value
    name: str = ""
    old: str = ""
    new: str = ""
    annotations: tuple[str, ...] = ()


class ObjectDiff(Wire, frozen=True):
    """One block. Once it differs at all, its unchanged fields are listed too."""

    type: str = DiffType.NONE.value
    name: str = ""
    fields: tuple[FieldDiff, ...] = ()
    objects: "tuple[ObjectDiff, ...]" = ()


class TaskDiff(Wire, frozen=True):
    """One task; unchanged ones are listed with type None."""

    type: str = DiffType.NONE.value
    name: str = ""
    fields: tuple[FieldDiff, ...] = ()
    objects: tuple[ObjectDiff, ...] = ()
    annotations: tuple[str, ...] = ()


class TaskGroupDiff(Wire, frozen=True):
    """One group. `updates` counts what a plan means to do with its allocations."""

    type: str = DiffType.NONE.value
    name: str = ""
    fields: tuple[FieldDiff, ...] = ()
    objects: tuple[ObjectDiff, ...] = ()
    tasks: tuple[TaskDiff, ...] = ()
    updates: dict[str, int] = {}


class JobDiff(Wire, frozen=True):
    """A whole job."""

    type: str = DiffType.NONE.value
    id: str = ""
    fields: tuple[FieldDiff, ...] = ()
    objects: tuple[ObjectDiff, ...] = ()
    task_groups: tuple[TaskGroupDiff, ...] = ()
