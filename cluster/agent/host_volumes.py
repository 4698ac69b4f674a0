"""The directories of a node that jobs may ask for, and where a task sees them (node-agent-2.md 7).

In: what the node offers, what a group asks for, a task. Out: the mounts for its driver, or
`HookFailed` in the reference's words. Nothing is linked or mounted here: drivers do that.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from cluster.agent.drivers.driver import Driver, HookFailed, Mount
from scheduler.structs.allocation import Allocation
from scheduler.structs.node import HostVolume
from scheduler.structs.task_group import Task, TaskGroup, VolumeAsk


class BadVolume(ValueError):
    """An operator's declaration that describes no volume."""


def declared_volume(text: str) -> HostVolume:
    """`NAME=PATH`, or `NAME=PATH:ro`. Raises BadVolume; the path must be a directory that exists.

    A node that cannot offer what its owner promised must not start as if it could.
    """
    name, sign, place = text.partition("=")
    read_only = place.endswith(":ro")
    path = place.removesuffix(":ro").removesuffix(":rw")
    if not (name and sign and path):
        raise BadVolume(f"expected NAME=PATH or NAME=PATH:ro, not {text!r}")
    if not Path(path).is_absolute():
        raise BadVolume(f'host volume "{name}": {path!r} is not an absolute path')
    if not Path(path).is_dir():
        raise BadVolume(f'host volume "{name}": {path!r} is not a directory')
    return HostVolume(name=name, path=path, read_only=read_only)


def declared_volumes(texts: object) -> tuple[HostVolume, ...]:
    """All that an operator declares. Raises BadVolume with every problem, one a line."""
    found: dict[str, HostVolume] = {}
    problems: list[str] = []
    for text in texts if isinstance(texts, list | tuple) else ():
        try:
            volume = declared_volume(str(text))
        except BadVolume as problem:
            problems.append(str(problem))
            continue
        if volume.name in found:
            problems.append(f'host volume "{volume.name}" is declared twice')
        found[volume.name] = volume
    if problems:
        raise BadVolume("\n".join(problems))
    return tuple(found.values())


def takes_mounts(driver: Driver) -> bool:
    """Whether a driver can show a task directories of the host at other places."""
    return bool(getattr(driver, "takes_mounts", False))


def source_of(ask: VolumeAsk, alloc: Allocation) -> str:
    """The volume's name on the node; with its index where every allocation has its own."""
    return ask.source + (alloc.name[alloc.name.rfind("[") :] if ask.per_alloc else "")


def mounts_of(
    task: Task,
    group: TaskGroup,
    alloc: Allocation,
    offered: Mapping[str, HostVolume],
    fill_in: Callable[[str], str],
) -> tuple[Mount, ...]:
    """Where the task sees which volume, in its own order. Raises HookFailed."""
    missing = sorted(
        {
            source_of(ask, alloc)
            for ask in group.volumes.values()
            if ask.type == "host" and source_of(ask, alloc) not in offered
        }
    )
    if missing:
        names = ", ".join(missing)
        raise HookFailed(f"volumes: host volume validation error: missing {names}")
    mounts = []
    for mount in task.volume_mounts:
        ask = group.volumes.get(fill_in(mount.volume))
        if ask is None or ask.type != "host":
            raise HookFailed(f"volumes: no host volume named: {mount.volume}")
        volume = offered[source_of(ask, alloc)]
        mounts.append(
            Mount(
                volume=volume.name,
                source=Path(volume.path),
                target=fill_in(mount.destination),
                read_only=volume.read_only or ask.read_only or mount.read_only,
                propagation=fill_in(mount.propagation_mode) or "private",
                selinux_label=mount.selinux_label,
            )
        )
    return tuple(mounts)


def require_mounting(driver: Driver, task: Task) -> None:
    """Refuse a task with volumes that its driver cannot show it. Raises HookFailed."""
    if not takes_mounts(driver):
        raise HookFailed(
            f'volumes: task driver "{driver.name}" for "{task.name}" does not support host volumes'
        )
