"""What a job asks for and does not get, by the table in `carried_out`.

In: a job, or one of its groups. Out: those parts with their places, as warnings for its author and
as reasons for a node to fail the set-up of a task. A job that asks for nothing of it gets nothing.
"""

import functools
import typing
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from cluster.jobspec.carried_out import (
    INWARD_MOUNTS,
    NO_HOSTNAME,
    NO_MOUNTS,
    NO_RESOLVER,
    NO_WAY_OUT,
    OLD_FORM,
    TABLE,
    WITHOUT_MOUNTS,
    WITHOUT_NAMES,
    Fate,
    Row,
    name_in,
    word_of,
)
from cluster.jobspec.driver_options import option_row
from cluster.jobspec.quoting import quoted
from cluster.jobspec.request_form import RequestForm
from scheduler.structs.job import Job
from scheduler.structs.network import NetworkResource
from scheduler.structs.service import Check
from scheduler.structs.task_group import Task, TaskGroup
from scheduler.structs.wire import Wire, wire_name

#: How each of our warnings begins, so that they can be told from those of the reference.
HEAD = "Not carried out: "
#: Places named in one warning; the rest is counted.
MAX_PLACES = 3

_FAILS = ", so a real node fails the task before it starts"
_WAITS = ", so its group waits for a node that offers it"


class LeftOut(NamedTuple):
    """Something that a job asks for and that is not carried out."""

    #: As a job file calls it.
    name: str
    #: Group and task, as far as it lies in one.
    place: tuple[str, ...]
    #: The way to it in the job's JSON form.
    path: str
    fate: Fate
    why: str
    #: What comes of it, to go on with the reason.
    consequence: str = ""

    @property
    def sentence(self) -> str:
        """The warning about this part alone."""
        return _sentence(self, [self.place])

    @property
    def refusal(self) -> str:
        """What a node says that fails a task because of it."""
        return f"{self.name} is not carried out: {self.why}"


def parts_left_out(job: Job) -> list[LeftOut]:
    """Everything the job asks for in vain, from the outside in, in the order of its tasks."""
    return list(dict.fromkeys(_parts(job, (), "")))


def left_out_warnings(job: Job) -> tuple[str, ...]:
    """One warning for each kind of thing, with the places it stands at."""
    alike: dict[tuple[str, ...], list[LeftOut]] = {}
    for part in parts_left_out(job):
        alike.setdefault((part.name, part.why, part.consequence), []).append(part)
    return tuple(
        _sentence(parts[0], list(dict.fromkeys(part.place for part in parts)))
        for parts in alike.values()
    )


def dropped_fields(form: RequestForm) -> list[LeftOut]:
    """Fields of a request that a stored job has no place for, as the reference drops them."""
    return [
        LeftOut(
            word_of(field),
            (str(group["Name"]),),
            f"TaskGroups[{position}].{name}",
            row.fate,
            row.why,
        )
        for position, group in enumerate(form["TaskGroups"] or [])
        for field, row, name in _old_fields()
        if group[name]
    ]


@functools.cache
def _old_fields() -> tuple[tuple[str, Row, str], ...]:
    """Fields of a group that its older form had, with their names in a request."""
    return tuple(
        (field, row, wire_name(field))
        for field, row in TABLE[TaskGroup].items()
        if row.why == OLD_FORM
    )


def set_up_refusals(group: TaskGroup) -> dict[str, tuple[str, ...]]:
    """Why tasks of this group cannot be set up, by their names; "" stands for the group itself.

    Options of drivers are not looked at: only the driver sees their final values.
    """
    found: dict[str, list[str]] = {}
    for part in dict.fromkeys(_parts(group, (), "", options=False)):
        if part.fate is Fate.FAILS:
            task = part.place[1] if len(part.place) > 1 else ""
            found.setdefault(task, []).append(part.refusal)
    return {task: tuple(texts) for task, texts in found.items()}


def option_refusals(driver: str, config: Mapping[str, object]) -> list[str]:
    """Why a driver does not take these options; null means that one is not given."""
    given = (option for option, value in config.items() if value is not None)
    rows = ((option, option_row(driver, option)) for option in given)
    return [f"{option}: {row.why}" for option, row in rows if row and row.fate is Fate.FAILS]


def counted_checks(group: TaskGroup) -> tuple[str, ...]:
    """The names of the checks that have to pass before an allocation counts as healthy."""
    services = [*group.services, *(s for task in group.tasks for s in task.services)]
    return tuple(
        check.name or service.name
        for service in services
        if service.provider == "nomad"
        for check in service.checks
        if _counts(check)
    )


def _counts(check: Check) -> bool:
    return check.on_update != "ignore"


def _sentence(part: LeftOut, places: list[tuple[str, ...]]) -> str:
    where = _where(places)
    return f"{HEAD}{part.name}{where}: {part.why}{part.consequence}"


def _where(places: list[tuple[str, ...]]) -> str:
    if places == [()]:
        return ""
    kind = "task" if len(places[0]) > 1 else "group"
    named = [quoted(".".join(place)) for place in places[:MAX_PLACES]]
    if len(places) > MAX_PLACES:
        named.append(f"{len(places) - MAX_PLACES} more")
    head = ", ".join(named[:-1])
    return f" of {kind} {head} and {named[-1]}" if head else f" of {kind} {named[0]}"


def _parts(
    value: Wire, place: tuple[str, ...], path: str, *, options: bool = True
) -> Iterator[LeftOut]:
    if isinstance(value, Task | TaskGroup):
        place = (*place, value.name)
    for field, row, name in _told(type(value)):
        asked = getattr(value, field)
        if row.is_asked(asked):
            shown = f"{name} {quoted(asked)}" if field == "mode" else name
            way = _joined(path, value, field) + _first_of(asked)
            consequence = _WAITS if row.is_filtered(asked) else _consequence(row)
            yield LeftOut(shown, place, way, row.fate, row.why, consequence)
    if options and isinstance(value, Task):
        yield from _options(value, place, _joined(path, value, "config"))
    yield from _by_driver(value, place, path)
    for field in _inner(type(value)):
        below = getattr(value, field)
        if isinstance(below, Wire):
            yield from _parts(below, place, _joined(path, value, field), options=options)
        elif isinstance(below, tuple):
            for position, each in enumerate(below):
                way = f"{_joined(path, value, field)}[{position}]"
                yield from _parts(each, place, way, options=options)


def _options(task: Task, place: tuple[str, ...], path: str) -> Iterator[LeftOut]:
    for option, value in task.config.items():
        row = option_row(task.driver, option)
        if value is not None and row is not None and row.fate is not Fate.WORKS:
            name = f"option {quoted(option)}"
            way = f"{path}.{option}"
            yield LeftOut(name, place, way, row.fate, row.why, _consequence(row))


def _by_driver(value: Wire, place: tuple[str, ...], path: str) -> Iterator[LeftOut]:
    """What a driver leaves out, beside its options."""
    if isinstance(value, Task) and value.volume_mounts and value.driver in WITHOUT_MOUNTS:
        way, why = _joined(path, value, "volume_mounts"), NO_MOUNTS.format(value.driver)
        yield LeftOut("volume_mount", place, f"{way}[0]", Fate.FAILS, why, _FAILS)
    if isinstance(value, Task) and value.driver in INWARD_MOUNTS:
        yield from _outward(value, place, _joined(path, value, "volume_mounts"))
    if isinstance(value, TaskGroup):
        yield from _names(value, place, path)


def _outward(task: Task, place: tuple[str, ...], path: str) -> Iterator[LeftOut]:
    for position, mount in enumerate(task.volume_mounts):
        if mount.propagation_mode == "bidirectional":
            name = f"propagation_mode {quoted(mount.propagation_mode)}"
            way, why = f"{path}[{position}].PropagationMode", NO_WAY_OUT.format(task.driver)
            yield LeftOut(name, place, way, Fate.FAILS, why, _FAILS)


def _names(group: TaskGroup, place: tuple[str, ...], path: str) -> Iterator[LeftOut]:
    """What a group says of its network, and some of its tasks do not get."""
    network = group.networks[0] if group.networks else NetworkResource()
    way = f"{_joined(path, group, 'networks')}[0]"
    for task in group.tasks:
        where, has_names = (*place, task.name), task.driver not in WITHOUT_NAMES
        if network.dns is not None and not has_names:
            why = NO_RESOLVER.format(task.driver)
            yield LeftOut("network.dns", where, f"{way}.DNS", Fate.WARNS, why)
        if network.hostname and not has_names:
            why = NO_HOSTNAME.format(task.driver)
            yield LeftOut("network.hostname", where, f"{way}.Hostname", Fate.FAILS, why, _FAILS)


def _consequence(row: Row) -> str:
    return _FAILS if row.fate is Fate.FAILS else ""


def _first_of(asked: object) -> str:
    """The end of the way to the first of several values."""
    if isinstance(asked, dict):
        return f".{next(iter(asked))}"
    return "[0]" if isinstance(asked, tuple) else ""


@functools.cache
def _told(kind: type[Wire]) -> tuple[tuple[str, Row, str], ...]:
    """The fields of a struct of which anything could have to be told."""
    return tuple(
        (field, row, name_in(kind, field))
        for field, row in TABLE.get(kind, {}).items()
        if row.fate is not Fate.WORKS
    )


@functools.cache
def _inner(kind: type[Wire]) -> tuple[str, ...]:
    """The fields that hold structs in which something could have to be told."""
    return tuple(
        field
        for field, row in TABLE.get(kind, {}).items()
        if row.fate is Fate.WORKS
        and any(_told(inner) or _inner(inner) for inner in structs_in(kind, field))
    )


def structs_in(kind: type[Wire], field: str) -> list[type[Wire]]:
    """The structs that a field of a struct is made of."""
    return list(_wires(_hints(kind)[field]))


@functools.cache
def _hints(kind: type[Wire]) -> dict[str, object]:
    return typing.get_type_hints(kind)


def _wires(hint: object) -> Iterator[type[Wire]]:
    if isinstance(hint, type) and issubclass(hint, Wire):
        yield hint
    for argument in typing.get_args(hint):
        yield from _wires(argument)


def _joined(path: str, value: Wire, field: str) -> str:
    name = _wire_names(type(value))[field]
    return f"{path}.{name}" if path else name


@functools.cache
def _wire_names(kind: type[Wire]) -> dict[str, str]:
    return {field.name: field.encode_name for field in msgspec.structs.fields(kind)}
