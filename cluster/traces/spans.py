"""One evaluation's recorded life as the spans of a trace.

In: an evaluation that ended, and its steps. Out: a span for the whole and one for each part of it,
with ids made from the evaluation's, so that who sends twice says the same twice. Knows no SDK.
"""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from scheduler.structs.evaluation import CauseKind, EvalStatus, Evaluation, LifecycleStep, Step

#: What a part is called, by the step that it begins with.
PARTS: dict[Step, str] = {
    Step.CREATED: "created",
    Step.ENQUEUED: "waiting",
    Step.DELAYED: "delayed",
    Step.DEQUEUED: "scheduling",
    Step.PLAN_SUBMITTED: "plan",
    Step.PLAN_ANSWERED: "finishing",
    Step.NACKED: "nacked",
    Step.BLOCKED: "blocked",
    Step.UNBLOCKED: "unblocked",
}
#: Who does a part: the first word of `service.name` behind `bivouac-`.
_SERVICES: dict[Step, str] = {
    Step.DEQUEUED: "worker",
    Step.PLAN_ANSWERED: "worker",
}
#: What follows `plan` from the moment at which the applier took it.
_JUDGING, _APPLIER = "judging", "applier"
_LEADER = "leader"
#: Steps after which nothing follows.
_ENDS = frozenset({Step.COMPLETE, Step.FAILED, Step.CANCELED, Step.DELETED})

#: 2**64 over the golden ratio, odd.
_SPREAD = 0x9E3779B97F4A7C15
#: The number of a part that no step of its own begins: this and the step's, or this alone.
_BEFORE = 2**32

Attribute = str | int | bool


class SpanLink(msgspec.Struct, frozen=True):
    """Another evaluation of the chain, and what it is to this one."""

    trace_id: int
    span_id: int
    relation: str


class EvalSpan(msgspec.Struct, frozen=True, kw_only=True):
    """A span; times are ns since 1970."""

    name: str
    trace_id: int
    span_id: int
    #: 0: of the whole.
    parent_id: int = 0
    began: int
    ended: int
    #: What `service.name` says of who did it, and which process it was.
    service: str = _LEADER
    actor: str = ""
    attributes: dict[str, Attribute] = {}
    links: tuple[SpanLink, ...] = ()
    #: Why it failed; "": it did not.
    error: str = ""


def trace_id(eval_id: str) -> int:
    """The evaluation's id, without its hyphens: who knows one finds the other."""
    digits = eval_id.replace("-", "")
    try:
        return int(digits, 16) if len(digits) == 32 and int(digits, 16) else _hash(eval_id, 16)
    except ValueError:
        return _hash(eval_id, 16)


def span_id(eval_id: str) -> int:
    """Of the whole."""
    return _hash(f"{eval_id}/0", 8)


def part_id(whole: int, number: int) -> int:
    """Of the part that begins with the step of that number, from 1; another one in its trace.

    An odd factor: numbers below 2**64 that differ give products that differ.
    """
    return (whole ^ number * _SPREAD) % 2**64 or 1


def is_sampled(story_id: str, percent: float) -> bool:
    """Whether a story is among so many of a hundred: all its evaluations are, or none."""
    return percent >= 100 or _hash(story_id, 4) < percent / 100 * 2**32


def spans_of(evaluation: Evaluation, steps: Sequence[LifecycleStep]) -> list[EvalSpan]:
    """The whole first, then its parts in order."""
    ordered = sorted(steps, key=lambda step: step.number)
    began = min([evaluation.create_time, *(step.at for step in ordered)])
    ended = max([evaluation.modify_time, *(step.at for step in ordered), began])
    whole = EvalSpan(
        name=f"evaluation {evaluation.triggered_by}",
        trace_id=trace_id(evaluation.id),
        span_id=span_id(evaluation.id),
        began=began,
        ended=ended,
        attributes=_attributes(evaluation),
        links=tuple(_links(evaluation)),
        error=_error(evaluation),
    )
    return [whole, *_parts(whole, ordered)]


def _parts(whole: EvalSpan, steps: Sequence[LifecycleStep]) -> Iterator[EvalSpan]:
    if steps and steps[0].at > whole.began:
        # The record was made a moment before anybody took note of it.
        first = steps[0]
        yield _part(whole, "created", (whole.began, first.at), 0, _LEADER, {"bivouac.actor": ""})
    worker = ""
    for step, following in pairwise(steps):
        if step.step in _ENDS:
            continue
        # Everything lasts with whoever began it, but for plans: one waits at the leader until the
        # applier takes it, and with the answer the worker goes on that had handed it in.
        actor = step.actor
        if step.step is Step.DEQUEUED:
            worker = actor
        elif step.step is Step.PLAN_SUBMITTED:
            actor = _LEADER
        elif step.step is Step.PLAN_ANSWERED:
            actor = worker
        yield from _from_step(whole, step, following, actor)


def _from_step(
    whole: EvalSpan, step: LifecycleStep, following: LifecycleStep, actor: str
) -> Iterator[EvalSpan]:
    """One part; of a plan that the applier took, two: the wait for it, and its work."""
    told: dict[str, Attribute] = {
        "bivouac.step.number": step.number,
        "bivouac.step.ended_by": following.step.value,
        "bivouac.actor": actor,
    }
    if following.plan_id or step.plan_id:
        told["bivouac.plan.id"] = following.plan_id or step.plan_id
    began, ended = step.at, max(step.at, following.at)
    name, number, service = PARTS[step.step], step.number, _SERVICES.get(step.step, _LEADER)
    if following.taken_at:
        taken = min(max(began, following.taken_at), ended)
        waited = told | {"bivouac.step.ended_by": "taken"}
        yield _part(whole, name, (began, taken), number, service, waited)
        told["bivouac.actor"] = following.actor
        name, number, service, began = _JUDGING, _BEFORE + number, _APPLIER, taken
    if following.nodes:
        told["bivouac.plan.refused_nodes"] = len(following.nodes)
    if following.reason:
        told["bivouac.reason"] = following.reason
    yield _part(whole, name, (began, ended), number, service, told)


def _part(
    whole: EvalSpan,
    name: str,
    times: tuple[int, int],
    number: int,
    service: str,
    attributes: dict[str, Attribute],
) -> EvalSpan:
    return EvalSpan(
        name=name,
        trace_id=whole.trace_id,
        span_id=part_id(whole.span_id, number or _BEFORE),
        parent_id=whole.span_id,
        began=times[0],
        ended=times[1],
        service=service,
        actor=str(attributes["bivouac.actor"]),
        attributes={name: value for name, value in attributes.items() if value != ""},
    )


def _attributes(evaluation: Evaluation) -> dict[str, Attribute]:
    told: dict[str, Attribute] = {
        "bivouac.evaluation.id": evaluation.id,
        "bivouac.namespace": evaluation.namespace,
        "bivouac.job.id": evaluation.job_id,
        "bivouac.job.type": evaluation.type,
        "bivouac.priority": evaluation.priority,
        "bivouac.status": evaluation.status.value,
        "bivouac.status_description": evaluation.status_description,
        "bivouac.node.id": evaluation.node_id,
        "bivouac.deployment.id": evaluation.deployment_id,
        "bivouac.story.id": evaluation.story_id,
        "bivouac.cause": evaluation.cause.text if evaluation.cause else "",
        "bivouac.index": evaluation.modify_index,
        "bivouac.groups_not_placed": len(evaluation.failed_task_groups),
    }
    return {name: value for name, value in told.items() if value != ""}


def _links(evaluation: Evaluation) -> Iterator[SpanLink]:
    cause = evaluation.cause
    relations = {
        "previous": evaluation.previous_eval,
        "next": evaluation.next_eval,
        "blocked": evaluation.blocked_eval,
        "cause": cause.id if cause and cause.kind is CauseKind.EVALUATION else "",
    }
    seen = {"", evaluation.id}
    for relation, eval_id in relations.items():
        if eval_id not in seen:
            seen.add(eval_id)
            yield SpanLink(trace_id(eval_id), span_id(eval_id), relation)


def _error(evaluation: Evaluation) -> str:
    if evaluation.status is not EvalStatus.FAILED:
        return ""
    return evaluation.status_description or "failed"


def _hash(text: str, size: int) -> int:
    digest = hashlib.blake2b(text.encode(), digest_size=size).digest()
    return int.from_bytes(digest, "big") or 1
