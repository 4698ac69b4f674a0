"""One evaluation, live: graph, steps and path follow every step, those only hinted included."""

from cluster.store.ports import RecordReader
from dashboard.feeds.feed import NO_PARTS, Feed, Parts, rendered
from dashboard.feeds.pieces import Drawing, Html, Piece, Redrawing
from dashboard.graphs.drawing import DrawnGraph
from dashboard.graphs.lifecycle import (
    EvaluationLife,
    MadeEvaluation,
    life_bars,
    life_rows,
    lifecycle_graph,
)
from dashboard.lives import life_of, made_by
from dashboard.subscription import Subscription
from scheduler.state.events import StateEvent, Topic
from scheduler.structs.allocation import Allocation
from scheduler.structs.evaluation import EvalStatus, Evaluation, LifecycleStep


class EvaluationFeed(Feed):
    """One evaluation: graph, steps and path follow every step, even those only hinted."""

    def __init__(self, subscription: Subscription, parts: Parts = NO_PARTS) -> None:
        super().__init__(subscription, parts)
        self.evaluation: Evaluation | None = None
        self.steps: dict[int, LifecycleStep] = {}
        self.made: dict[str, MadeEvaluation] = {}
        #: Allocations that it placed, as far as no later evaluation has changed them.
        self._placed: set[str] = set()
        self._is_redrawn = False
        self._drawn = DrawnGraph(lifecycle_graph(self.life()))

    def load(self, reader: RecordReader) -> None:
        """Read the evaluation, its steps and what it made."""
        eval_id = self.subscription.key
        self.evaluation = reader.evaluation(eval_id)
        self._placed = {alloc.id for alloc in reader.allocations_by_eval(eval_id)}
        self.steps |= {step.number: step for step in reader.lifecycle(eval_id)}
        if self.evaluation is not None:
            for other in reader.evaluations_by_job(self.evaluation.job_key):
                self._note_made(other)
        self._drawn = DrawnGraph(lifecycle_graph(self.life()))

    def concerns(self, event: StateEvent) -> bool:
        """Its own row and steps, what it made and placed; while blocked, what its job finds."""
        eval_id = self.subscription.key
        if event.topic is Topic.LIFECYCLE:
            return event.key.partition("/")[0] == eval_id
        if event.topic is Topic.EVALUATION:
            is_own = event.key == eval_id or made_by(event.value, eval_id)
            return is_own or self._borrows_from(event.value)
        # An allocation that another evaluation keeps in place is from then on that one's.
        return event.key in self._placed or getattr(event.value, "eval_id", "") == eval_id

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
        elif isinstance(event.value, Allocation):
            is_own = event.value.eval_id == self.subscription.key and not event.deleted
            (self._placed.add if is_own else self._placed.discard)(event.key)
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

    def flush(self, reader: RecordReader | None, now: int) -> tuple[Piece, ...]:
        """What changed; of the graph only the items that did."""
        pieces = super().flush(reader, now)
        if not self._is_redrawn:
            return pieces
        self._is_redrawn = False
        changes = self._drawn.redraw(lifecycle_graph(self.life()))
        return (*pieces, Redrawing(patch=changes), *self._passed(now))

    def standing(self, now: int) -> tuple[Piece, ...]:
        """The graph as all viewers of this feed have it, the steps and the path."""
        return (Drawing(graph=self._drawn.whole()), *self._passed(now))

    def _passed(self, now: int) -> tuple[Html, Html]:
        rows = life_rows(self.life())
        steps = list(zip(rows, life_bars(rows, now), strict=True))
        return (
            Html(
                target="steps",
                html=rendered("dashboard/partials/_steps.html", {"steps": steps, "now": now}),
            ),
            Html(
                target="path",
                html=rendered("dashboard/partials/_path.html", {"rows": rows, "id": "path"}),
            ),
        )

    def life(self) -> EvaluationLife:
        """What is known of the evaluation's life, hints included."""
        evaluation = self.evaluation
        return life_of(
            evaluation or Evaluation(id=self.subscription.key),
            tuple(self.steps.values()),
            tuple(self.made.values()),
        )
