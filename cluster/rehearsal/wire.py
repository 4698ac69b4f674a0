"""A result as programs see it: wire names, and only what the reader may know.

In: a result, a caller's rights. Out: plain JSON values. Names of work in namespaces that the
reader may not read are left out; quantities stay.
"""

import struct
import zlib
from typing import Any

import msgspec
from msgspec.structs import replace

from cluster.rehearsal.result import (
    Rehearsed,
    RehearsedAllocation,
    RehearsedGroup,
    RehearsedHelp,
    RehearsedPace,
    RehearsedRollout,
)
from scheduler.access.access import Access

#: What stands for a name that is not told.
HIDDEN = "(hidden)"
#: What a process tells its desk begins with how long it is.
LENGTH = struct.Struct("!I")


def to_wire(result: Rehearsed) -> Any:
    """Plain values under the names of the wire."""
    return msgspec.to_builtins(result)


def pack(result: Rehearsed) -> bytes:
    """The result in few bytes."""
    return zlib.compress(msgspec.msgpack.encode(result), 6)


def unpack(packed: bytes) -> Rehearsed:
    """The result of packed bytes."""
    return _DECODER.decode(zlib.decompress(packed))


def for_reader(result: Rehearsed, access: Access) -> Rehearsed:
    """The result as somebody with these rights sees it."""
    if access.is_management:
        return result
    evaluations = tuple(
        row for row in result.evaluations if access.allows(row.namespace, "read-job")
    )
    hidden = len(result.evaluations) - len(evaluations)
    return replace(
        result,
        allocations=tuple(_allocation(each, access) for each in result.allocations),
        groups=tuple(_group(each, access) for each in result.groups),
        evaluations=evaluations,
        evaluations_left_out=result.evaluations_left_out + hidden,
        rollout=_rollout(result.rollout, access),
        paces=tuple(_pace(each, access) for each in result.paces),
        helps=tuple(
            _help(each, access)
            for each in result.helps
            if access.allows(each.namespace, "read-job")
        ),
    )


def _help(each: RehearsedHelp, access: Access) -> RehearsedHelp:
    """Without the name of an allocation that may not be read."""
    if not each.alloc_namespace or access.allows(each.alloc_namespace, "read-job"):
        return each
    return replace(each, alloc_namespace="", change=replace(each.change, alloc_id=""))


def _pace(each: RehearsedPace, access: Access) -> RehearsedPace:
    return replace(each, lowest=_group(each.lowest, access)) if each.lowest else each


def _rollout(rollout: RehearsedRollout | None, access: Access) -> RehearsedRollout | None:
    if rollout is None or not access.allows(rollout.deployment.namespace, "read-job"):
        return None
    return rollout


def _allocation(each: RehearsedAllocation, access: Access) -> RehearsedAllocation:
    if access.allows(each.namespace, "read-job"):
        return each
    return replace(
        each,
        id="",
        name=HIDDEN,
        namespace="",
        job_id=HIDDEN,
        task_group=HIDDEN,
        waiting=None if each.waiting is None else replace(each.waiting, eval_id="", text=""),
        preempted_by="",
    )


def _group(each: RehearsedGroup, access: Access) -> RehearsedGroup:
    if access.allows(each.namespace, "read-job"):
        return each
    return replace(
        each,
        namespace="",
        job_id=HIDDEN,
        task_group=HIDDEN,
        waiting=None if each.waiting is None else replace(each.waiting, eval_id="", text=""),
        rollout_description="",
    )


_DECODER = msgspec.msgpack.Decoder(Rehearsed)
