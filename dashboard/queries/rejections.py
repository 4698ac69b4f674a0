"""Plans that nodes refused, of the newest evaluations: by node, reason, rate and worker.

In: the recorded steps. Out: a line per disputed node, the most refusals first.
"""

from collections import Counter
from collections.abc import Sequence

import msgspec
from django.utils.translation import gettext, ngettext

from cluster.store.ports import RecordReader
from dashboard.wording import clock_time, count_of, number, one_of, short_actor
from scheduler.structs.evaluation import LifecycleStep, Step
from scheduler.structs.node import NodeEligibility

#: Lines of the panel.
MOST_NODES = 20
_HOUR = 3600 * 1_000_000_000
#: Bars of a node's history; how wide and high its picture is.
SLOTS, WIDTH, HEIGHT = 12, 96, 24
_STEP = WIDTH // SLOTS


class DisputedNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node that refused plans."""

    id: str
    #: The beginning of its id for one that is gone.
    name: str
    is_known: bool
    is_eligible: bool
    refusals: int
    #: In words, such as `12 an hour`; "" of too short a time.
    rate: str
    #: With how often, the most frequent first.
    reasons: tuple[tuple[str, int], ...]
    #: Who had submitted the plans.
    workers: tuple[str, ...]
    newest_at: int
    #: Refusals in each of `SLOTS` equal parts of the time that is looked at, as bars and in words.
    history: "RefusalHistory"


class RefusalHistory(msgspec.Struct, frozen=True, kw_only=True):
    """When a node refused plans."""

    counts: tuple[int, ...]
    #: SVG path data of the bars, in a picture of `WIDTH` by `HEIGHT`.
    path: str
    told: str


class RejectionsView(msgspec.Struct, frozen=True, kw_only=True):
    """The panel, ready to be written."""

    strong: str
    rest: str
    nodes: tuple[DisputedNode, ...]
    more: int
    #: Of the time that the histories show.
    since: int
    until: int
    #: How near a node came to being closed.
    peak_told: str


class _Refusal(msgspec.Struct, frozen=True):
    node_id: str
    reason: str
    worker: str
    at: int


def rejections(
    reader: RecordReader, steps: Sequence[LifecycleStep], evaluations: int, window: int
) -> RejectionsView:
    """What the newest so many evaluations met, whose steps these are; one read, of the nodes.

    `window`, ns: within how long the refusals of a node count together.
    """
    answered = [step for step in steps if step.step is Step.PLAN_ANSWERED]
    refused = [step for step in answered if step.nodes]
    found = _refusals(steps, refused)
    counts = Counter(refusal.node_id for refusal in found)
    since = min((step.at for step in answered), default=0)
    until = max((step.at for step in answered), default=0)
    shown = [node_id for node_id, _ in counts.most_common(MOST_NODES)]
    most, peak_id = _peak(found, window)
    reader.preload(nodes=[*shown, *([peak_id] if peak_id else [])])
    return RejectionsView(
        strong=_strong(len(refused), len(answered), len(counts))
        if answered or not steps
        else gettext("The newest {evaluations} made no plan.").format(
            evaluations=count_of(evaluations, "{count} evaluation", "{count} evaluations")
        ),
        rest=gettext("Of the newest {evaluation}, since {since}.").format(
            evaluation=count_of(evaluations, "{count} evaluation", "{count} evaluations"),
            since=clock_time(since),
        )
        if answered
        else "",
        nodes=tuple(
            _node(
                reader, node_id, [each for each in found if each.node_id == node_id], since, until
            )
            for node_id in shown
        ),
        more=max(len(counts) - len(shown), 0),
        since=since,
        until=until,
        peak_told=_peak_told(reader, most, peak_id, since) if answered else "",
    )


def refusals_of(
    reader: RecordReader, steps: Sequence[LifecycleStep], node_id: str
) -> DisputedNode | None:
    """What one node refused of these; None for nothing."""
    answered = [step for step in steps if step.step is Step.PLAN_ANSWERED]
    mine = [step for step in answered if node_id in step.nodes]
    if not mine:
        return None
    found = [each for each in _refusals(steps, mine) if each.node_id == node_id]
    times = [step.at for step in answered]
    return _node(reader, node_id, found, min(times), max(times))


def _refusals(steps: Sequence[LifecycleStep], refused: Sequence[LifecycleStep]) -> list[_Refusal]:
    worker_of = {step.plan_id: step.actor for step in steps if step.step is Step.PLAN_SUBMITTED}
    found = []
    for step in refused:
        reasons = _reasons(step)
        worker = short_actor(worker_of.get(step.plan_id, ""))
        found += [
            _Refusal(node_id, reasons.get(node_id, ""), worker, step.at) for node_id in step.nodes
        ]
    return found


def _reasons(step: LifecycleStep) -> dict[str, str]:
    """By node: a reason is `<node>: <why>`, several with `; ` between."""
    told = {}
    rest = step.reason
    places = sorted((rest.find(f"{node_id}: "), node_id) for node_id in step.nodes)
    known = [(place, node_id) for place, node_id in places if place >= 0]
    for at, (place, node_id) in enumerate(known):
        end = known[at + 1][0] if at + 1 < len(known) else len(rest)
        told[node_id] = rest[place + len(node_id) + 2 : end].removesuffix("; ")
    return told


def _node(
    reader: RecordReader, node_id: str, found: Sequence[_Refusal], since: int, until: int
) -> DisputedNode:
    node = reader.node(node_id)
    reasons = Counter(each.reason or gettext("no reason was recorded") for each in found)
    return DisputedNode(
        id=node_id,
        name=node.name if node is not None else node_id[:8],
        is_known=node is not None,
        is_eligible=node is not None and node.scheduling_eligibility is NodeEligibility.ELIGIBLE,
        refusals=len(found),
        rate=_rate(len(found), until - since),
        reasons=tuple(reasons.most_common(3)),
        workers=tuple(sorted({each.worker for each in found if each.worker})),
        newest_at=max(each.at for each in found),
        history=history_of([each.at for each in found], since, until),
    )


def history_of(instants: Sequence[int], since: int, until: int) -> RefusalHistory:
    """Refusals at these instants, all of them between `since` and `until`, by equal parts."""
    part = max((until - since) / SLOTS, 1)
    counts = Counter(min(int((at - since) / part), SLOTS - 1) for at in instants)
    most = max(counts.values(), default=1)
    bars, words = [], []
    for slot in range(SLOTS):
        if not (count := counts[slot]):
            continue
        high = max(HEIGHT * count / most, 2)
        bars.append(f"M{slot * _STEP} {HEIGHT - high:g}h{_STEP - 2}v{high:g}h-{_STEP - 2}z")
        words.append(
            gettext("{count} from {begin} to {end}").format(
                count=number(count),
                begin=clock_time(int(since + slot * part)),
                end=clock_time(int(since + (slot + 1) * part)),
            )
        )
    return RefusalHistory(
        counts=tuple(counts[slot] for slot in range(SLOTS)),
        path="".join(bars),
        told=one_of(words, "and") if words else "",
    )


def _rate(count: int, lasted: int) -> str:
    """Per hour, over a time that is long enough to say so; else nothing."""
    if lasted < _HOUR // 60:
        return ""
    return gettext("{round} an hour").format(round=number(round(count * _HOUR / lasted)))


def _peak_told(reader: RecordReader, most: int, node_id: str, since: int) -> str:
    """The most refusals of one node within the window, since the oldest plan looked at."""
    if not most:
        return gettext("Since {since} no node refused a plan.").format(since=clock_time(since))
    node = reader.node(node_id)
    return gettext("Since {since} at most {most} in that time, by {node}.").format(
        since=clock_time(since),
        most=number(most),
        node=node.name if node is not None else node_id[:8],
    )


def _peak(found: Sequence[_Refusal], window: int) -> tuple[int, str]:
    """How many, and of which node; the first by its id of several."""
    times: dict[str, list[int]] = {}
    for each in sorted(found, key=lambda refusal: (refusal.node_id, refusal.at)):
        times.setdefault(each.node_id, []).append(each.at)
    best = 0, ""
    for node_id, instants in times.items():
        first = 0
        for last, at in enumerate(instants):
            while instants[first] < at - window:
                first += 1
            if last - first + 1 > best[0]:
                best = last - first + 1, node_id
    return best


def _strong(refused: int, answered: int, nodes: int) -> str:
    if not answered:
        return gettext("No plan was answered yet.")
    if not refused:
        return gettext("No node refused any of {plan}.").format(
            plan=count_of(answered, "{count} plan", "{count} plans")
        )
    return ngettext(
        "{refused} of {plan} was refused in part, by {node}.",
        "{refused} of {plan} were refused in part, by {node}.",
        refused,
    ).format(
        refused=number(refused),
        plan=count_of(answered, "{count} plan", "{count} plans"),
        node=count_of(nodes, "{count} node", "{count} nodes"),
    )
