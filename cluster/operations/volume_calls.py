"""Making and deleting host volumes: the record first, then the agent of the node, then both agree.

In: a volume as it is asked for. Out: the volume and its index. Where the agent refuses, or cannot
be reached, the record is as it was before, and the refusal says why.
"""

import asyncio
from typing import Protocol

import msgspec
from msgspec.structs import replace

from cluster.operations.agent_calls import Body, send_call, whole_answer
from cluster.operations.errors import OperationRefused
from cluster.operations.host_volumes import (
    Begun,
    begin_volume,
    forget_volume,
    keep_volume,
    note_made,
    release_volume,
)
from cluster.store.access import the_store
from scheduler.access.caller import Caller
from scheduler.ports import IDSource
from scheduler.structs.host_volume import DynamicVolume
from scheduler.structs.wire import Wire

#: Seconds that an agent may take, a plugin's run included.
PATIENCE_S = 60.0


class VolumeAnswer(Wire, frozen=True):
    """What an agent answers: where the volume is, and how large."""

    host_path: str = ""
    capacity_bytes: int = 0


class AgentSilent(OperationRefused):
    """The agent took the call and did not answer in time."""

    status = 504


class Present(Protocol):
    """The present, asked for anew: an agent takes its time."""

    def now(self) -> int:
        """Ns since the Unix epoch."""


async def make_volume(
    asked: DynamicVolume, *, registers: bool, by: Caller, clock: Present, ids: IDSource
) -> tuple[int, DynamicVolume]:
    """Make a volume on a node that fits, register one that is there, or change one.

    A new one whose agent refuses leaves nothing behind.
    """
    store = the_store()
    begun = await store.awrite_call(
        begin_volume, asked, registers=registers, by=by, now=clock.now(), ids=ids
    )
    volume = begun.volume
    try:
        made = await _ask(volume, "volume.register" if registers else "volume.create", volume)
    except BaseException:
        # Whoever hangs up must not leave half a volume behind either.
        await asyncio.shield(_undo(begun, by, clock))
        raise
    made_volume = replace(
        volume, host_path=made.host_path, capacity_bytes=made.capacity_bytes or 0
    )
    return await store.awrite_call(note_made, made_volume, by=by, now=clock.now())


async def remove_volume(
    namespace: str, volume_id: str, *, force: bool, by: Caller, clock: Present
) -> int:
    """Delete a volume that nobody uses, with what is in it where a plugin made it; the index.

    `force`: forget it also where its agent cannot be reached or refuses; what lies on that node
    stays there.
    """
    store = the_store()
    volume = await store.awrite_call(release_volume, namespace, volume_id, by=by, now=clock.now())
    node = await store.aread(lambda reader: reader.node(volume.node_id))
    if node is not None:
        try:
            await _ask(volume, "volume.delete", volume)
        except OperationRefused:
            if not force:
                await store.awrite_call(keep_volume, volume, by=by, now=clock.now())
                raise
    return await store.awrite_call(forget_volume, namespace, volume_id, by=by, now=clock.now())


async def _undo(begun: Begun, by: Caller, clock: Present) -> None:
    if begun.before is None:
        volume = begun.volume
        await the_store().awrite_call(
            forget_volume, volume.namespace, volume.id, by=by, now=clock.now()
        )


async def _ask(volume: DynamicVolume, verb: str, body: DynamicVolume) -> VolumeAnswer:
    told: Body = msgspec.to_builtins(body)
    try:
        async with asyncio.timeout(PATIENCE_S):
            answer = await whole_answer(send_call(volume.node_id, verb, told))
    except TimeoutError:
        text = f"the agent of node {volume.node_id} did not answer within {PATIENCE_S:.0f} s"
        raise AgentSilent(text) from None
    return msgspec.convert(answer or {}, VolumeAnswer)
