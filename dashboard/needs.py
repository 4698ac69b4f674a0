"""What may need a person, ranked once: for the headline, the panel and the navigation of *Now*.

In: facts of the cluster as they stand. Out: Needs, worst first: nodes lost, jobs that fail again
and again, rollouts that are stuck or wait for a promotion, services that stay short, drains held
up, what waits for room, nodes that are silent, never reported or are closed. Knows no reader.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import msgspec
from django.utils.translation import gettext, ngettext

from cluster.notifications.failing import Failing
from cluster.page_addresses import job_url
from cluster.store.ports import AllocFace, JobFace, NodeFace
from dashboard.rollouts import RolloutProgress
from dashboard.why_waiting import why_it_waits
from dashboard.wording import clock_time, count_of, natural, number, one_of
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
        told = (
            gettext("{node} is down")
            if lost[0].status == NodeStatus.DOWN
            else gettext("{node} is {status}")
        )
        strong = told.format(node=lost[0].name, status=lost[0].status)
        text = gettext("it missed its heartbeat")
    else:
        strong = ngettext(
            "{lost} of {count} node are lost", "{lost} of {count} nodes are lost", len(facts.nodes)
        ).format(lost=number(len(lost)), count=number(len(facts.nodes)))
        text = gettext("{nodes} missed their heartbeats").format(nodes=_names(lost))
    yield Need(
        icon="lost", tone="lost", strong=strong, text=text, action=gettext("Show nodes"),
        url=f"/nodes/{lost[0].id}/" if len(lost) == 1 else f"/nodes/?status={lost[0].status}",
        at=max(face.since for face in lost),
    )  # fmt: skip


def _crash_loops(facts: Circumstances) -> Iterator[Need]:
    found = sorted(facts.failing, key=lambda item: (item.done - item.wanted, item.job.id))
    for item in found[:_ONE_BY_ONE]:
        again = item.restarting or item.failed > item.wanted - item.done
        parts = [
            _done_told(item),
            gettext("{count} failed so far").format(count=number(item.failed))
            if item.failed
            else "",
            gettext("{count} restarted again and again").format(count=number(item.restarting))
            if item.restarting
            else "",
        ]
        told = gettext("{job} fails again and again") if again else gettext("{job} fails")
        yield Need(
            icon="failed", tone="failed", action=gettext("See its allocations"),
            strong=told.format(job=item.job.id),
            text=one_of([part for part in parts if part], "and"),
            url=job_url(JobKey(item.job.namespace, item.job.id)),
        )  # fmt: skip
    left = len(found) - _ONE_BY_ONE
    yield from _rest(
        left, count_of(left, "{count} more job fails", "{count} more jobs fail"), "/jobs/"
    )


def _done_told(item: Failing) -> str:
    told = (
        gettext("{done} of {wanted} running or complete")
        if item.job.type == JobType.BATCH
        else gettext("{done} of {wanted} running")
    )
    return told.format(done=number(item.done), wanted=number(item.wanted))


def _rollouts(facts: Circumstances) -> Iterator[Need]:
    """Those that make no progress, then those that wait for a person."""
    stuck = [item for item in facts.rollouts if is_stuck(item, facts.now)]
    waiting = [item for item in facts.rollouts if item.waiting]
    for item in stuck[:_ONE_BY_ONE]:
        rollout = item.deployment
        told = "{healthy}"
        if item.deadline:
            told = (
                gettext(
                    "{healthy}; it fails at {time}, then a stable version comes back, if one is"
                    " kept"
                )
                if item.reverts
                else gettext("{healthy}; it fails at {time}")
            )
        yield Need(
            icon="deployment", tone="failed", action=gettext("See why"),
            strong=gettext("Rollout of {job} version {version} makes no progress").format(
                job=rollout.job_id, version=rollout.job_version
            ),
            text=told.format(healthy=item.healthy, time=clock_time(item.deadline)),
            at=item.deadline,
            url=f"/deployments/{rollout.id}/",
        )  # fmt: skip
    left = len(stuck) - _ONE_BY_ONE
    more = count_of(
        left, "{count} more rollout makes no progress", "{count} more rollouts make none"
    )
    yield from _rest(left, more, "/deployments/")
    for item in waiting[:_ONE_BY_ONE]:
        rollout = item.deployment
        canaries = count_of(
            item.waiting_canaries,
            "{count} healthy canary to promote",
            "{count} healthy canaries to promote",
        )
        yield Need(
            icon="canary", tone="canary", action=gettext("Review canaries"),
            strong=gettext("Rollout of {job} version {version} waits for a person").format(
                job=rollout.job_id, version=rollout.job_version
            ),
            text=canaries, url=f"/deployments/{rollout.id}/",
        )  # fmt: skip
    left = len(waiting) - _ONE_BY_ONE
    more = count_of(left, "{count} more rollout waits", "{count} more rollouts wait")
    yield from _rest(left, more, "/deployments/")


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
            icon="warning", tone="blocked", action=gettext("See why"),
            strong=gettext("{job} stays short of allocations").format(job=item.key.job_id),
            text=gettext(
                "{running} of {wanted} running, and nothing is under way that would change it"
            ).format(running=number(item.running), wanted=number(item.wanted)),
            url=job_url(item.key),
        )  # fmt: skip
    left = len(found) - _ONE_BY_ONE
    more = count_of(left, "{count} more service stays short", "{count} more services stay short")
    yield from _rest(left, more, "/jobs/")


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
    who = held[0].name
    if more:
        who = gettext("{name} (and {count} more)").format(name=who, count=number(more))
    why = why_it_waits(blocked[held[0].job_key])
    if len(nodes) == 1:
        strong = gettext("Drain of {node} is held up").format(node=nodes[0].name)
        url = f"/drains/{nodes[0].id}/"
    else:
        strong = count_of(
            len(nodes), "Drains of {count} node are held up", "Drains of {count} nodes are held up"
        )
        url = "/drains/"
    told = (
        gettext("{who} finds no room elsewhere: {why}")
        if why
        else gettext("{who} finds no room elsewhere")
    )
    yield Need(
        icon="draining", tone="draining", action=gettext("Open the board"), strong=strong,
        url=url, text=told.format(who=who, why=why),
    )  # fmt: skip


def _blocked(facts: Circumstances) -> Iterator[Need]:
    if not facts.blocked:
        return
    oldest = min(facts.blocked, key=lambda item: (item.create_time, item.id))
    why = why_it_waits(oldest)
    missing = sum(
        metric.coalesced_failures + 1
        for item in facts.blocked
        for metric in item.failed_task_groups.values()
    )
    since = clock_time(oldest.create_time)
    told = (
        ngettext(
            "{count} allocation, the oldest since {time}",
            "{count} allocations, the oldest since {time}",
            missing,
        ).format(count=number(missing), time=since)
        if missing
        else gettext("the oldest since {time}").format(time=since)
    )
    if why:
        told = gettext("{what}: {reason}").format(what=told, reason=why)
    yield Need(
        icon="blocked", tone="blocked", action=gettext("See why"),
        strong=count_of(
            len(facts.blocked),
            "{count} evaluation waits for room",
            "{count} evaluations wait for room",
        ),
        text=told,
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
        url = f"/nodes/{found[0].id}/"
        text = gettext("it missed its heartbeat; its unknown allocations may still come back")
    else:
        url = "/nodes/?status=disconnected"
        text = gettext(
            "{nodes} missed their heartbeats; their unknown allocations may still come back"
        ).format(nodes=_names(found))
    strong = ngettext("{node} is silent", "{count} nodes are silent", len(found)).format(
        node=found[0].name, count=number(len(found))
    )
    yield Need(
        icon="unknown",
        tone="unknown",
        strong=strong,
        text=text,
        action=gettext("Show nodes"),
        url=url,
        at=max(face.since for face in found),
    )


def _unreported(facts: Circumstances) -> Iterator[Need]:
    found = _sorted(face for face in facts.nodes if face.status == NodeStatus.INITIALIZING)
    if found:
        yield Need(
            icon="pending", tone="unknown", action=gettext("Show nodes"),
            strong=count_of(
                len(found),
                "{count} node has registered and has not reported ready",
                "{count} nodes have registered and have not reported ready",
            ),
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
    url = f"/nodes/{found[0].id}/" if len(found) == 1 else "/nodes/?status=ineligible"
    strong = ngettext("{node} is closed", "{count} nodes are closed", len(found))
    text = ngettext(
        "nothing new is placed there", "nothing new is placed there: {nodes}", len(found)
    )
    yield Need(
        icon="canceled", tone="ineligible", url=url, action=gettext("Show nodes"),
        strong=strong.format(node=found[0].name, count=number(len(found))),
        text=text.format(nodes=_names(found)),
    )  # fmt: skip


#: In this order; whoever comes first is the headline.
_RANK: tuple[Callable[[Circumstances], Iterable[Need]], ...] = (
    _nodes_lost, _crash_loops, _rollouts, _short, _held_up_drains,
    _blocked, _silent, _unreported, _closed,
)  # fmt: skip


def _rest(left: int, told: str, url: str) -> Iterator[Need]:
    if left > 0:
        yield Need(
            icon="more", tone="failed", strong=told, text="", url=url, action=gettext("Show all")
        )


def _sorted(faces: Iterable[NodeFace]) -> list[NodeFace]:
    return sorted(faces, key=lambda face: (face.name, face.id))


def _names(faces: Sequence[NodeFace]) -> str:
    """`a, b and c`, or `a, b, c and 4 more`."""
    named = [face.name for face in faces[:_NAMED]]
    left = len(faces) - _NAMED
    more = [count_of(left, "{count} more", "{count} more")] if left > 0 else []
    return one_of([*named, *more], "and")
