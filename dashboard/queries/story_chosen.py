"""What is told of one evaluation of a story beside its drawing: how it stands, why, what came.

In: a reader and a Whole with its chosen evaluation. Out: the part of the page's context that
`_story_chosen.html` shows, in a number of reads that does not grow with the story.
"""

from collections.abc import Callable, Collection
from typing import Any

import msgspec
from django.utils.translation import gettext

from cluster.store.evaluation_face import EvaluationFace
from cluster.store.ports import RecordReader
from dashboard.chains import Chain
from dashboard.graphs.chain_places import ChainMember
from dashboard.graphs.explanation import nodes_named
from dashboard.graphs.story_lanes import lane_anchor
from dashboard.outcomes import OutcomeSentence, outcome_of
from dashboard.queries.decision import KeptExplanations, kept_for
from dashboard.queries.explain_words import found_sentence
from dashboard.rights import NODE_READ
from dashboard.stories.gathered import as_it_was
from dashboard.stories.later import follow_up_ids, later_lines
from dashboard.stories.names import title_of
from dashboard.stories.rows import deployment_of
from dashboard.stories.whole import Whole
from dashboard.why_waiting import why_it_waits
from dashboard.wording import amount
from dashboard.work_words import trigger_told
from scheduler.structs.evaluation import EvalStatus, Evaluation
from scheduler.structs.explanation import AskedAmounts


class WantedPlaces(msgspec.Struct, frozen=True, kw_only=True):
    """Allocations of a group that found no place; `asks` says for how much, where that is kept."""

    group: str
    count: int
    asks: str = ""


class ChosenEvaluation(msgspec.Struct, frozen=True, kw_only=True):
    """One evaluation, as it is or was."""

    evaluation: Evaluation
    #: A state of the labels.
    state: str
    trigger: str
    #: The lane that it is drawn in, and the id of its row below.
    lane: str
    lane_anchor: str
    wants: tuple[WantedPlaces, ...]
    #: The evaluation that made it, and by which link.
    made_by: str
    made_by_url: str
    link: str
    #: How long it had waited by then, ns.
    waited: int
    heading: str
    #: Why it is so, each a sentence; the first one is strong.
    why: OutcomeSentence
    is_explained: bool
    may_ask: bool
    #: Where the one before it in the story is chosen, and the one after it.
    before_url: str = ""
    after_url: str = ""


def chosen_context(
    reader: RecordReader, whole: Whole, may: Collection[str], address: Callable[[str], str]
) -> dict[str, Any]:
    """The chosen evaluation, if one is, and what came of the story.

    `address`: of the page with another evaluation chosen.
    """
    begun = reader.stories_among(follow_up_ids(whole))
    now = None
    if whole.rollout is not None and whole.gathered.past is not None:
        now = deployment_of(whole.story, reader.deployments_of_stories([whole.story.id]))
    parent = reader.story(whole.story.parent_id) if whole.story.parent_id else None
    spaces = whole.gathered.namespaces
    is_seen = parent is not None and (spaces is None or parent.namespace in {"", *spaces})
    return {
        "chosen": _chosen(reader, whole, may, address),
        "later_lines": later_lines(
            whole, [story for story in begun if story.parent_id == whole.story.id], now
        ),
        "parent": parent if is_seen else None,
        "parent_title": title_of(parent).plain if parent is not None and is_seen else "",
    }


def _chosen(
    reader: RecordReader, whole: Whole, may: Collection[str], address: Callable[[str], str]
) -> ChosenEvaluation | None:
    face = whole.chosen
    evaluation = _body(reader, whole, face) if face is not None else None
    if face is None or evaluation is None:
        return None
    gathered = whole.gathered
    member = gathered.member(face)
    lane = next(
        (lane for lane in whole.lanes.lanes if any(each.id == face.id for each in lane.members)),
        None,
    )
    kept = _kept(reader, whole, evaluation)
    order = [each.id for each in gathered.faces if not each.is_stub]
    place = order.index(face.id)
    parent = gathered.evaluations.get(member.previous_eval)
    made_by = member.previous_eval or member.cause_eval
    return ChosenEvaluation(
        evaluation=evaluation,
        state=member.state,
        trigger=trigger_told(evaluation.triggered_by),
        lane=lane.title if lane is not None else "",
        lane_anchor=lane_anchor(lane.key) if lane is not None else "",
        wants=_wants(evaluation, kept),
        made_by=made_by,
        made_by_url=address(made_by) if made_by in order else f"/evaluations/{made_by}/",
        link=_link(face.id, member.previous_eval, parent),
        waited=max(gathered.at - evaluation.create_time, 0),
        heading=_heading(evaluation, is_past=gathered.past is not None),
        why=_why(reader, whole, evaluation, kept, may),
        is_explained=bool(evaluation.failed_task_groups),
        may_ask=NODE_READ in may and gathered.past is None,
        before_url=address(order[place - 1]) if place else "",
        after_url=address(order[place + 1]) if place + 1 < len(order) else "",
    )


def chosen_of_chain(
    reader: RecordReader, chain: Chain, member: ChainMember | None
) -> ChosenEvaluation | None:
    """The evaluation that the page of a chain is about; None where only its stub is left.

    Whoever looks at the chain is told the same, so no node is named.
    """
    evaluation = chain.evaluations.get(member.id) if member is not None else None
    if member is None or evaluation is None:
        return None
    is_failed = bool(evaluation.failed_task_groups)
    kept = kept_for(reader, evaluation, has_placed=False) if is_failed else KeptExplanations()
    made_by = member.previous_eval or member.cause_eval
    parent = chain.evaluations.get(member.previous_eval)
    is_blocked = evaluation.status is EvalStatus.BLOCKED
    return ChosenEvaluation(
        evaluation=evaluation,
        state=member.state,
        trigger=trigger_told(evaluation.triggered_by),
        lane="",
        lane_anchor="",
        wants=_wants(evaluation, kept),
        made_by=made_by,
        made_by_url=f"/chains/{made_by}/"
        if made_by in chain.evaluations
        else f"/evaluations/{made_by}/",
        link=_link(member.id, member.previous_eval, parent),
        waited=0,
        heading=_heading(evaluation, is_past=False),
        why=_why_it_waits(reader, evaluation, kept, sees_nodes=False)
        if is_blocked
        else outcome_of(evaluation),
        is_explained=is_failed,
        may_ask=False,
    )


def _body(reader: RecordReader, whole: Whole, face: EvaluationFace) -> Evaluation | None:
    known = whole.gathered.evaluations.get(face.id)
    if known is not None:
        return known
    found = next(iter(reader.evaluations_among([face.id])), None)
    is_past = whole.gathered.past is not None
    return as_it_was(found, face) if found is not None and is_past else found


def _kept(reader: RecordReader, whole: Whole, evaluation: Evaluation) -> KeptExplanations:
    """What its run found node by node; of the past only where it was found before."""
    if not evaluation.failed_task_groups:
        return KeptExplanations()
    kept = kept_for(reader, evaluation, has_placed=False)
    past = whole.gathered.past
    return KeptExplanations() if past is not None and kept.index > past.index else kept


def _link(eval_id: str, parent_id: str, parent: Evaluation | None) -> str:
    """The stored link that leads to it."""
    if parent is not None and parent.next_eval == eval_id:
        return "NextEval"
    if parent is not None and parent.blocked_eval == eval_id:
        return "BlockedEval"
    return "PreviousEval" if parent_id else ""


def _wants(evaluation: Evaluation, kept: KeptExplanations) -> tuple[WantedPlaces, ...]:
    if evaluation.status is not EvalStatus.BLOCKED:
        return ()
    return tuple(
        WantedPlaces(
            group=name,
            count=1 + metric.coalesced_failures,
            asks=_asks(kept.groups[name].asks) if name in kept.groups else "",
        )
        for name, metric in sorted(evaluation.failed_task_groups.items())
    )


def _asks(asks: AskedAmounts) -> str:
    told = (
        (asks.cpu, "MHz", "{amount}"),
        (asks.memory_mb, "MiB", "{amount}"),
        (asks.disk_mb, "MiB", gettext("{amount} of disk")),
    )
    return ", ".join(
        template.format(amount=amount(value, unit)) for value, unit, template in told if value
    )


def _heading(evaluation: Evaluation, *, is_past: bool) -> str:
    match evaluation.status:
        case EvalStatus.BLOCKED:
            return gettext("Why it waited") if is_past else gettext("Why it waits")
        case EvalStatus.FAILED:
            return gettext("Why it failed")
        case EvalStatus.PENDING:
            return gettext("What it did then") if is_past else gettext("What it does")
    return gettext("What it did")


def _why(
    reader: RecordReader,
    whole: Whole,
    evaluation: Evaluation,
    kept: KeptExplanations,
    may: Collection[str],
) -> OutcomeSentence:
    """In sentences; node by node only for those who may see nodes."""
    if evaluation.status is not EvalStatus.BLOCKED:
        return outcome_of(evaluation)
    past = whole.gathered.past
    if past is not None and evaluation.modify_index > past.index:
        # It ran again since, and what that found has taken the place of what was found before.
        return OutcomeSentence(
            strong=gettext("It waited for room."),
            rest=gettext("What the nodes lacked then is not known any more."),
        )
    return _why_it_waits(reader, evaluation, kept, sees_nodes=NODE_READ in may)


def _why_it_waits(
    reader: RecordReader, evaluation: Evaluation, kept: KeptExplanations, *, sees_nodes: bool
) -> OutcomeSentence:
    waits = sum(1 + metric.coalesced_failures for metric in evaluation.failed_task_groups.values())
    group = next((name for name in evaluation.failed_task_groups if name in kept.groups), "")
    if group and sees_nodes:
        found = kept.groups[group]
        named = nodes_named(found)
        reader.preload(nodes=named)
        names = {key: node.name for key in named if (node := reader.node(key)) is not None}
        return found_sentence(found, waits, names)
    why = why_it_waits(evaluation)
    told = f"{why[:1].upper()}{why[1:]}." if why else outcome_of(evaluation).strong
    return OutcomeSentence(strong=told)
