"""Differences of the blocks of a job, block by block, driven by a table.

In: two wire forms of an object. Out: field and object differences. Knows of job, group and task
only the lists of their blocks; putting those together is `diff`'s work.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from cluster.jobspec.diff_structs import DiffType, FieldDiff, ObjectDiff

Form = dict[str, object]


@dataclass(frozen=True, slots=True)
class Part:
    """One block of an object: its field, its shown name, and how two of them are matched.

    `how`: `one` object, `texts` (a set), `set` (objects by content), `map`, `deep` (flattened
    whole), or the name of the field by which list elements are matched.
    """

    field: str
    name: str
    how: str = "one"
    skip: frozenset[str] = frozenset()


def _parts(*texts: str) -> tuple[Part, ...]:
    """Parts written as `Field=Shown Name:how-skipped,skipped`."""
    parts = []
    for text in texts:
        head, _, skip = text.partition("-")
        head, _, how = head.partition(":")
        field, _, name = head.partition("=")
        skipped = frozenset(skip.split(",")) if skip else frozenset()
        parts.append(Part(field, name or field, how or "one", skipped))
    return tuple(parts)


JOB_PARTS = _parts(
    "Datacenters:texts", "Constraints=Constraint:set", "Affinities=Affinity:set", "Periodic",
    "ParameterizedJob", "Multiregion", "UI",
)  # fmt: skip
GROUP_PARTS = _parts(
    "Constraints=Constraint:set", "Affinities=Affinity:set", "RestartPolicy", "Migrate",
    "ReschedulePolicy", "EphemeralDisk", "Consul", "Update-Stagger,Strategy", "Disconnect",
    "Networks=Network:set-Device,CIDR,IP,MBits", "Scaling-CreateIndex,ModifyIndex",
    "Services=Service:Name", "Volumes=Volume:map",
)  # fmt: skip
TASK_PARTS = _parts(
    "Constraints=Constraint:set", "Affinities=Affinity:set", "Config:deep", "Resources",
    "LogConfig", "Lifecycle", "DispatchPayload", "Artifacts=Artifact:RelativeDest",
    "Services=Service:Name", "Vault", "Secrets=Secret:Name", "Consul",
    "Templates=Template:DestPath", "Identity", "Identities=Identity:Name", "Actions=Action:Name",
    "VolumeMounts=VolumeMount:set", "Schedule",
)  # fmt: skip
#: Blocks within blocks, by the shown name of the outer one.
_INNER: dict[str, tuple[Part, ...]] = {
    "Periodic": _parts("Specs:texts"),
    "ParameterizedJob": _parts("MetaOptional:texts", "MetaRequired:texts"),
    "UI": _parts("Links:set"),
    "Multiregion": _parts("Strategy", "Regions=Region:Name"),
    "Network": _parts(
        "ReservedPorts=Static Port:Label-IgnoreCollision",
        "DynamicPorts=Dynamic Port:Label-Value,IgnoreCollision", "DNS", "CNI=CNIConfig",
    ),
    "DNS": _parts("Servers:texts", "Searches:texts", "Options:texts"),
    "Scaling": _parts("Policy:deep"),
    "Service": _parts(
        "CanaryTags:texts", "Tags:texts", "Checks=Check:Name", "Connect=ConsulConnect:deep",
        "Identity", "Weights",
    ),
    "Check": _parts("Args:texts", "Header:deep", "CheckRestart"),
    "Identity": _parts("Audience:texts"),
    "Resources": _parts(
        "Networks=Network:set-Device,CIDR,IP,MBits", "Devices=Device:Name", "NUMA",
    ),
    "Device": _parts("Constraints=Constraint:set", "Affinities=Affinity:set"),
    "NUMA": _parts("Devices:texts"),
    "Vault": _parts("Policies:texts"),
    "Template": _parts("ChangeScript", "Wait=Template"),
    "ChangeScript": _parts("Args:texts"),
    "Secret": _parts("Config:deep"),
    "Action": _parts("Args:texts"),
    "Schedule": _parts("Cron"),
    "Volume": _parts("MountOptions"),
}  # fmt: skip


def field_diffs(old: Form, new: Form, *, unchanged: bool) -> tuple[FieldDiff, ...]:
    """The scalar fields of two objects; with `unchanged` also those that are the same."""
    before, after = flat(old), flat(new)
    diffs = []
    for name in sorted(before.keys() | after.keys()):
        left, right = before.get(name, ""), after.get(name, "")
        if left != right or unchanged:
            diffs.append(
                FieldDiff(type=_text_type(left, right).value, name=name, old=left, new=right)
            )
    return tuple(diffs)


def flat(form: Form) -> dict[str, str]:
    """Scalars, and the scalar entries of maps, as text."""
    result = {}
    for name, value in form.items():
        if isinstance(value, dict):
            for key, item in value.items():
                if isinstance(item, str | int | float):
                    result[f"{name}[{key}]"] = _text(item)
        elif isinstance(value, str | int | float):
            result[name] = _text(value)
    return result


def part_diffs(old: Form, new: Form, parts: tuple[Part, ...]) -> Iterator[ObjectDiff]:
    """The blocks of two objects that differ, in the order of the table."""
    for part in parts:
        before, after = old.get(part.field), new.get(part.field)
        if before == after:
            continue
        if part.how == "one":
            yield from _object(part, before, after)
        elif part.how == "texts":
            yield from _texts(part, before, after)
        elif part.how == "deep":
            yield from _deep(part, before, after)
        else:
            yield from _matched(part, before, after)


def _object(part: Part, old: object, new: object) -> Iterator[ObjectDiff]:
    before = _without(old, part.skip)
    after = _without(new, part.skip)
    if before == after:
        return
    inner = _INNER.get(part.name, ())
    names = {each.field for each in inner}
    fields = field_diffs(
        _without(before, names) or {}, _without(after, names) or {}, unchanged=True
    )
    objects = tuple(part_diffs(before or {}, after or {}, inner))
    yield ObjectDiff(
        type=_presence(before, after).value, name=part.name, fields=fields, objects=objects
    )


def _without(form: object, names: "frozenset[str] | set[str]") -> Form | None:
    if not isinstance(form, dict):
        return None
    return {name: value for name, value in form.items() if name not in names}


def _texts(part: Part, old: object, new: object) -> Iterator[ObjectDiff]:
    before = set(old) if isinstance(old, list | tuple) else set()
    after = set(new) if isinstance(new, list | tuple) else set()
    if before == after:
        return
    fields = [
        FieldDiff(
            type=_text_type(left, right).value,
            name=part.name,
            old=left,
            new=right,
        )
        for text in before | after
        for left, right in [
            (str(text) if text in before else "", str(text) if text in after else "")
        ]
    ]
    fields.sort(key=lambda field: (field.name, field.old, field.new))
    kind = DiffType.EDITED
    if before <= after:
        kind = DiffType.ADDED
    elif after <= before:
        kind = DiffType.DELETED
    yield ObjectDiff(type=kind.value, name=part.name, fields=tuple(fields))


def _deep(part: Part, old: object, new: object) -> Iterator[ObjectDiff]:
    before, after = deep_flat(old), deep_flat(new)
    fields = field_diffs({**before}, {**after}, unchanged=True)
    if any(field.type != DiffType.NONE for field in fields):
        kind = _presence(before or None, after or None)
        yield ObjectDiff(type=kind.value, name=part.name, fields=fields)


def deep_flat(value: object) -> dict[str, str]:
    """Everything inside a value as text: `args[0]`, `port_map[0][http]`."""
    result: dict[str, str] = {}
    pending: list[tuple[str, object]] = [("", value or {})]
    while pending:
        name, item = pending.pop()
        if isinstance(item, dict):
            pending.extend(
                (f"{name}[{key}]" if name else str(key), each) for key, each in item.items()
            )
        elif isinstance(item, list | tuple):
            pending.extend((f"{name}[{position}]", each) for position, each in enumerate(item))
        else:
            result[name] = "nil" if item is None else _text(item)
    return result


def _matched(part: Part, old: object, new: object) -> Iterator[ObjectDiff]:
    before, after = _by_key(part, old), _by_key(part, new)
    diffs: list[ObjectDiff] = []
    for key in before.keys() | after.keys():
        diffs.extend(_object(part, before.get(key), after.get(key)))
    diffs.sort(key=_object_order)
    yield from diffs


def _by_key(part: Part, value: object) -> dict[object, Form]:
    if isinstance(value, dict):
        return {key: item for key, item in value.items() if isinstance(item, dict)}
    result: dict[object, Form] = {}
    for item in value if isinstance(value, list | tuple) else ():
        content = _without(item, part.skip) or {}
        key = repr(sorted(deep_flat(content).items())) if part.how == "set" else item.get(part.how)
        # A second one of the same name is matched with the second one over there.
        count = 0
        while (key, count) in result:
            count += 1
        result[key, count] = item
    return result


def _object_order(diff: ObjectDiff) -> tuple[object, ...]:
    fields = tuple((field.name, field.old, field.new) for field in diff.fields)
    return diff.name, diff.type, len(diff.fields), len(diff.objects), fields


def _presence(old: object, new: object) -> DiffType:
    if old is None:
        return DiffType.ADDED
    return DiffType.DELETED if new is None else DiffType.EDITED


def _text_type(old: str, new: str) -> DiffType:
    if old == new:
        return DiffType.NONE
    if not old:
        return DiffType.ADDED
    return DiffType.EDITED if new else DiffType.DELETED


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
