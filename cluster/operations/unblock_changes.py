"""Single changes that might let what waits be placed: guessed from what keeps the nodes out.

In: a look at every node (`explain_now`), how many wait. Out: candidates, each with what to put
over the record so that the real scheduler can be asked. Whether one helps is not known here.
"""

from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import partial
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from cluster.operations.explain_now import FoundNow
from cluster.operations.trial import TrialSnapshot
from cluster.operations.unblock_room import cover, enlarged, held_by, lacking, share, victim_of
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import QUOTAS
from scheduler.state.quota_use import namespaces_of, quota_of, use_of_namespaces
from scheduler.structs.constraint import Constraint
from scheduler.structs.explanation import AskedAmounts, VerdictKind
from scheduler.structs.job import Job, JobType
from scheduler.structs.node import Node, NodeEligibility, NodeStatus
from scheduler.structs.quota import QuotaAmounts, QuotaSpec
from scheduler.structs.task_group import TaskGroup
from scheduler.structs.wire import Wire

#: Of each kind, how many are guessed.
_NODES_OPENED, _NODES_FREED, _NODES_ADDED, _PLACES = 4, 3, 3, 3
#: Nearest nodes of which it is looked up whether as much is held there.
_NODES_LOOKED_AT = 60
#: The id of a node that does not exist; no node's id is none.
NEW_NODE = "00000000-0000-0000-0000-00000000new1"


class ChangeWord(StrEnum):
    """What a change is, the one that costs least first."""

    SET_ELIGIBLE = "set-eligible"
    RAISE_QUOTA = "raise-quota"
    CANCEL_DRAIN = "cancel-drain"
    FREE = "free"
    ASK_LESS = "ask-less"
    ADD_DATACENTER = "add-datacenter"
    DROP_CONSTRAINT = "drop-constraint"
    ADD_NODE = "add-node"
    SCALE_DOWN = "scale-down"


class UnblockChange(Wire, frozen=True):
    """One change, as facts."""

    change: ChangeWord
    #: The node it is about, or that a new one would be like.
    node_id: str = ""
    node_name: str = ""
    node_class: str = ""
    #: To be freed, or added to a quota; what a node has; what is asked for instead.
    amounts: AskedAmounts = AskedAmounts()
    #: What is asked for now, where less would do.
    instead_of: AskedAmounts = AskedAmounts()
    quota: str = ""
    datacenter: str = ""
    constraint: str = ""
    #: Nodes that would be asked in addition.
    nodes: int = 0
    #: Of the group.
    count: int = 0
    #: One whose end would free as much.
    alloc_id: str = ""


class Short(NamedTuple):
    """What the scheduler would make of a group as the record is."""

    waiting: int
    #: What it would place beside those that wait.
    placed: int


class Guess(msgspec.Struct, frozen=True, kw_only=True):
    """A change to be tried."""

    change: UnblockChange
    #: Among changes of one word, the smaller first.
    size: float
    #: Puts it over the record.
    put: Callable[[TrialSnapshot], None]


def guesses(base: TrialSnapshot, found: FoundNow, short: Short) -> list[Guess]:
    """All that are worth a try, by word and size."""
    made: list[Guess] = []
    for guess in (_opened, _quota, _freed, _less, _datacenters, _constraints, _added, _fewer):
        made += guess(base, found, short)
    order = list(ChangeWord)
    return sorted(made, key=lambda each: (order.index(each.change.change), each.size))


def _opened(_base: TrialSnapshot, found: FoundNow, _short: Short) -> Iterator[Guess]:
    closed = [each for each in found.survey.nodes if each.check == "ready"]
    for word, reason in (
        (ChangeWord.SET_ELIGIBLE, "not eligible"),
        (ChangeWord.CANCEL_DRAIN, "draining"),
    ):
        of_reason = [each for each in closed if each.reason == reason]
        roomiest = sorted(of_reason, key=lambda each: (-each.free.memory_mb, -each.free.cpu))
        for place, verdict in enumerate(roomiest[:_NODES_OPENED]):
            node = found.nodes[verdict.node_id]
            yield Guess(
                change=_about(node, UnblockChange(change=word, amounts=verdict.free)),
                size=place,
                put=_puts(
                    replace(
                        node,
                        scheduling_eligibility=NodeEligibility.ELIGIBLE,
                        drain_strategy=None,
                    )
                ),
            )


def _quota(base: TrialSnapshot, found: FoundNow, short: Short) -> Iterator[Guess]:
    quota = quota_of(base, found.job.namespace)
    if quota is None:
        return
    used = use_of_namespaces(base, namespaces_of(base, quota.name))
    asks = found.survey.explanation.asks
    cores = sum(task.resources.cores for task in found.group.tasks)
    for count in dict.fromkeys((short.placed + short.waiting, short.placed + 1)):
        needed = {
            "cpu": used.cpu + count * asks.cpu,
            "cores": used.cores + count * cores,
            "memory_mb": used.memory_mb + count * asks.memory_mb,
            "memory_max_mb": used.memory_max_mb + count * asks.memory_mb,
            "disk_mb": used.disk_mb + count * asks.disk_mb,
            "allocations": used.allocations + count,
        }
        limits = {field: getattr(quota.limits, field) for field in needed}
        raised = {
            field: max(limit, needed[field]) if limit else 0 for field, limit in limits.items()
        }
        more = {field: raised[field] - max(limits[field], 0) for field in raised}
        if not any(more.values()):
            continue
        wanted = replace(quota, limits=QuotaAmounts(**raised))
        yield Guess(
            change=UnblockChange(
                change=ChangeWord.RAISE_QUOTA,
                quota=quota.name,
                count=more["allocations"],
                amounts=AskedAmounts(
                    cpu=more["cpu"], memory_mb=more["memory_mb"], disk_mb=more["disk_mb"]
                ),
            ),
            size=count,
            put=partial(_put_quota, wanted),
        )


def _freed(base: TrialSnapshot, found: FoundNow, _short: Short) -> Iterator[Guess]:
    full = [each for each in found.survey.nodes if each.kind is VerdictKind.EXHAUSTED]
    asks = found.survey.explanation.asks
    nearest = sorted(
        (each for each in full if each.missing),
        key=lambda each: share(lacking(each, asks), asks),
    )
    tried = 0
    for verdict in nearest[:_NODES_LOOKED_AT]:
        node, lacks = found.nodes[verdict.node_id], lacking(verdict, asks)
        others = [
            alloc
            for alloc in base.allocations_by_node(node.id)
            if not alloc.is_terminal and alloc.job_key != found.job.key
        ]
        # What nobody holds cannot be freed: the node is too small then.
        if tried == _NODES_FREED or not cover(map(held_by, others), lacks):
            continue
        tried += 1
        victim = victim_of(others, lacks)
        yield Guess(
            change=_about(
                node,
                UnblockChange(
                    change=ChangeWord.FREE, amounts=lacks, alloc_id=victim.id if victim else ""
                ),
            ),
            size=share(lacks, asks),
            put=_puts(enlarged(node, lacks)),
        )


def _less(_base: TrialSnapshot, found: FoundNow, short: Short) -> Iterator[Guess]:
    asks = found.survey.explanation.asks
    for check, field in (("memory", "memory_mb"), ("cpu", "cpu")):
        missing = sorted(
            each.missing
            for each in found.survey.nodes
            if each.kind is VerdictKind.EXHAUSTED and each.check == check
        )
        asked = getattr(asks, field)
        steps = {missing[min(count, len(missing)) - 1] for count in (1, short.waiting) if missing}
        for less in sorted(steps):
            job = _asking_less(found.job, found.group, check, less)
            if job is None or less * 2 > asked:
                continue
            yield Guess(
                change=UnblockChange(
                    change=ChangeWord.ASK_LESS,
                    amounts=replace(asks, **{field: asked - less}),
                    instead_of=asks,
                ),
                size=less / asked,
                put=_puts_job(job),
            )


def _datacenters(_base: TrialSnapshot, found: FoundNow, _short: Short) -> Iterator[Guess]:
    away: dict[str, int] = {}
    for verdict in found.survey.nodes:
        if verdict.check == "datacenter":
            name = found.nodes[verdict.node_id].datacenter
            away[name] = away.get(name, 0) + 1
    for name, count in sorted(away.items(), key=lambda item: (-item[1], item[0]))[:_PLACES]:
        job = replace(found.job, datacenters=(*found.job.datacenters, name))
        yield Guess(
            change=UnblockChange(change=ChangeWord.ADD_DATACENTER, datacenter=name, nodes=count),
            size=1 / count,
            put=_puts_job(job),
        )


def _constraints(_base: TrialSnapshot, found: FoundNow, _short: Short) -> Iterator[Guess]:
    refused: dict[str, int] = {}
    for verdict in found.survey.nodes:
        if verdict.kind is VerdictKind.REFUSED:
            refused[verdict.reason] = refused.get(verdict.reason, 0) + 1
    for constraint in _all_constraints(found.job, found.group):
        label = constraint.label.strip()
        count = refused.get(label) or refused.get(constraint.operand, 0)
        if not count:
            continue
        job = _without(found.job, found.group, constraint)
        yield Guess(
            change=UnblockChange(change=ChangeWord.DROP_CONSTRAINT, constraint=label, nodes=count),
            size=1 / count,
            put=_puts_job(job),
        )


def _added(_base: TrialSnapshot, found: FoundNow, _short: Short) -> Iterator[Guess]:
    """One more node like one that would do if it were empty; the largest of each class."""
    fitting = [
        found.nodes[each.node_id]
        for each in found.survey.nodes
        if each.kind in {VerdictKind.ROOM, VerdictKind.EXHAUSTED} or each.check == "ready"
    ]
    largest: dict[str, Node] = {}
    for node in sorted(fitting, key=_capacity):
        largest[node.node_class] = node
    for node in sorted(largest.values(), key=_capacity)[-_NODES_ADDED:]:
        new = replace(
            node,
            id=NEW_NODE,
            name="",
            status=NodeStatus.READY,
            scheduling_eligibility=NodeEligibility.ELIGIBLE,
            drain_strategy=None,
        )
        memory, cpu = _capacity(node)
        yield Guess(
            change=_about(
                node,
                UnblockChange(
                    change=ChangeWord.ADD_NODE, amounts=AskedAmounts(cpu=cpu, memory_mb=memory)
                ),
            ),
            size=memory,
            put=_puts(new),
        )


def _fewer(_base: TrialSnapshot, found: FoundNow, short: Short) -> Iterator[Guess]:
    left = found.group.count - short.waiting
    if found.job.type not in {JobType.SERVICE, JobType.BATCH} or left < 0:
        return
    job = _with_group(found.job, replace(found.group, count=left))
    yield Guess(
        change=UnblockChange(change=ChangeWord.SCALE_DOWN, count=left),
        size=short.waiting,
        put=_puts_job(job),
    )


def _put_quota(quota: QuotaSpec, trial: TrialSnapshot) -> None:
    trial.put(QUOTAS, quota)


def _about(node: Node, change: UnblockChange) -> UnblockChange:
    return replace(change, node_id=node.id, node_name=node.name, node_class=node.node_class)


def _puts_job(job: Job) -> Callable[[TrialSnapshot], None]:
    return lambda trial: trial.put_job(job)


def _puts(node: Node) -> Callable[[TrialSnapshot], None]:
    def put(trial: TrialSnapshot) -> None:
        put_found(trial, node)
        trial.follow_node(node.id)

    return put


def _capacity(node: Node) -> tuple[int, int]:
    return node.node_resources.memory.memory_mb, node.node_resources.cpu.cpu_shares


def _all_constraints(job: Job, group: TaskGroup) -> list[Constraint]:
    of_tasks = (constraint for task in group.tasks for constraint in task.constraints)
    return list(dict.fromkeys([*job.constraints, *group.constraints, *of_tasks]))


def _without(job: Job, group: TaskGroup, constraint: Constraint) -> Job:
    def rest(constraints: tuple[Constraint, ...]) -> tuple[Constraint, ...]:
        return tuple(each for each in constraints if each != constraint)

    tasks = tuple(replace(task, constraints=rest(task.constraints)) for task in group.tasks)
    changed = replace(group, constraints=rest(group.constraints), tasks=tasks)
    return replace(_with_group(job, changed), constraints=rest(job.constraints))


def _asking_less(job: Job, group: TaskGroup, check: str, less: int) -> Job | None:
    """The largest task of the group asks for so much less; None where it cannot."""
    field = "memory_mb" if check == "memory" else "cpu"
    largest = max(group.tasks, key=lambda task: getattr(task.resources, field))
    left = getattr(largest.resources, field) - less
    if left <= 0 or (largest.resources.cores and check == "cpu"):
        return None
    resources = replace(largest.resources, **{field: left})
    tasks = tuple(
        replace(task, resources=resources) if task is largest else task for task in group.tasks
    )
    return _with_group(job, replace(group, tasks=tasks))


def _with_group(job: Job, group: TaskGroup) -> Job:
    groups = tuple(group if each.name == group.name else each for each in job.task_groups)
    return replace(job, task_groups=groups)
