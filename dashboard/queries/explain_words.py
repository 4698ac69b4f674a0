"""The sentences of the page that explains a group: from what was found, and nothing else.

In: an explanation and names of nodes. Out: words. Counts add up as the explanation's do.
"""

from collections.abc import Mapping

from django.utils.translation import gettext, ngettext

from cluster.store.ports import RecordReader
from dashboard.graphs.matrix_words import UNITS
from dashboard.graphs.node_matrix import nearest_node
from dashboard.outcomes import OutcomeSentence
from dashboard.queries.woken import WokenEvaluation, woken_of
from dashboard.wording import (
    amount,
    clock_time,
    count_of,
    dimension_word,
    is_by_neighbours,
    number,
    one_of,
    plain_reason,
    short_id,
)
from scheduler.state.writes.explanations import worth_told
from scheduler.structs.evaluation import EvalTrigger, Evaluation
from scheduler.structs.explanation import GroupExplanation

#: Of evaluations that wait for room.
_WAITING = frozenset({EvalTrigger.QUEUED_ALLOCS, EvalTrigger.MAX_PLAN_ATTEMPTS})


def explain_title(job_id: str, *, waits: int) -> str:
    """What the page answers."""
    return (
        gettext("Why does {job_id} wait?").format(job_id=job_id)
        if waits
        else gettext("Where could {job_id} run?").format(job_id=job_id)
    )


def found_sentence(
    found: GroupExplanation | None, waits: int, names: Mapping[str, str]
) -> OutcomeSentence:
    """What kept the group waiting, how many nodes each kind of reason kept out, who came near."""
    told = count_of(waits, "{count} allocation waits", "{count} allocations wait")
    if found is None:
        strong = f"{told}." if waits else gettext("Nothing of it waits.")
        return OutcomeSentence(
            strong=strong, rest=gettext("Which node failed which check was not kept.")
        )
    if found.quota_exhausted:
        strong = gettext("The quota is reached, whatever the node: {quota_exhausted}").format(
            quota_exhausted="; ".join(found.quota_exhausted)
        )
    elif not found.with_room:
        strong = gettext("No node has room for one more")
    else:
        strong = count_of(
            found.with_room,
            "{count} node has room for one more",
            "{count} nodes have room for one more",
        )
    rest = " ".join(part for part in (_counts(found), _nearest(found, names)) if part)
    return OutcomeSentence(strong=f"{strong}{f': {told}' if waits else ''}.", rest=rest)


def kept_told(reader: RecordReader, evaluation: Evaluation, eval_id: str) -> str:
    """Why what was found is still kept."""
    blocked = reader.blocked_evaluations(evaluation.job_key)
    waiting = {row.id for row in blocked} | {row.previous_eval for row in blocked}
    return worth_told(reader.explained_runs(evaluation.job_key), waiting, eval_id)


def woken_for(reader: RecordReader, evaluation: Evaluation) -> WokenEvaluation | None:
    """What last let it run again that waits, or waited, for this evaluation; None for nothing."""
    waits = evaluation.triggered_by in _WAITING
    eval_id = evaluation.blocked_eval or (evaluation.id if waits else "")
    steps = reader.lifecycle(eval_id) if eval_id else ()
    return woken_of(reader, evaluation, steps)


def unblocked_told(woken: WokenEvaluation | None) -> str:
    """When and why, as a sentence; "" for nothing."""
    if woken is None:
        return ""
    return gettext("Looked again at {at}: {reason}.").format(
        at=clock_time(woken.at), reason=plain_reason(woken.reason)
    )


def _counts(found: GroupExplanation) -> str:
    exhausted = sum(item.count for item in found.exhausted)
    taken = sum(item.count for item in found.refused if is_by_neighbours(item.reason))
    refused = sum(item.count for item in found.refused) - taken
    not_asked = sum(item.count for item in found.not_asked)
    total = found.candidates + not_asked
    if not total:
        return gettext("There is no node.")
    parts = [
        text
        for count, text in (
            (
                exhausted,
                ngettext("{exhausted} has no room", "{exhausted} have no room", exhausted).format(
                    exhausted=number(exhausted)
                ),
            ),
            (
                taken,
                ngettext(
                    "{taken} already runs one of it", "{taken} already run one of it", taken
                ).format(taken=number(taken)),
            ),
            (refused, gettext("{refused} could never run it").format(refused=number(refused))),
            (
                not_asked,
                ngettext(
                    "{not_asked} was not asked", "{not_asked} were not asked", not_asked
                ).format(not_asked=number(not_asked)),
            ),
            (
                found.with_room,
                gettext("{with_room} with room").format(with_room=number(found.with_room)),
            ),
        )
        if count
    ]
    return gettext("Of {node} {parts}.").format(
        node=count_of(total, "{count} node", "{count} nodes"), parts=one_of(parts, "and")
    )


def _nearest(found: GroupExplanation, names: Mapping[str, str]) -> str:
    if found.with_room:
        return ""
    short = next((item for item in found.exhausted if item.missing), None)
    if short is None:
        return ""
    node_id = nearest_node(found) or short.node_ids[0]
    lacks = amount(short.missing[0], UNITS.get(short.dimension, ""))
    word = dimension_word(short.dimension)
    return gettext("The nearest, {names}, lacked {lacks} of {word}.").format(
        names=names.get(node_id) or short_id(node_id), lacks=lacks, word=word
    )
