"""What one subscription shows, kept current from frames: one Room per group of viewers.

A room is loaded once when its first viewer comes, then fed every frame; it remembers what changed
and says it in pieces when flushed. All viewers of a group get the same pieces. A room never
touches the database after `load`, except where a page has registered a panel that asks the reader
again (once per flush).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from django.template.loader import render_to_string

from dashboard.graphs.lifecycle import Life, MadeEvaluation, life_bars, life_rows, lifecycle_graph
from dashboard.live.messages import Drawing, Html, Piece
from dashboard.live.subscriptions import Subscription
from dashboard.outcomes import told_of
from dashboard.wording import short_id
from scheduler.ports import StateReader
from scheduler.state.events import EventFrame, StateEvent, Topic
from scheduler.structs.evaluation import CauseKind, EvalStatus, Evaluation, LifecycleStep

#: A panel: partial, and the query that gives its context from a reader and the topic's key.
Query = Callable[[StateReader, Subscription, int], Mapping[str, Any]]
#: The context of one changed row: from the value and `now`, and for an evaluation from the newest
#: step that came with it, if any did.
RowContext = Callable[..., Mapping[str, Any]]

#: More changed rows than this are rendered off the event loop.
ROWS_ON_THE_LOOP = 60
#: As many rows as a live list keeps (swap.js).
NEW_ROWS = 200


class Panel:
    """A part of a page that is rendered again, once for all viewers, when its topic changes."""

    def __init__(self, target: str, template: str, query: Query, topics: frozenset[Topic]) -> None:
        """`target` is the id of the element that `template` renders; `topics` what it shows."""
        self.target = target
        self.template = template
        self.query = query
        self.topics = topics


class RowList:
    """A table whose rows are rendered from the changed value alone, without a query."""

    def __init__(self, topic: Topic, container: str, template: str, context: RowContext) -> None:
        """Rows render an element with the id `<container>-<key>`."""
        self.topic = topic
        self.container = container
        self.template = template
        self.context = context


class _Row(NamedTuple):
    rows: RowList
    event: StateEvent
    is_new: bool


PANELS: dict[str, list[Panel]] = {}
ROWS: dict[str, list[RowList]] = {}


def register_panel(kind: str, target: str, template: str, query: Query, *topics: Topic) -> None:
    """Show `template` at `target` where `kind` is followed, again at each change of `topics`."""
    panels = PANELS.setdefault(kind, [])
    panels[:] = [panel for panel in panels if panel.target != target]
    panels.append(Panel(target, template, query, frozenset(topics)))


def register_rows(
    kind: str, topic: Topic, container: str, template: str, context: RowContext
) -> None:
    """Render each changed row of `topic` into the table body `container` of such pages."""
    lists = ROWS.setdefault(kind, [])
    lists[:] = [item for item in lists if item.container != container]
    lists.append(RowList(topic, container, template, context))


def panels_of(kind: str) -> list[Panel]:
    """What is registered for pages that follow `kind`."""
    return PANELS.get(kind, [])


class Room:
    """The panels and rows of one subscription."""

    #: Whether a viewer who comes back must be told of the frames it missed; else `standing` does.
    needs_frames = True

    def __init__(self, subscription: Subscription) -> None:
        """Nothing is read before `load`."""
        self.subscription = subscription
        self.panels = panels_of(subscription.kind)
        self.lists = ROWS.get(subscription.kind, [])
        self._stale: set[str] = set()
        self._rows: dict[tuple[str, str], _Row] = {}
        #: The newest step of each evaluation since the last flush.
        self._newest: dict[str, LifecycleStep] = {}
        #: What each panel was when its viewers were told last.
        self._told_panels: dict[str, Html] = {}

    def load(self, reader: StateReader) -> None:
        """Read what the room must know before its first frame."""

    def observe(self, frame: EventFrame) -> None:
        """Take note of one committed write."""
        for event in frame.events:
            if self.concerns(event):
                self._note(event, frame.index)

    def observe_step(self, step: LifecycleStep) -> bool:
        """Take note of a step ahead of the record; whether anything changed."""
        return False

    def is_due(self, now: int) -> bool:
        """Whether time alone has changed what is shown."""
        return False

    def concerns(self, event: StateEvent) -> bool:
        """Whether this change belongs to what is shown."""
        subscription = self.subscription
        if not subscription.shows(event.namespace):
            return False
        if subscription.kind == "job":
            return _job_of(event) == subscription.key
        if subscription.kind == "allocation":
            return event.key == subscription.key
        if subscription.kind == "node" and subscription.key:
            return subscription.key in (event.key, getattr(event.value, "node_id", ""))
        return True

    def _note(self, event: StateEvent, index: int) -> None:
        self._stale |= {panel.target for panel in self.panels if event.topic in panel.topics}
        if isinstance(event.value, LifecycleStep):
            self._newest[event.value.eval_id] = event.value
        for rows in self.lists:
            if rows.topic is event.topic:
                key = rows.container, event.key
                is_new = getattr(event.value, "create_index", 0) == index
                is_new = is_new or (key in self._rows and self._rows[key].is_new)
                self._rows[key] = _Row(rows, event, is_new)

    @property
    def needs_reader(self) -> bool:
        """Whether the next flush asks the database, or is too long for the event loop."""
        return bool(self._stale) or not self.is_light

    @property
    def is_light(self) -> bool:
        """Whether a flush without a reader is short enough for the event loop."""
        return len(self._rows) <= ROWS_ON_THE_LOOP

    def standing(self, now: int) -> tuple[Piece, ...]:
        """What every viewer gets on joining, so that later pieces meet the same picture."""
        return ()

    def everything(self, reader: StateReader, now: int) -> tuple[Piece, ...]:
        """The whole room for a viewer who comes back: panels and drawings as they are now."""
        return (*self._rendered(self.panels, reader, now), *self.standing(now))

    def forget_told(self) -> None:
        """Tell every panel at its next change, even if it has come back to what it was."""
        self._told_panels.clear()

    def replay(
        self, frames: Sequence[EventFrame], reader: StateReader, now: int
    ) -> tuple[Piece, ...]:
        """The rows that these frames changed, for one viewer who missed them."""
        del reader
        missed = Room(self.subscription)
        for frame in frames:
            missed.observe(frame)
        return missed.flush(None, now)

    def flush(self, reader: StateReader | None, now: int) -> tuple[Piece, ...]:
        """What changed since the last flush.

        Without a `reader` all that needs none; the rest waits for a flush with one.
        """
        # Each goes on top of the one before: those of one write as a page orders them.
        rows = sorted(self._rows.values(), key=_place)
        self._rows.clear()
        # Of more new rows than a page shows, the older ones would be pushed out again at once.
        surplus = {row.event.key for row in [row for row in rows if row.is_new][:-NEW_ROWS]}
        pieces: list[Piece] = [
            self._row_piece(row, now) for row in rows if row.event.key not in surplus
        ]
        self._newest.clear()
        if reader is not None:
            stale = [panel for panel in self.panels if panel.target in self._stale]
            pieces += self._news(self._rendered(stale, reader, now))
            self._stale.clear()
        return tuple(pieces)

    def _rendered(self, panels: Sequence[Panel], reader: StateReader, now: int) -> list[Html]:
        """The panels as they are; those with the same query share its answer."""
        answers: dict[Query, Mapping[str, Any]] = {}
        pieces = []
        for panel in panels:
            if panel.query not in answers:
                answers[panel.query] = panel.query(reader, self.subscription, now)
            context = {**answers[panel.query], "now": now}
            pieces.append(Html(target=panel.target, html=rendered(panel.template, context)))
        return pieces

    def _news(self, panels: Sequence[Html]) -> list[Html]:
        """Those that are not what the viewers were told last."""
        news = [piece for piece in panels if self._told_panels.get(piece.target) != piece]
        self._told_panels |= {piece.target: piece for piece in news}
        return news

    def _row_piece(self, row: _Row, now: int) -> Html:
        """A new row goes on top; a changed one only where it is shown."""
        rows, event, is_new = row
        target = f"{rows.container}-{event.key}"
        if event.deleted:
            return Html(target=target, mode="remove")
        known = (self._newest.get(event.key),) if rows.topic is Topic.EVALUATION else ()
        html = rendered(rows.template, {**rows.context(event.value, now, *known), "now": now})
        if not is_new:
            return Html(target=target, html=html)
        return Html(target=target, mode="upsert", html=html, container=rows.container)


def _place(row: _Row) -> tuple[int, str]:
    return getattr(row.event.value, "create_index", 0), row.event.key


def _job_of(event: StateEvent) -> str:
    if event.topic is Topic.JOB:
        return f"{event.namespace}/{event.key}"
    job_id = getattr(event.value, "job_id", "")
    return f"{event.namespace}/{job_id}" if job_id else ""


class EvaluationRoom(Room):
    """One evaluation: graph, steps and path follow every step, even those only hinted."""

    def __init__(self, subscription: Subscription) -> None:
        """See Room."""
        super().__init__(subscription)
        self.evaluation: Evaluation | None = None
        self.steps: dict[int, LifecycleStep] = {}
        self.made: dict[str, MadeEvaluation] = {}
        self._is_redrawn = False

    def load(self, reader: StateReader) -> None:
        """Read the evaluation, its steps and what it made."""
        eval_id = self.subscription.key
        self.evaluation = reader.evaluation(eval_id)
        self.steps |= {step.number: step for step in reader.lifecycle(eval_id)}
        if self.evaluation is not None:
            for other in reader.evaluations_by_job(self.evaluation.job_key):
                self._note_made(other)

    def concerns(self, event: StateEvent) -> bool:
        """Its own row and steps, what it made and placed; while blocked, what its job finds."""
        eval_id = self.subscription.key
        if event.topic is Topic.LIFECYCLE:
            return event.key.partition("/")[0] == eval_id
        if event.topic is Topic.EVALUATION:
            is_own = event.key == eval_id or made_by(event.value, eval_id)
            return is_own or self._borrows_from(event.value)
        return getattr(event.value, "eval_id", "") == eval_id

    def _borrows_from(self, value: object) -> bool:
        """Whether an evaluation may explain why this one waits (queries/decision.py)."""
        waiting = self.evaluation
        if waiting is None or waiting.status is not EvalStatus.BLOCKED:
            return False
        return isinstance(value, Evaluation) and value.job_key == waiting.job_key

    def _note(self, event: StateEvent, index: int) -> None:
        super()._note(event, index)
        if isinstance(event.value, LifecycleStep):
            self.steps[event.value.number] = event.value
            self._is_redrawn = True
        elif isinstance(event.value, Evaluation) and not event.deleted:
            is_own = event.key == self.subscription.key
            if is_own:
                self.evaluation = event.value
            self._is_redrawn |= self._note_made(event.value) or is_own

    def _note_made(self, other: Evaluation) -> bool:
        """Whether this one made it."""
        if not made_by(other, self.subscription.key):
            return False
        self.made[other.id] = MadeEvaluation(
            id=other.id, trigger=other.triggered_by, at=other.create_time
        )
        return True

    def observe_step(self, step: LifecycleStep) -> bool:
        """A hint counts until the record says the same step."""
        if step.eval_id != self.subscription.key or step.number in self.steps:
            return False
        self.steps[step.number] = step
        self._is_redrawn = True
        return True

    def flush(self, reader: StateReader | None, now: int) -> tuple[Piece, ...]:
        """What changed, the graph once."""
        pieces = super().flush(reader, now)
        if self._is_redrawn:
            self._is_redrawn = False
            pieces += self.standing(now)
        return pieces

    def standing(self, now: int) -> tuple[Piece, ...]:
        """The graph, the steps and the path."""
        life = self.life()
        rows = life_rows(life)
        steps = list(zip(rows, life_bars(rows, now), strict=True))
        return (
            Drawing(graph=lifecycle_graph(life)),
            Html(
                target="steps",
                html=rendered("dashboard/partials/_steps.html", {"steps": steps, "now": now}),
            ),
            Html(
                target="path",
                html=rendered("dashboard/partials/_path.html", {"rows": rows, "id": "path"}),
            ),
        )

    def life(self) -> Life:
        """What is known of the evaluation's life, hints included."""
        evaluation = self.evaluation
        return life_of(
            evaluation or Evaluation(id=self.subscription.key),
            tuple(self.steps.values()),
            tuple(self.made.values()),
        )


def life_of(
    evaluation: Evaluation, steps: tuple[LifecycleStep, ...], made: tuple[MadeEvaluation, ...]
) -> Life:
    """The life of an evaluation as page and live frame draw it."""
    cause = evaluation.cause
    event = ((cause.kind.value if cause else "cluster").capitalize(), evaluation.job_id or "event")
    if cause is not None and cause.kind is CauseKind.EVALUATION:
        event = ("Made by", short_id(cause.id))
    return Life(
        eval_id=evaluation.id,
        trigger=evaluation.triggered_by,
        steps=steps,
        made=made,
        event=event,
        status=evaluation.status.value,
        told=told_of(evaluation),
    )


def made_by(value: object, eval_id: str) -> bool:
    """Whether a value is an evaluation that this one made, by link or cause."""
    if not isinstance(value, Evaluation):
        return False
    cause_id = value.cause.id if value.cause else ""
    return eval_id in (value.previous_eval, cause_id) and value.id != eval_id


def rendered(template: str, context: Mapping[str, Any]) -> str:
    """A partial as plain text: the marked kind that Django returns cannot be encoded."""
    return "".join((render_to_string(template, dict(context)),))
