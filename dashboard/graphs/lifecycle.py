"""One evaluation's life: as rows, as a state graph with the path taken, and as bars over time.

In: its recorded steps, the evaluations it made, `now`. Out: rows and geometry. Which states exist
and where they stand is `machine`'s business.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec

from dashboard.graphs import machine
from dashboard.graphs.geometry import (
    CIRCLE,
    ArrowLabel,
    Disc,
    Graph,
    GraphEdge,
    GraphNode,
    circle_lines,
    stadium_lines,
)
from dashboard.texts import gettext
from dashboard.wording import clipped, count_of, plain_reason, short_id, span
from scheduler.structs.evaluation import LifecycleStep, Step

#: The state a step leads to. A nack leads nowhere by itself: the step after it says where.
STATE_OF: dict[Step, str] = {
    Step.CREATED: "pending",
    Step.ENQUEUED: "pending",
    Step.DELAYED: "delayed",
    Step.DEQUEUED: "scheduling",
    Step.PLAN_SUBMITTED: "applying",
    Step.PLAN_ANSWERED: "scheduling",
    Step.BLOCKED: "blocked",
    Step.UNBLOCKED: "blocked",
    Step.COMPLETE: "complete",
    Step.FAILED: "failed",
    Step.CANCELED: "canceled",
    Step.DELETED: "deleted",
}
TERMINAL = frozenset({"complete", "failed", "canceled", "deleted"})
_DISCS_PER_ARROW = 3
#: Characters of a line in the event's circle: of a title, of what stands below.
_TITLE, _SUB = 11, 14


class MadeEvaluation(msgspec.Struct, frozen=True, kw_only=True):
    """An evaluation that the shown one made."""

    id: str
    trigger: str
    at: int


class EvaluationLife(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one evaluation's life."""

    eval_id: str
    trigger: str
    steps: Sequence[LifecycleStep]
    made: Sequence[MadeEvaluation] = ()
    #: What the event circle says, one line each: `("Scale", "api 3 → 8")`.
    event: tuple[str, ...] = ("Cluster", "event")
    #: The stored status, where steps do not reach back far enough to say.
    status: str = ""
    #: What the newest run of each of these steps did, where the step itself does not say.
    told: Mapping[Step, str] = {}


class LifeRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One row of the Steps table; its number is the one on the arrow."""

    number: int
    state: str
    at: int
    #: None while it lasts.
    duration_ns: int | None = None
    actor: str = ""
    reason: str = ""
    nodes: tuple[str, ...] = ()
    #: The evaluation this row made, "" for a step of its own.
    made: str = ""
    trigger: str = ""
    index: int = 0


class Bar(msgspec.Struct, frozen=True):
    """A row's stretch of time, in percent of the whole life."""

    number: int
    state: str
    x: float
    width: float


def life_rows(life: EvaluationLife) -> tuple[LifeRow, ...]:
    """The states passed, in order: consecutive steps in one state are one row."""
    entries: list[LifeRow] = []
    handed_back = ""
    steps = _unblocked_told(sorted(life.steps, key=lambda item: item.number))
    newest = {step.step: step for step, _ in steps}
    for step, state in steps:
        if step.step is Step.NACKED:
            handed_back = step.reason or gettext("handed back")
            continue
        told = plain_reason(step.reason) or _derived(
            step, life, is_newest=newest[step.step] is step
        )
        reason = ", ".join(part for part in (handed_back, told) if part)
        handed_back = ""
        if entries and entries[-1].state == state:
            entries[-1] = _continued(entries[-1], step, reason)
            continue
        entries.append(
            LifeRow(
                number=0, state=state, at=step.at, actor=step.actor, reason=reason,
                nodes=step.nodes, index=step.index,
            )
        )  # fmt: skip
    own = [
        msgspec.structs.replace(row, duration_ns=following.at - row.at)
        for row, following in pairwise(entries)
    ]
    if entries:
        last = entries[-1]
        own.append(
            msgspec.structs.replace(last, duration_ns=0 if last.state in TERMINAL else None)
        )
    return _numbered(own, life.made)


def _derived(step: LifecycleStep, life: EvaluationLife, *, is_newest: bool) -> str:
    """What a step did that gives no reason, from what else is recorded."""
    if step.step is Step.PLAN_ANSWERED:
        rejected = len(step.nodes)
        return (
            gettext("{node} rejected").format(
                node=count_of(rejected, "{count} node", "{count} nodes")
            )
            if rejected
            else "committed"
        )
    return life.told.get(step.step, "") if is_newest else ""


def _unblocked_told(steps: Sequence[LifecycleStep]) -> list[tuple[LifecycleStep, str]]:
    """Each step with its state; queued again, or made so, a blocked one counts as blocked."""
    told = []
    first_wait = next((step.step for step in steps if step.step is not Step.CREATED), None)
    is_blocked = first_wait is Step.BLOCKED
    for step in steps:
        state = STATE_OF.get(step.step, "")
        state = "blocked" if state == "pending" and is_blocked else state
        is_blocked = state == "blocked" or (is_blocked and not state)
        told.append((step, state))
    return told


def _continued(row: LifeRow, step: LifecycleStep, reason: str) -> LifeRow:
    told = ", ".join(part for part in (row.reason, reason) if part)
    return msgspec.structs.replace(row, reason=told, nodes=row.nodes + step.nodes)


def _numbered(own: list[LifeRow], made: Sequence[MadeEvaluation]) -> tuple[LifeRow, ...]:
    children = [
        LifeRow(
            number=0,
            state="blocked"
            if item.trigger in ("queued-allocs", "max-plan-attempts")
            else "pending",
            at=item.at,
            duration_ns=0,
            reason="made",
            made=item.id,
            trigger=item.trigger,
        )
        for item in made
    ]
    # An evaluation's own end comes after what it made at the same instant.
    rows = sorted(own + children, key=lambda row: (row.at, row.state in TERMINAL))
    return tuple(msgspec.structs.replace(row, number=place) for place, row in enumerate(rows, 1))


def current_state(life: EvaluationLife) -> str:
    """Where it stands: the newest step's state, else the stored status."""
    own = [row for row in life_rows(life) if not row.made]
    return own[-1].state if own else life.status or "pending"


def life_bars(rows: Sequence[LifeRow], now: int) -> tuple[Bar, ...]:
    """Each row's stretch on one shared axis; a stretch shorter than 0.4 % is drawn as that."""
    if not rows:
        return ()
    start = rows[0].at
    end = max(start + 1, *(row.at + (row.duration_ns or 0) for row in rows))
    if any(row.duration_ns is None for row in rows):
        end = max(end, now)
    whole = end - start
    bars = []
    for row in rows:
        length = (end - row.at) if row.duration_ns is None else row.duration_ns
        width = max(100 * length / whole, 0.4)
        offset = min(100 * (row.at - start) / whole, 100 - width)
        bars.append(Bar(row.number, row.state, round(max(offset, 0), 2), round(width, 2)))
    return tuple(bars)


def lifecycle_graph(life: EvaluationLife) -> Graph:
    """The state machine with the path one evaluation took: reached states lit, arrows numbered."""
    rows = life_rows(life)
    own = [row for row in rows if not row.made]
    current = own[-1].state if own else life.status or "pending"
    taken = _taken(rows)
    reached = {row.state for row in own} | {row.state for row in rows if row.made} | {current}
    nodes = [_event_node(life)]
    for state, place in machine.PLACES.items():
        nodes.append(_state_node(state, place, reached=state in reached, current=state == current))
    edges = [
        _path_edge(arrow, taken.get(arrow.key), rows, current)
        for arrow in machine.ARROWS
        if arrow.key in taken or arrow.key not in machine.RARE
    ]
    return Graph(
        key=f"life-{life.eval_id}",
        title=gettext("Lifecycle of evaluation {eval_id}").format(eval_id=short_id(life.eval_id)),
        description=_described(rows, life),
        view=machine.VIEW,
        nodes=tuple(nodes),
        edges=tuple(edges),
        discs=tuple(
            disc for arrow in machine.ARROWS for disc in _discs(arrow, taken.get(arrow.key, []))
        ),
    )


def _taken(rows: Sequence[LifeRow]) -> dict[str, list[int]]:
    """The numbers of the rows entered by each arrow."""
    taken: dict[str, list[int]] = {}
    previous = machine.EVENT
    for row in rows:
        if row.made:
            key = machine.NEW_BY_TRIGGER.get(row.trigger, "scheduling-pending-follow-up")
        else:
            *passed, key = machine.way(previous, row.state) or (f"{previous}-{row.state}",)
            previous = row.state
            for arrow in passed:
                taken.setdefault(arrow, [])
        taken.setdefault(key, []).append(row.number)
    return taken


def _event_node(life: EvaluationLife) -> GraphNode:
    x, y, radius = machine.EVENT_PLACE
    titles = tuple(clipped(line, _TITLE) for line in life.event[:2])
    return GraphNode(
        key=machine.EVENT,
        state="event",
        name=" ".join(life.event) + (f", {life.trigger}" if life.trigger else ""),
        shape=CIRCLE,
        x=x,
        y=y,
        width=2 * radius,
        height=2 * radius,
        lines=circle_lines(x, y, titles, _in_lines(life.trigger)),
    )


def _in_lines(trigger: str) -> tuple[str, ...]:
    """A trigger in the circle: in two lines at a hyphen where one is too short for it."""
    if len(trigger) <= _SUB:
        return (trigger,) if trigger else ()
    cut = trigger.rfind("-", 0, _SUB) + 1
    first, rest = (trigger[:cut], trigger[cut:]) if cut else ("", trigger)
    return tuple(clipped(line, _SUB) for line in (first, rest) if line)


def _state_node(
    state: str, place: machine.StatePlace, *, reached: bool, current: bool
) -> GraphNode:
    told = (
        gettext("current") if current else gettext("passed") if reached else gettext("not reached")
    )
    return GraphNode(
        key=state,
        state=state if reached else "possible",
        name=f"{state}: {told}",
        x=place.x,
        y=place.y,
        width=place.width,
        height=machine.HEIGHT,
        icon=state,
        is_quasi=place.is_quasi,
        is_current=current and state not in TERMINAL,
        lines=stadium_lines((place.x, place.y), (place.width, machine.HEIGHT), state),
    )


def _path_edge(
    arrow: machine.Arrow, steps: list[int] | None, rows: Sequence[LifeRow], current: str
) -> GraphEdge:
    """`steps` is None for an arrow that was not taken."""
    path = "other" if steps is None else "taken"
    if steps is None and arrow.target == "deleted" and arrow.source == current:
        path = "possible"
    return GraphEdge(
        key=arrow.key,
        source=arrow.source,
        target=arrow.target,
        kind=arrow.kind,
        path=path,
        line=arrow.line,
        labels=_path_labels(arrow, [rows[place - 1] for place in steps or ()]),
        text=", ".join(map(gettext, arrow.words)) or gettext(arrow.meaning),
    )


def _path_labels(arrow: machine.Arrow, rows: list[LifeRow]) -> tuple[ArrowLabel, ...]:
    """What a taken arrow says: what was made, how many plans, which nodes refused."""
    if not rows:
        return ()
    words: tuple[str, ...]
    if arrow.kind == "new":
        words = (
            rows[0].trigger,
            gettext("makes {made}").format(made=short_id(rows[0].made)) if len(rows) == 1 else "",
        )
    elif arrow.key == "scheduling-applying":
        words = (count_of(len(rows), "{count} plan", "{count} plans"),)
    elif arrow.key == "applying-scheduling":
        refused = len({node for row in rows for node in row.nodes})
        told = count_of(refused, "{count} node rejected", "{count} nodes rejected")
        words = (told,) if refused else ()
        spot = machine.LabelSpot(arrow.spot.x, 266)
        return tuple(ArrowLabel(x=spot.x, y=spot.y, text=text) for text in words)
    else:
        words = tuple(map(gettext, arrow.words))
    spot = arrow.spot
    return tuple(
        ArrowLabel(x=spot.x, y=spot.y + 14 * line, text=text, anchor=spot.anchor)
        for line, text in enumerate(text for text in words if text)
    )


def _discs(arrow: machine.Arrow, steps: list[int]) -> list[Disc]:
    (x, y), (right, down) = arrow.disc, arrow.disc_pitch
    shown = (
        steps if len(steps) <= _DISCS_PER_ARROW else [*steps[: _DISCS_PER_ARROW - 1], steps[-1]]
    )
    return [
        Disc(f"{arrow.key}:{place}", x + right * place, y + down * place, str(step))
        for place, step in enumerate(shown)
    ]


def _described(rows: Sequence[LifeRow], life: EvaluationLife) -> str:
    told = []
    for row in rows:
        if row.made:
            told.append(
                gettext("made evaluation {made} ({trigger})").format(
                    made=short_id(row.made), trigger=row.trigger
                )
            )
        else:
            told.append(
                row.state
                + (
                    gettext(" for {duration_ns}").format(duration_ns=span(row.duration_ns))
                    if row.duration_ns
                    else ""
                )
            )
    return gettext("Created by {trigger}: {told}.").format(
        trigger=life.trigger or gettext("an event"),
        told=gettext(", then ").join(told) or gettext("no steps recorded"),
    )
