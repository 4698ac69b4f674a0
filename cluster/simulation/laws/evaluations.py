"""What must hold of evaluations and of the log itself after each write."""

from collections import Counter
from collections.abc import Iterator

from cluster.simulation.laws.law import Laws, Written
from scheduler.state.events import WriteKind
from scheduler.state.nouns import DEPLOYMENTS, EVALUATIONS, LIFECYCLE_STEPS, NODES
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import EvalStatus, EvalTrigger, Evaluation
from scheduler.structs.job import JobType
from scheduler.structs.node import Node, NodeEligibility, NodeStatus

_ENDED = frozenset({EvalStatus.COMPLETE, EvalStatus.FAILED, EvalStatus.CANCELED})
#: Children that the evaluation they follow names; others wait for their moment unnamed, and one
#: that failed names the last of those that it left waiting.
_NAMED_BY_PARENT = frozenset(
    {EvalTrigger.QUEUED_ALLOCS, EvalTrigger.MAX_PLAN_ATTEMPTS, EvalTrigger.FAILED_FOLLOW_UP}
)
LAWS: Laws[Written] = Laws()


@LAWS.add("index", "a write changes each row once, and says at which index")
def _index(look: Written) -> Iterator[str]:
    rows = Counter((event.topic, event.key) for event in look.frame.events)
    yield from (f"{row} stands {count} times in it" for row, count in rows.items() if count > 1)
    for _, before, after in look.rows:
        if not isinstance(after, Allocation | Evaluation | Deployment | Node):
            continue
        if after.modify_index != look.frame.index:
            yield f"{after.id[-4:]} says {after.modify_index} at {look.frame.index}"
        if isinstance(before, type(after)) and before.create_index != after.create_index:
            yield f"{after.id[-4:]} was created at {before.create_index}, then at another"


@LAWS.add("ended", "what has ended stays so")
def _ended(look: Written) -> Iterator[str]:
    for before, after in look.of(EVALUATIONS):
        if before is None or after is None:
            continue
        if before.status in _ENDED and after.status not in _ENDED:
            yield f"{_short(after)} was {before.status} and is {after.status}"
    for was, is_ in look.of(DEPLOYMENTS):
        if was is not None and is_ is not None and not was.is_active and was.status != is_.status:
            yield f"rollout of {is_.job_id} was {was.status} and is {is_.status}"


@LAWS.add("links", "links between evaluations go both ways and never in a circle")
def _links(look: Written) -> Iterator[str]:
    for _, row in look.of(EVALUATIONS):
        if row is None:
            continue
        for name, other_id in (("next", row.next_eval), ("blocked", row.blocked_eval)):
            other = look.record.evaluation(other_id) if other_id else None
            if other is not None and other.previous_eval != row.id:
                yield f"{_short(row)} has {name} {_short(other)}, which follows another"
        yield from _backwards(look, row)


def _backwards(look: Written, row: Evaluation) -> Iterator[str]:
    if not row.previous_eval:
        return
    if row.previous_eval == row.id:
        yield f"{_short(row)} follows itself"
    before = look.record.evaluation(row.previous_eval)
    if before is None:
        if look.record.evaluation_stub(row.previous_eval) is None:
            yield f"{_short(row)} follows one that never was"
        return
    if before.create_index > row.create_index:
        yield f"{_short(row)} follows {_short(before)}, which is younger"
    if before.job_key != row.job_key:
        yield f"{_short(row)} follows {_short(before)} of another job"
    named = (before.next_eval, before.blocked_eval)
    must = row.triggered_by in _NAMED_BY_PARENT and not row.node_id
    if must and before.status is EvalStatus.COMPLETE and row.id not in named:
        yield f"{_short(row)} follows {_short(before)}, which names another"


@LAWS.add("born", "an evaluation says of which job, why and how urgent it is")
def _born(look: Written) -> Iterator[str]:
    for before, row in look.of(EVALUATIONS):
        if before is not None or row is None:
            continue
        if not (row.job_id and row.triggered_by and row.type and row.cause is not None):
            yield f"{_short(row)} lacks its job, type, trigger or cause"
        if not 1 <= row.priority <= 100:
            yield f"{_short(row)} has priority {row.priority}"
        if row.previous_eval == "" and row.status is EvalStatus.BLOCKED:
            yield f"{_short(row)} waits for what nobody missed"


@LAWS.add("told", "an evaluation is part of one story that has begun, and of its parent's")
def _told(look: Written) -> Iterator[str]:
    for before, row in look.of(EVALUATIONS):
        if row is None:
            continue
        if before is not None and before.story_id != row.story_id:
            yield f"{_short(row)} went over to another story"
        story = look.record.story(row.story_id)
        if story is None:
            yield f"{_short(row)} is of a story that nobody began"
            continue
        if row.create_index < story.create_index:
            yield f"{_short(row)} was made before its {story.kind.value} began"
        parent = look.record.evaluation(row.previous_eval)
        if parent is not None and parent.story_id != row.story_id:
            yield f"{_short(row)} is of another story than what it follows"
    for _, deployment in look.of(DEPLOYMENTS):
        if deployment is not None and look.record.story(deployment.story_id) is None:
            yield f"rollout of {deployment.job_id} is of a story that nobody began"


@LAWS.add("looked-at", "a node that goes down has the services looked at that it held")
def _looked_at(look: Written) -> Iterator[str]:
    made = {row.job_key for _, row in look.of(EVALUATIONS) if row is not None}
    for before, node in look.of(NODES):
        if before is None or node is None or node.status is not NodeStatus.DOWN:
            continue
        if before.status is NodeStatus.DOWN:
            continue
        for alloc in look.record.allocations_by_node(node.id):
            if alloc.is_terminal or alloc.job_type != JobType.SERVICE:
                continue
            if alloc.job_key not in made:
                yield f"{node.name} goes down, and nobody looks at {alloc.job_id}"


@LAWS.add("opened", "a node that is opened has the system jobs looked at")
def _opened(look: Written) -> Iterator[str]:
    if look.frame.kind != WriteKind.NODE_ELIGIBILITY:
        return
    made = {row.job_key for _, row in look.of(EVALUATIONS) if row is not None}
    for _, node in look.of(NODES):
        if node is None or node.scheduling_eligibility is not NodeEligibility.ELIGIBLE:
            continue
        for job in look.record.jobs_of_type(JobType.SYSTEM):
            if not job.stop and job.key not in made:
                yield f"{node.name} is opened, and nobody looks at {job.id}"


@LAWS.add("steps", "the steps of an evaluation's life count up from one")
def _steps(look: Written) -> Iterator[str]:
    for before, step in look.of(LIFECYCLE_STEPS):
        if step is None:
            continue
        if before is not None and before.step != step.step:
            yield f"step {step.number} of {step.eval_id[-4:]} was {before.step}, is {step.step}"


def _short(row: Evaluation) -> str:
    return f"evaluation {row.id[-4:]} ({row.triggered_by} of {row.job_id})"
