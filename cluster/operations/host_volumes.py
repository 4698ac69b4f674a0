"""Host volumes in the record: begin one, note what its agent made, let one go, drop a claim.

In: a store and what is asked. Out: the index and the volume, or `OperationRefused` with nothing
written. Who asks the agent in between is `volume_calls`.
"""

from typing import NamedTuple

from msgspec.structs import replace

from cluster.operations.errors import NotFound, OperationRefused
from cluster.operations.rights import require
from cluster.operations.volume_placing import check_volume, choose_node
from scheduler.access.caller import Caller
from scheduler.ports import Change, IDSource, StateReader, StateStore
from scheduler.state.nouns import NAMESPACES
from scheduler.state.volume_nouns import HOST_VOLUMES, VOLUME_CLAIMS
from scheduler.state.writes.volumes import state_on, users_of
from scheduler.structs.host_volume import (
    AccessMode,
    AttachmentMode,
    DynamicVolume,
    VolumeCapability,
    VolumeState,
)

NOT_FOUND = "volume not found"
NO_CLAIM = "task group volume claim does not exist"
DEFAULT_PLUGIN = "default"
_DEFAULT_USE = VolumeCapability(
    attachment_mode=AttachmentMode.FILE_SYSTEM, access_mode=AccessMode.WRITER
)


class Begun(NamedTuple):
    """A volume as its agent is to have it, and as it was before; None: it is new."""

    volume: DynamicVolume
    before: DynamicVolume | None


def begin_volume(
    store: StateStore,
    asked: DynamicVolume,
    *,
    registers: bool,
    by: Caller,
    now: int,
    ids: IDSource,
) -> Begun:
    """Give a volume a node and put it into the record as pending, before its agent makes it.

    With an id it is a change of the one that has it; its row is written once the agent has agreed
    (`note_made`). `registers`: it is there already, and its node and path are told.
    """
    right = "host-volume-register" if registers else "host-volume-create"
    require(by, asked.namespace, right)
    wanted = _canonical(asked, registers=registers)
    check_volume(wanted)

    def work(change: Change) -> tuple[DynamicVolume, DynamicVolume | None]:
        before = change.get(HOST_VOLUMES, wanted.id) if wanted.id else None
        if wanted.id and (before is None or before.namespace != wanted.namespace):
            raise NotFound(f"no such volume: {wanted.id}")
        if before is not None:
            return _changed(change, before, wanted), before
        if change.get(NAMESPACES, wanted.namespace) is None:
            raise OperationRefused(
                f'validating volume "{wanted.name}" against state failed: namespace'
                f' "{wanted.namespace}" does not exist'
            )
        node = choose_node(change, wanted)
        volume = replace(
            wanted,
            id=ids.next_id(),
            node_id=node.id,
            node_pool=node.node_pool,
            state=VolumeState.PENDING,
            create_index=change.index,
            create_time=change.now,
            modify_index=change.index,
            modify_time=change.now,
        )
        change.put(HOST_VOLUMES, volume)
        return volume, None

    _, (volume, before) = store.write(HOST_VOLUMES.upserted, work, now=now, by=by)
    return Begun(volume, before)


def note_made(
    store: StateStore, made: DynamicVolume, *, by: Caller, now: int
) -> tuple[int, DynamicVolume]:
    """The agent has it, at a path and of a size; its state is the node's to say."""
    require(by, made.namespace, "host-volume-create", "host-volume-register")

    def work(change: Change) -> DynamicVolume:
        stored = change.get(HOST_VOLUMES, made.id)
        if stored is None:
            raise NotFound(f"no such volume: {made.id}")
        volume = replace(
            made,
            state=state_on(stored, change.node(made.node_id)),
            create_index=stored.create_index,
            create_time=stored.create_time,
            modify_index=change.index,
            modify_time=change.now,
        )
        change.put(HOST_VOLUMES, volume)
        return volume

    return store.write(HOST_VOLUMES.upserted, work, now=now, by=by)


def release_volume(
    store: StateStore, namespace: str, volume_id: str, *, by: Caller, now: int
) -> DynamicVolume:
    """Let no new group have a volume that nobody uses, before its agent deletes it."""
    require(by, namespace, "host-volume-delete")

    def work(change: Change) -> DynamicVolume:
        volume = _stored(change, namespace, volume_id)
        users = [alloc.id for alloc in users_of(change, volume)]
        if users:
            raise OperationRefused(
                f"volume {volume_id} in use by allocations: [{' '.join(users)}]"
            )
        if volume.state is not VolumeState.UNAVAILABLE:
            change.put(
                HOST_VOLUMES,
                replace(volume, state=VolumeState.UNAVAILABLE, modify_index=change.index),
            )
        return volume

    return store.write(HOST_VOLUMES.upserted, work, now=now, by=by)[1]


def keep_volume(store: StateStore, volume: DynamicVolume, *, by: Caller, now: int) -> int:
    """Its agent did not delete it: the state is again what its node says."""
    require(by, volume.namespace, "host-volume-delete")

    def work(change: Change) -> None:
        stored = change.get(HOST_VOLUMES, volume.id)
        if stored is not None:
            state = state_on(volume, change.node(volume.node_id))
            change.put(HOST_VOLUMES, replace(stored, state=state, modify_index=change.index))

    return store.write(HOST_VOLUMES.upserted, work, now=now, by=by)[0]


def forget_volume(
    store: StateStore, namespace: str, volume_id: str, *, by: Caller, now: int
) -> int:
    """Take a volume out of the record, and the claims on it; the index."""
    require(by, namespace, "host-volume-delete", "host-volume-create", "host-volume-register")

    def work(change: Change) -> None:
        volume = _stored(change, namespace, volume_id)
        for claim in change.list_by(VOLUME_CLAIMS, "volume", volume.id):
            change.delete(VOLUME_CLAIMS, claim.id)
        change.delete(HOST_VOLUMES, volume.id)

    return store.write(HOST_VOLUMES.deleted, work, now=now, by=by)[0]


def delete_claim(store: StateStore, namespace: str, claim_id: str, *, by: Caller, now: int) -> int:
    """Let a group have another volume than the one it sticks to; the index."""
    require(by, namespace, "host-volume-delete")

    def work(change: Change) -> None:
        claim = change.get(VOLUME_CLAIMS, claim_id)
        if claim is None or claim.namespace != namespace:
            raise NotFound(NO_CLAIM)
        change.delete(VOLUME_CLAIMS, claim_id)

    return store.write(VOLUME_CLAIMS.deleted, work, now=now, by=by)[0]


def volume_named(reader: StateReader, namespace: str, volume_id: str) -> DynamicVolume | None:
    """A volume of a namespace; None where it has none of that id."""
    volume = reader.get(HOST_VOLUMES, volume_id)
    return volume if volume is not None and volume.namespace == namespace else None


def _stored(reader: StateReader, namespace: str, volume_id: str) -> DynamicVolume:
    volume = volume_named(reader, namespace, volume_id)
    if volume is None:
        raise NotFound(f"no such volume: {volume_id}")
    return volume


def _canonical(asked: DynamicVolume, *, registers: bool) -> DynamicVolume:
    if registers and not asked.id:
        if not asked.node_id:
            raise OperationRefused("cannot register volume: node ID is required")
        if not asked.host_path:
            raise OperationRefused("cannot register volume: host path is required")
    return replace(
        asked,
        plugin_id="" if registers else asked.plugin_id or DEFAULT_PLUGIN,
        host_path=asked.host_path if registers else "",
        capacity_bytes=asked.capacity_bytes if registers else 0,
        requested_capabilities=asked.requested_capabilities or (_DEFAULT_USE,),
    )


def _changed(change: Change, before: DynamicVolume, wanted: DynamicVolume) -> DynamicVolume:
    users = [alloc.id for alloc in users_of(change, before)]
    problems = []
    if users:
        problems.append(f"cannot update a volume in use: claimed by allocs ({', '.join(users)})")
    if wanted.node_id not in {"", before.node_id}:
        problems.append("node ID cannot be updated")
    if wanted.node_pool not in {"", before.node_pool}:
        problems.append("node pool cannot be updated")
    if wanted.name != before.name:
        problems.append("name cannot be updated")
    most = wanted.requested_capacity_max_bytes
    if most and most < before.capacity_bytes:
        problems.append(
            f"capacity_max ({most}) cannot be less than existing provisioned capacity"
            f" ({before.capacity_bytes})"
        )
    if problems:
        raise OperationRefused(
            f'validating volume "{before.name}" update failed: {"; ".join(problems)}'
        )
    return replace(
        wanted,
        plugin_id=before.plugin_id,
        node_id=before.node_id,
        node_pool=before.node_pool,
        host_path=before.host_path,
        capacity_bytes=before.capacity_bytes,
        state=before.state,
        create_index=before.create_index,
        create_time=before.create_time,
        modify_index=before.modify_index,
        modify_time=before.modify_time,
    )
