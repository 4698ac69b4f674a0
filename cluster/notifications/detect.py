"""What holds now that somebody may want to be told of, each under a key of its own.

In: the record. Out: Conditions, in a fixed number of reads. The same facts stand on *Now*, where
they are ranked for whoever looks (`dashboard/needs.py`).
"""

from collections import Counter
from collections.abc import Iterator

import msgspec

from cluster.notifications.failing import RESTARTS, failing
from cluster.page_addresses import job_url
from cluster.store.ports import Listing, RecordReader
from scheduler.state.columns import waits_for_promotion
from scheduler.state.nouns import DEPLOYMENTS, EVALUATIONS, JOB_SUMMARIES
from scheduler.structs.deployment import Deployment, DeploymentStatus
from scheduler.structs.identity import JobKey
from scheduler.structs.node import LOST
from scheduler.structs.webhook import NoticeKind

#: Of each kind; what is beyond comes in a later look.
MOST = 1000
#: Failed rollouts are told for so long, ns.
_NEWS = 3600 * 1_000_000_000


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """Something that holds."""

    kind: NoticeKind
    #: The same as long as it is the same trouble.
    key: str
    #: A sentence without its address.
    text: str
    #: The page that shows it.
    path: str
    #: Of whose work; "" for nodes.
    namespace: str = ""
    #: Since when, ns; 0 where that is not known.
    since: int = 0


def conditions(reader: RecordReader, now: int) -> list[Condition]:
    """All that hold, in no order that means anything."""
    return [
        *_lost_nodes(reader),
        *_crash_loops(reader),
        *_rollouts(reader, now),
        *_held_drains(reader),
        *_blocked(reader),
    ]


def _lost_nodes(reader: RecordReader) -> Iterator[Condition]:
    for face in reader.node_faces():
        if face.status in LOST:
            yield Condition(
                kind=NoticeKind.NODE_LOST, key=f"node-lost/{face.id}/{face.since}",
                text=f"Node {face.name} is {face.status}: it missed its heartbeat.",
                path=f"/nodes/{face.id}/", since=face.since,
            )  # fmt: skip


def _crash_loops(reader: RecordReader) -> Iterator[Condition]:
    summaries = {
        JobKey(item.namespace, item.job_id): item for item in reader.list_all(JOB_SUMMARIES)
    }
    starting = [
        key
        for key, item in summaries.items()
        if any(group.starting for group in item.summary.values())
    ]
    restarting = Counter(key for _, key in reader.restarting_among(starting, RESTARTS))
    for face in reader.job_faces(None):
        key = JobKey(face.namespace, face.id)
        summary = summaries.get(key)
        found = failing(face, summary, restarting[key]) if summary else None
        if found is not None:
            yield Condition(
                kind=NoticeKind.CRASH_LOOP, key=f"crash-loop/{key.namespace}/{key.job_id}",
                text=f"Job {key.job_id} fails: {found.done} of {found.wanted} are there,"
                f" {found.failed} failed so far.",
                path=job_url(key), namespace=key.namespace,
            )  # fmt: skip


def _rollouts(reader: RecordReader, now: int) -> Iterator[Condition]:
    running = Listing(equals={"status": "running"}, limit=MOST, reverse=True)
    for rollout in reader.page(DEPLOYMENTS, running)[:MOST]:
        if waits_for_promotion(rollout) and _are_canaries_healthy(rollout):
            yield _of_rollout(rollout, NoticeKind.ROLLOUT_WAITS, "waits for a promotion")
    failed = Listing(equals={"status": "failed"}, limit=MOST, reverse=True)
    for rollout in reader.page(DEPLOYMENTS, failed)[:MOST]:
        if rollout.status is DeploymentStatus.FAILED and rollout.modify_time > now - _NEWS:
            yield _of_rollout(rollout, NoticeKind.ROLLOUT_FAILED, "failed")


def _of_rollout(rollout: Deployment, kind: NoticeKind, verb: str) -> Condition:
    return Condition(
        kind=kind, key=f"{kind}/{rollout.id}",
        text=f"Rollout of {rollout.job_id} version {rollout.job_version} {verb}.",
        path=job_url(rollout.job_key), namespace=rollout.namespace, since=rollout.modify_time,
    )  # fmt: skip


def _are_canaries_healthy(rollout: Deployment) -> bool:
    return all(
        group.healthy_allocs >= group.desired_canaries
        for group in rollout.task_groups.values()
        if group.desired_canaries and not group.promoted
    )


def _held_drains(reader: RecordReader) -> Iterator[Condition]:
    draining = {face.id: face for face in reader.node_faces() if face.is_draining}
    left = [face for face in reader.live_on(list(draining)) if face.is_service]
    waiting = reader.blocked_among({face.job_key for face in left})
    for node_id in sorted({face.node_id for face in left if face.job_key in waiting}):
        yield Condition(
            kind=NoticeKind.DRAIN_HELD, key=f"drain-held/{node_id}",
            text=f"Drain of {draining[node_id].name} is held up: there is no room elsewhere.",
            path=f"/drains/{node_id}/",
        )  # fmt: skip


def _blocked(reader: RecordReader) -> Iterator[Condition]:
    waiting = Listing(equals={"status": "blocked"}, limit=MOST)
    for item in reader.page(EVALUATIONS, waiting)[:MOST]:
        yield Condition(
            kind=NoticeKind.BLOCKED, key=f"blocked/{item.id}",
            text=f"Job {item.job_id} waits for room.",
            path=f"/evaluations/{item.id}/", namespace=item.namespace, since=item.create_time,
        )  # fmt: skip
