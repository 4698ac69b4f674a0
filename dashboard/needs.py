"""What may need a person, ranked once: for the headline, the panel and the navigation of *Now*.

In: facts of the cluster as they stand. Out: Needs, worst first: nodes lost, jobs that fail again
and again, rollouts that are stuck or wait for a promotion, services that stay short, drains held
up, what waits for room, nodes that are silent, never reported or are closed. Knows no reader.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from cluster.notifications.failing import Failing
from cluster.page_addresses import job_url
from cluster.store.ports import AllocFace, JobFace, NodeFace
from dashboard.outcomes import why_waiting
from dashboard.rollouts import RolloutProgress
from dashboard.wording import clock_time, count_of, natural, number
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.job import JobSummary, JobType
from scheduler.structs.node import LOST, NodeEligibility, NodeStatus

#: Names told of many.
_NAMED = 3
#: Jobs and rollouts told one by one; what is left of each kind is one row.
_ONE_BY_ONE = 5


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """Something that may need a person, and the one thing to press first."""

    icon: str
    tone: str
    #: Said first, a link to `url`; with `text` it is a whole sentence.
    strong: str
    text: str
    url: str
    action: str
    #: Since when, or until when; 0 where no instant is known.
    at: int = 0


class ShortService(msgspec.Struct, frozen=True, kw_only=True):
    """A service that stays short of allocations without one that failed."""

    key: JobKey
    running: int
    wanted: int


def short_services(
    jobs: Mapping[JobKey, JobFace],
    summaries: Mapping[JobKey, JobSummary],
    busy: Collection[JobKey],
) -> list[ShortService]:
    """Services with less than they want, of which nothing starts or may come back.

    `busy`: the jobs that an evaluation or a rollout is open for.
    """
    found = []
    for key, job in jobs.items():
        if key in busy or job.is_stopped or job.type != JobType.SERVICE or key not in summaries:
            continue
        groups = tuple(summaries[key].summary.values())
        running = sum(group.running for group in groups)
        moves = any(group.starting or group.unknown for group in groups)
        if running < job.wanted and not moves:
            found.append(ShortService(key=key, running=running, wanted=job.wanted))
    return found


class Circumstances(msgspec.Struct, frozen=True, kw_only=True):
    """What needs are told from."""

    nodes: Sequence[NodeFace] = ()
    failing: Sequence[Failing] = ()
    rollouts: Sequence[RolloutProgress] = ()
    #: Services that run less than they want, while nothing is under way that would change it.
    short: Sequence[ShortService] = ()
    #: What is left on nodes that drain.
    on_draining: Sequence[AllocFace] = ()
    blocked: Sequence[Evaluation] = ()
    now: int = 0


def needs_of(facts: Circumstances) -> list[Need]:
    """All of them, worst first."""
    return [need for kind in _RANK for need in kind(facts)]


def _nodes_lost(facts: Circumstances) -> Iterator[Need]:
    lost = _sorted(face for face in facts.nodes if face.status in LOST)
    if not lost:
        return
    if len(lost) == 1:
        strong = f"{lost[0].name} is {lost[0].status}"
        text = "it missed its heartbeat"
    else:
        strong = f"{number(len(lost))} of {count_of(len(facts.nodes), 'node')} are lost"
        text = f"{_names(lost)} missed their heartbeats"
    yield Need(
        icon="lost", tone="lost", strong=strong, text=text, action="Show nodes",
        url=f"/nodes/{lost[0].id}/" if len(lost) == 1 else f"/nodes/?status={lost[0].status}",
        at=max(face.since for face in lost),
    )  # fmt: skip


def _crash_loops(facts: Circumstances) -> Iterator[Need]:
    found = sorted(facts.failing, key=lambda item: (item.done - item.wanted, item.job.id))
    for item in found[:_ONE_BY_ONE]:
        again = item.restarting or item.failed > item.wanted - item.done
        parts = [
            f"{number(item.done)} of {number(item.wanted)} {_done_word(item)}",
            *([f"{number(item.failed)} failed so far"] if item.failed else []),
            *([f"{number(item.restarting)} restarted again and again"] if item.restarting else []),
        ]
        yield Need(
            icon="failed", tone="failed", action="See its allocations",
            strong=f"{item.job.id} {'fails again and again' if again else 'fails'}",
            text=", ".join(parts),
            url=job_url(JobKey(item.job.namespace, item.job.id)),
        )  # fmt: skip
    yield from _rest(found, "more job fails", "more jobs fail", "/jobs/")


def _done_word(item: Failing) -> str:
    return "running or complete" if item.job.type == JobType.BATCH else "running"


def _rollouts(facts: Circumstances) -> Iterator[Need]:
    """Those that make no progress, then those that wait for a person."""
    stuck = [item for item in facts.rollouts if is_stuck(item, facts.now)]
    waiting = [item for item in facts.rollouts if item.waiting]
    for item in stuck[:_ONE_BY_ONE]:
        rollout = item.deployment
        back = ", then a stable version comes back, if one is kept" if item.reverts else ""
        until = f"; it fails at {clock_time(item.deadline)}{back}" if item.deadline else ""
        yield Need(
            icon="deployment", tone="failed", action="See why",
            strong=f"Rollout of {rollout.job_id} version {rollout.job_version} makes no progress",
            text=f"{item.healthy}{until}", at=item.deadline,
            url=f"/deployments/{rollout.id}/",
        )  # fmt: skip
    yield from _rest(
        stuck, "more rollout makes no progress", "more rollouts make none", "/deployments/"
    )
    for item in waiting[:_ONE_BY_ONE]:
        rollout = item.deployment
        canaries = count_of(item.waiting_canaries, "healthy canary", "healthy canaries")
        yield Need(
            icon="canary", tone="canary", action="Review canaries",
            strong=f"Rollout of {rollout.job_id} version {rollout.job_version} waits for a person",
            text=f"{canaries} to promote", url=f"/deployments/{rollout.id}/",
        )  # fmt: skip
    yield from _rest(waiting, "more rollout waits", "more rollouts wait", "/deployments/")


def is_stuck(rollout: RolloutProgress, now: int) -> bool:
    """Whether half of the time for its next progress has passed without any."""
    since = stuck_at(rollout)
    return bool(since) and now >= since


def stuck_at(rollout: RolloutProgress) -> int:
    """When a rollout counts as stuck unless it makes progress; 0 for never.

    Healthy canaries that a person must promote hold the whole rollout, and it is not stuck.
    """
    if rollout.waiting:
        return 0
    turns = [
        group.state.require_progress_by - group.state.progress_deadline // 2
        for group in rollout.groups
        if group.state.require_progress_by
        and group.state.healthy_allocs < group.state.desired_total
    ]
    return min(turns, default=0)


def _short(facts: Circumstances) -> Iterator[Need]:
    """Their last rollout failed or was canceled, or something was taken from them for good."""
    told = {JobKey(item.job.namespace, item.job.id) for item in facts.failing}
    found = sorted(
        (item for item in facts.short if item.key not in told),
        key=lambda item: (item.running - item.wanted, item.key),
    )
    for item in found[:_ONE_BY_ONE]:
        yield Need(
            icon="warning", tone="blocked", action="See why",
            strong=f"{item.key.job_id} stays short of allocations",
            text=f"{number(item.running)} of {number(item.wanted)} running,"
            " and nothing is under way that would change it",
            url=job_url(item.key),
        )  # fmt: skip
    yield from _rest(found, "more service stays short", "more services stay short", "/jobs/")


def _held_up_drains(facts: Circumstances) -> Iterator[Need]:
    blocked = {item.job_key: item for item in facts.blocked}
    held = sorted(
        (face for face in facts.on_draining if face.is_service and face.job_key in blocked),
        key=lambda face: (face.node_id, natural(face.name)),
    )
    if not held:
        return
    names = {face.id: face for face in facts.nodes}
    nodes = _sorted(names[node_id] for node_id in {face.node_id for face in held} & names.keys())
    more = len(held) - 1
    who = held[0].name + (f" and {number(more)} more" if more else "")
    why = why_waiting(blocked[held[0].job_key].failed_task_groups.values())
    if len(nodes) == 1:
        strong, url = f"Drain of {nodes[0].name} is held up", f"/drains/{nodes[0].id}/"
    else:
        strong, url = f"Drains of {count_of(len(nodes), 'node')} are held up", "/drains/"
    yield Need(
        icon="draining", tone="draining", action="Open the board", strong=strong, url=url,
        text=f"by {who}: no room{' elsewhere, ' + why if why else ' elsewhere'}",
    )  # fmt: skip


def _blocked(facts: Circumstances) -> Iterator[Need]:
    if not facts.blocked:
        return
    oldest = min(facts.blocked, key=lambda item: (item.create_time, item.id))
    why = why_waiting(oldest.failed_task_groups.values())
    missing = sum(
        metric.coalesced_failures + 1
        for item in facts.blocked
        for metric in item.failed_task_groups.values()
    )
    told = f"{count_of(missing, 'allocation')}, the oldest" if missing else "the oldest"
    yield Need(
        icon="blocked", tone="blocked", action="See why",
        strong=count_of(len(facts.blocked), "evaluation waits", "evaluations wait") + " for room",
        text=f"{told} since {clock_time(oldest.create_time)}{': ' + why if why else ''}",
        url=f"/evaluations/{oldest.id}/" if len(facts.blocked) == 1
        else "/evaluations/?status=blocked",
        at=oldest.create_time,
    )  # fmt: skip


def _silent(facts: Circumstances) -> Iterator[Need]:
    """Nodes that missed their heartbeat and whose allocations are not given up."""
    found = _sorted(face for face in facts.nodes if face.status == NodeStatus.DISCONNECTED)
    if not found:
        return
    if len(found) == 1:
        strong, url = f"{found[0].name} is silent", f"/nodes/{found[0].id}/"
        text = "it missed its heartbeat; its unknown allocations may still come back"
    else:
        strong, url = f"{number(len(found))} nodes are silent", "/nodes/?status=disconnected"
        who = _names(found)
        text = f"{who} missed their heartbeats; their unknown allocations may still come back"
    yield Need(
        icon="unknown", tone="unknown", strong=strong, text=text, action="Show nodes", url=url,
        at=max(face.since for face in found),
    )  # fmt: skip


def _unreported(facts: Circumstances) -> Iterator[Need]:
    found = _sorted(face for face in facts.nodes if face.status == NodeStatus.INITIALIZING)
    if found:
        verb = "has registered and has" if len(found) == 1 else "have registered and have"
        yield Need(
            icon="pending", tone="unknown", action="Show nodes",
            strong=f"{count_of(len(found), 'node')} {verb} not reported ready",
            text=_names(found), url="/nodes/?status=initializing",
            at=min(face.since for face in found),
        )  # fmt: skip


def _closed(facts: Circumstances) -> Iterator[Need]:
    found = _sorted(
        face
        for face in facts.nodes
        if face.status == NodeStatus.READY
        and face.eligibility == NodeEligibility.INELIGIBLE
        and not face.is_draining
    )
    if not found:
        return
    one = f"{found[0].name} is closed", f"/nodes/{found[0].id}/"
    many = f"{number(len(found))} nodes are closed", "/nodes/?status=ineligible"
    strong, url = one if len(found) == 1 else many
    named = f": {_names(found)}" if len(found) > 1 else ""
    yield Need(
        icon="canceled", tone="ineligible", strong=strong, url=url, action="Show nodes",
        text=f"nothing new is placed there{named}",
    )  # fmt: skip


#: In this order; whoever comes first is the headline.
_RANK: tuple[Callable[[Circumstances], Iterable[Need]], ...] = (
    _nodes_lost, _crash_loops, _rollouts, _short, _held_up_drains,
    _blocked, _silent, _unreported, _closed,
)  # fmt: skip


def _rest(found: Collection[object], one: str, many: str, url: str) -> Iterator[Need]:
    left = len(found) - _ONE_BY_ONE
    if left > 0:
        yield Need(
            icon="more", tone="failed", strong=count_of(left, one, many), text="",
            url=url, action="Show all",
        )  # fmt: skip


def _sorted(faces: Iterable[NodeFace]) -> list[NodeFace]:
    return sorted(faces, key=lambda face: (face.name, face.id))


def _names(faces: Sequence[NodeFace]) -> str:
    """`a, b and c`, or `a, b, c and 4 more`."""
    named = [face.name for face in faces[:_NAMED]]
    left = len(faces) - _NAMED
    last = f"{number(left)} more" if left > 0 else named.pop()
    return f"{', '.join(named)} and {last}" if named else last
