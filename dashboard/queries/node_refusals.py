"""The plans that one node refused, of the newest evaluations: why, whose, how often.

In: a reader, a node. Out: the context of `_node_refusals.html`, in two reads.
"""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext

from cluster.store.ports import RecordReader
from dashboard.queries.rejections import refusals_of
from dashboard.subscription import Subscription
from dashboard.wording import count_of, number
from scheduler.structs.evaluation import Step

#: Evaluations whose plans are looked at, the newest.
RECENT = 300


def refusals_context(reader: RecordReader, node_id: str) -> dict[str, Any]:
    """The panel; `refusals` is None where it refused none of them."""
    steps = reader.recent_steps(RECENT)
    answered = [step for step in steps if step.step is Step.PLAN_ANSWERED]
    refusals = refusals_of(reader, steps, node_id)
    if not answered:
        return {"refusals": None, "refusals_told": gettext("No plan of the newest is kept.")}
    # Of this node alone: what else is planned in the cluster must not make it another sentence.
    refused = (
        count_of(refusals.refusals, "{count} plan", "{count} plans")
        if refusals is not None
        else gettext("none")
    )
    told = gettext("{refused} of the newest {evaluations} evaluations").format(
        refused=refused, evaluations=number(RECENT)
    )
    return {"refusals": refusals, "refusals_told": told}


def refusals_panel(
    reader: RecordReader, subscription: Subscription, _now: int
) -> Mapping[str, Any]:
    """What a live frame renders again."""
    return refusals_context(reader, subscription.key)
