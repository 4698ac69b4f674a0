"""Which evaluations belong to one chain, and how each is told in it.

In: a reader of the record. Out: ChainMembers for `dashboard.graphs.chain`. A chain is what links
and causes connect within one job's evaluations; who knows more relatives (a node's other jobs)
passes them in.
"""

import re
from collections.abc import Mapping

import msgspec
from django.utils.translation import gettext, gettext_noop

from dashboard.graphs.chain_places import ChainMember
from dashboard.graphs.lifecycle import STATE_OF
from dashboard.labels import label_for
from dashboard.outcomes import is_repaired_next
from dashboard.wording import clock_time, count_of, dimension_word, short_id
from scheduler.ports import StateReader
from scheduler.structs.evaluation import (
    Cause,
    CauseKind,
    EvalStatus,
    EvalTrigger,
    Evaluation,
    LifecycleStep,
)

#: The causes of nodes and drains, as operations write them.
_OF_NODE = re.compile(r"node (.+) (?:is [a-z]+|was purged)")
#: More members than this are not gathered; the graph says so by its unknown nodes.
MAX_MEMBERS = 2000

#: Words on the arrow from a cause that left no link.
_CAUSE_WORDS: dict[str, str] = {
    EvalTrigger.PREEMPTION: "preempts",
    EvalTrigger.DEPLOYMENT_WATCHER: gettext_noop("next step"),
    EvalTrigger.ALLOC_FAILURE: gettext_noop("alloc failed"),
    EvalTrigger.MAX_DISCONNECT_TIMEOUT: gettext_noop("timed out"),
    EvalTrigger.RECONNECT: "reconnected",
}


def links_of(evaluation: Evaluation) -> frozenset[str]:
    """The evaluations it names, by link or as its cause."""
    cause = evaluation.cause
    cause_id = cause.id if cause and cause.kind is CauseKind.EVALUATION else ""
    named = {evaluation.previous_eval, evaluation.next_eval, evaluation.blocked_eval, cause_id}
    return frozenset(named - {""})


class Chain(msgspec.Struct, frozen=True):
    """What is known of a chain: evaluations, and stubs of collected ones, by id."""

    evaluations: dict[str, Evaluation]
    stubs: dict[str, Evaluation]


def chain_of(reader: StateReader, eval_id: str) -> Chain:
    """Every evaluation of the job that links and causes connect to `eval_id`, itself included."""
    start = reader.evaluation(eval_id) or reader.evaluation_stub(eval_id)
    if start is None:
        return Chain({}, {})
    known = {item.id: item for item in reader.evaluations_by_job(start.job_key)}
    neighbours: dict[str, set[str]] = {}
    for item in known.values():
        for other in links_of(item):
            neighbours.setdefault(item.id, set()).add(other)
            neighbours.setdefault(other, set()).add(item.id)
    chain = Chain({}, {})
    waiting = [start.id]
    while waiting and len(chain.evaluations) < MAX_MEMBERS:
        key = waiting.pop()
        if key in chain.evaluations or key in chain.stubs:
            continue
        found = known.get(key) or reader.evaluation(key)
        if found is not None:
            chain.evaluations[key] = found
        elif (found := reader.evaluation_stub(key)) is not None:
            chain.stubs[key] = found
        if found is not None:
            waiting += neighbours.get(key, set()) | links_of(found)
    return chain


def newest_steps(reader: StateReader, chain: Chain) -> dict[str, LifecycleStep]:
    """The newest recorded step of each member that has not ended, by its id."""
    return {
        item.id: steps[-1]
        for item in chain.evaluations.values()
        if not item.is_terminal and (steps := reader.lifecycle(item.id))
    }


def member_of(evaluation: Evaluation, *, newest: LifecycleStep | None = None) -> ChainMember:
    """One evaluation as the chain tells it; `newest`, its newest step, knows quasi-statuses."""
    state = evaluation.status.value
    if newest is not None and not evaluation.is_terminal:
        state = STATE_OF.get(newest.step, state)
    label = label_for("evaluation", state)
    cause = evaluation.cause
    is_caused = cause is not None and cause.kind is CauseKind.EVALUATION
    has_event = not (evaluation.previous_eval or is_caused)
    return ChainMember(
        id=evaluation.id,
        job=evaluation.job_id,
        state=label.tone,
        icon=label.icon,
        is_quasi=label.is_quasi,
        trigger=evaluation.triggered_by,
        outcome=outcome_words(evaluation),
        previous_eval=evaluation.previous_eval,
        next_eval=evaluation.next_eval,
        blocked_eval=evaluation.blocked_eval,
        cause_eval=cause.id if cause is not None and is_caused else "",
        cause_text=gettext(_CAUSE_WORDS.get(evaluation.triggered_by, "")),
        event_key=_event_key(evaluation) if has_event else "",
        event_lines=_event_lines(evaluation) if has_event else (),
        created_at=evaluation.create_time,
        expects=_expects(evaluation),
        href=f"/evaluations/{evaluation.id}/",
    )


def tombstone_of(stub: Evaluation) -> ChainMember:
    """A collected evaluation: only what its stub kept."""
    return ChainMember(
        id=stub.id,
        job=stub.job_id,
        state="deleted",
        icon="deleted",
        is_tombstone=True,
        trigger="",
        outcome=gettext("collected, was {status}").format(status=stub.status.value),
        previous_eval=stub.previous_eval,
        next_eval=stub.next_eval,
        blocked_eval=stub.blocked_eval,
        event_key="" if stub.previous_eval else _event_key(stub),
        event_lines=_event_lines(stub),
        created_at=stub.create_time,
        href=f"/evaluations/{stub.id}/",
    )


def members_of(chain: Chain, newest: Mapping[str, LifecycleStep]) -> tuple[ChainMember, ...]:
    """All members, stubs included, oldest first: the same from whichever of them it was asked."""
    evaluations = chain.evaluations.values()
    told = [member_of(item, newest=newest.get(item.id)) for item in evaluations]
    told += [tombstone_of(stub) for stub in chain.stubs.values()]
    return tuple(sorted(told, key=lambda member: (member.created_at, member.id)))


def outcome_words(evaluation: Evaluation) -> str:
    """What is left to do, in few words: `2 wait`; "" when nothing is known or all is done."""
    if is_repaired_next(evaluation):
        return gettext("repaired next")
    waiting = sum(evaluation.queued_allocations.values())
    if evaluation.status is EvalStatus.COMPLETE and waiting:
        return count_of(waiting, "{count} waits", "{count} wait")
    if evaluation.status is EvalStatus.BLOCKED and evaluation.failed_task_groups:
        dimensions = sorted(
            {
                name
                for metric in evaluation.failed_task_groups.values()
                for name in metric.dimension_exhausted
            }
        )
        return dimension_word(dimensions[0]) if dimensions else ""
    return ""


def _expects(evaluation: Evaluation) -> str:
    if evaluation.status is EvalStatus.BLOCKED:
        return gettext("when there is room")
    if evaluation.status is EvalStatus.PENDING and evaluation.wait_until:
        return gettext("at {wait_until}").format(wait_until=clock_time(evaluation.wait_until))
    return ""


def _event_key(evaluation: Evaluation) -> str:
    cause = evaluation.cause
    if cause is None:
        return f"evaluation {evaluation.create_index}"
    return f"{cause.kind.value} {cause.id} {cause.index or evaluation.create_index}"


def _event_lines(evaluation: Evaluation) -> tuple[str, ...]:
    cause = evaluation.cause
    when = clock_time(evaluation.create_time)
    if cause is None:
        return (gettext("Cluster"), gettext("event"), when)
    return (cause.kind.value.capitalize(), _subject(cause, evaluation), when)


def _subject(cause: Cause, evaluation: Evaluation) -> str:
    """What the event was about: a job or a node by its name, where the cause says it."""
    if cause.kind is CauseKind.JOB:
        return evaluation.job_id
    found = _OF_NODE.fullmatch(cause.text)
    return found[1] if found else short_id(cause.id) or evaluation.job_id
