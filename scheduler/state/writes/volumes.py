"""What becomes of host volumes and claims when their node, a job or a plan changes.

In: an open change and the row that moved. Out: volumes in their new state, claims written or
gone, in the same transaction.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from scheduler.ports import Change, StateReader
from scheduler.state.volume_nouns import HOST_VOLUMES, VOLUME_CLAIMS
from scheduler.structs.allocation import Allocation
from scheduler.structs.host_volume import DynamicVolume, VolumeClaim, VolumeState
from scheduler.structs.identity import JobKey
from scheduler.structs.node import Node, NodeStatus
from scheduler.structs.task_group import TaskGroup, VolumeAsk


def name_on_node(ask: VolumeAsk, alloc: Allocation) -> str:
    """What a volume is called on the node; with an index where each allocation has its own."""
    return ask.source + (alloc.name[alloc.name.rfind("[") :] if ask.per_alloc else "")


def follow_node(change: Change, node_id: str, node: Node | None) -> None:
    """Give the volumes of a node the state that follows from it; None: the node is gone."""
    if not change.table_index(HOST_VOLUMES.table_index):
        return
    for volume in change.list_by(HOST_VOLUMES, "node", node_id):
        state = state_on(volume, node)
        if state is not volume.state:
            change.put(
                HOST_VOLUMES,
                replace(volume, state=state, modify_index=change.index, modify_time=change.now),
            )


def state_on(volume: DynamicVolume, node: Node | None) -> VolumeState:
    """The state of a volume by what its node says."""
    if node is None or node.status is NodeStatus.DOWN:
        return VolumeState.UNAVAILABLE
    told = node.host_volumes.get(volume.name)
    if told is not None and told.id == volume.id:
        return VolumeState.READY
    is_new = volume.state is VolumeState.PENDING
    return VolumeState.PENDING if is_new else VolumeState.UNAVAILABLE


def claim_volumes(change: Change, alloc: Allocation) -> None:
    """Have the group of an allocation that is placed stick to the volumes it asks to stick to."""
    job = change.job_of(alloc)
    group = job.task_group(alloc.task_group) if job else None
    asks = group.volumes.values() if group else ()
    sticky = [ask for ask in asks if ask.type == "host" and ask.sticky]
    node = change.node(alloc.node_id) if sticky else None
    if node is None:
        return
    for ask in sticky:
        volume = node.host_volumes.get(name_on_node(ask, alloc))
        if volume is not None and volume.id:
            _claim(change, alloc, volume.id, volume.name)


def drop_claims_of_job(change: Change, key: JobKey) -> None:
    """The job is purged: nothing sticks to anything for it any more."""
    if change.table_index(VOLUME_CLAIMS.table_index):
        for claim in change.list_by(VOLUME_CLAIMS, "job", (key.namespace, key.job_id)):
            change.delete(VOLUME_CLAIMS, claim.id)


def users_of(reader: StateReader, volume: DynamicVolume) -> Iterator[Allocation]:
    """The allocations on its node that have not ended and whose group asks for it."""
    for alloc in reader.allocations_by_node(volume.node_id):
        if alloc.namespace == volume.namespace and not alloc.is_terminal:
            job = reader.job_of(alloc)
            group = job.task_group(alloc.task_group) if job else None
            if group is not None and asks_for(group, alloc, volume.name):
                yield alloc


def asks_for(group: TaskGroup, alloc: Allocation, name: str) -> bool:
    """Whether an allocation of the group uses the host volume of that name."""
    return any(
        ask.type == "host" and name_on_node(ask, alloc) == name for ask in group.volumes.values()
    )


def _claim(change: Change, alloc: Allocation, volume_id: str, name: str) -> None:
    stored = next(
        (
            claim
            for claim in change.list_by(VOLUME_CLAIMS, "volume", volume_id)
            if (claim.namespace, claim.job_id, claim.task_group_name)
            == (alloc.namespace, alloc.job_id, alloc.task_group)
        ),
        None,
    )
    # The first allocation names it: neither chance nor a clock may be asked here.
    fresh = VolumeClaim(id=alloc.id, volume_id=volume_id, create_index=change.index)
    if stored is None and change.get(VOLUME_CLAIMS, fresh.id) is not None:
        fresh = replace(fresh, id=_second_id(alloc.id, volume_id))
    change.put(
        VOLUME_CLAIMS,
        replace(
            stored or fresh,
            namespace=alloc.namespace,
            job_id=alloc.job_id,
            task_group_name=alloc.task_group,
            alloc_id=alloc.id,
            volume_name=name,
            modify_index=change.index,
        ),
    )


def _second_id(alloc_id: str, volume_id: str) -> str:
    """One more id for an allocation that sticks to several volumes, the same each time."""
    mixed = int(alloc_id.replace("-", ""), 16) ^ int(volume_id.replace("-", ""), 16)
    text = f"{mixed:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
