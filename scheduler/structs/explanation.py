"""Why nodes were not chosen for a group, node by node. Ours alone; no public API has it.

Values only: the engine makes them, the record keeps those of a job's most telling evaluations.
"""

import zlib
from collections.abc import Iterable
from enum import IntEnum, StrEnum

import msgspec

from scheduler.structs.alloc_metric import NodeScore
from scheduler.structs.identity import JobKey
from scheduler.structs.packing import compressed
from scheduler.structs.wire import Wire


class Shortfall(Wire, frozen=True):
    """Nodes that lack room in one dimension, the one that lacks least first."""

    dimension: str = ""
    #: How many nodes; `node_ids` may list fewer.
    count: int = 0
    node_ids: tuple[str, ...] = ()
    #: Beside `node_ids`: MHz or MiB each lacks; empty where the dimension is no amount.
    missing: tuple[int, ...] = ()

    @property
    def least_missing(self) -> int:
        """What the nearest node lacks; 0 where the dimension is no amount."""
        return self.missing[0] if self.missing else 0


class RefusedNodes(Wire, frozen=True):
    """Nodes that one check refuses, under the reason's own label."""

    reason: str = ""
    #: How many nodes; `node_ids` may list fewer.
    count: int = 0
    node_ids: tuple[str, ...] = ()
    #: What the check is called, as in `CLASS_CHECKS`; "" where that was not kept.
    check: str = ""


class AskedAmounts(Wire, frozen=True):
    """What one allocation of a group asks for: MHz and MiB."""

    cpu: int = 0
    memory_mb: int = 0
    disk_mb: int = 0


class NearestNode(Wire, frozen=True):
    """Of nodes that only lack room, the one that the least would mend.

    That is one that lacks the fewest amounts; of these the one that lacks the smallest share of
    what is asked for.
    """

    #: MHz and MiB; at least one is more than 0.
    lacks: AskedAmounts = AskedAmounts()
    #: How many nodes lack nothing but such amounts.
    count: int = 0


class VerdictKind(StrEnum):
    """What became of a node when one more allocation was to be placed."""

    ROOM = "room"
    EXHAUSTED = "exhausted"
    REFUSED = "refused"
    #: No candidate: another pool or datacenter, or not ready.
    NOT_ASKED = "not asked"


class NodeVerdict(Wire, frozen=True):
    """One node: the first thing that keeps one more allocation off it."""

    node_id: str
    kind: VerdictKind
    #: The check, or the dimension that is exhausted.
    check: str = ""
    reason: str = ""
    #: MHz or MiB, of an exhausted amount.
    missing: int = 0
    #: What is free now, before the allocation.
    free: AskedAmounts = AskedAmounts()


class CheckResult(Wire, frozen=True):
    """What one check says of one node, whatever the others say."""

    check: str
    passed: bool
    #: What is offered and asked for, or why not.
    reason: str = ""
    #: MHz or MiB that are free, asked for and lacking; 0 where it is no amount.
    free: int = 0
    asked: int = 0
    missing: int = 0


class GroupExplanation(Wire, frozen=True):
    """What stands between one more allocation of a group and each candidate, at the run's end.

    `candidates` is the sum of `with_room` and of the counts of `refused` and `exhausted`, the most
    frequent reason first in each. With those of `not_asked` they are all nodes of the cluster.
    """

    task_group: str = ""
    job_version: int = 0
    #: Ready nodes of the job's pool and datacenters; of system jobs those without an allocation.
    candidates: int = 0
    with_room: int = 0
    refused: tuple[RefusedNodes, ...] = ()
    exhausted: tuple[Shortfall, ...] = ()
    #: None where no node lacks amounts alone.
    nearest: NearestNode | None = None
    #: Nodes that are no candidates. Of other pools and datacenters no ids are kept.
    not_asked: tuple[RefusedNodes, ...] = ()
    asks: AskedAmounts = AskedAmounts()
    #: The limits of the namespace's quota that one more would exceed, whatever the node.
    quota_exhausted: tuple[str, ...] = ()
    #: The candidates of the newest decision with every score, best first.
    best: tuple[NodeScore, ...] = ()
    #: Allocations of the group that the newest attempt could not place.
    failed: int = 0
    #: For a group that failed: what it would take, in one line.
    nearest_miss: str = ""


class RunEnd(IntEnum):
    """How a run ended, for what its explanation is worth."""

    PLACED = 0
    #: Something of it waits for room.
    WAITS = 1
    FAILED = 2


class StoredExplanation(Wire, frozen=True):
    """One group's explanation as the record keeps it, packed."""

    eval_id: str = ""
    task_group: str = ""
    namespace: str = ""
    job_id: str = ""
    #: Of the write that stored it.
    index: int = 0
    #: What its run worked on, and how that ended.
    job_version: int = 0
    ended: RunEnd = RunEnd.PLACED
    packed: bytes = b""

    @property
    def job_key(self) -> JobKey:
        """Whose evaluation it explains."""
        return JobKey(self.namespace, self.job_id)

    @property
    def group(self) -> GroupExplanation:
        """The explanation itself."""
        return _DECODER.decode(zlib.decompress(self.packed))


class ExplainedRun(msgspec.Struct, frozen=True):
    """The explanations of one evaluation, together."""

    eval_id: str
    #: Of the newest write that stored one of them.
    index: int
    #: Bytes of all of them, packed.
    size: int
    job_version: int
    ended: RunEnd


class ExplainedBounds(msgspec.Struct, frozen=True, kw_only=True):
    """How many runs of one job stay explained, and within how many bytes."""

    runs: int = 20
    size: int = 256 * 1024


def explained_runs(explanations: Iterable[StoredExplanation]) -> list[ExplainedRun]:
    """The evaluations they explain, newest first."""
    runs: dict[str, ExplainedRun] = {}
    for item in explanations:
        before = runs.get(item.eval_id, ExplainedRun(item.eval_id, 0, 0, 0, RunEnd.PLACED))
        runs[item.eval_id] = ExplainedRun(
            item.eval_id,
            max(before.index, item.index),
            before.size + len(item.packed),
            max(before.job_version, item.job_version),
            max(before.ended, item.ended),
        )
    return sorted(runs.values(), key=lambda run: (-run.index, run.eval_id))


def pack(explanation: GroupExplanation) -> bytes:
    """The explanation in as few bytes as cost little: node ids are most of it."""
    return compressed(_ENCODER.encode(explanation))


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(GroupExplanation)
