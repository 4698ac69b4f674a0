"""The whole cluster at a glance, kept current change by change: what moves, waits, needs somebody.

In: a reader once, then events; again a reader for what was on a node when its drain began. Out:
counts per state, moves per arrow, the waiting room, what needs a person. Costs what has changed,
not what there is.
"""

from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from django.utils.translation import gettext

from cluster.notifications.failing import RESTARTS, failing
from cluster.store.ports import AllocFace, JobFace, Listing, NodeFace, RecordReader
from dashboard.evaluation_counts import EvaluationCounts
from dashboard.faces import alloc_face, face_of, is_ready, job_face, restarts
from dashboard.graphs.lifecycle import STATE_OF, TERMINAL
from dashboard.graphs.machine import EVENT
from dashboard.hinted_steps import HintedSteps
from dashboard.moves import MOST_LIVES, WINDOWS, Move, Moves, move_of, moves_of
from dashboard.needs import Circumstances, Need, needs_of, short_services, stuck_at
from dashboard.rollouts import progress_of
from dashboard.waiting_words import Waiting, folded, waiting_of
from dashboard.wording import count_of
from scheduler.state.events import StateEvent, Topic
from scheduler.state.nouns import DEPLOYMENTS, JOB_SUMMARIES
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment, DeploymentStatus
from scheduler.structs.evaluation import EvalStatus, Evaluation, LifecycleStep, Step
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, JobSummary
from scheduler.structs.node import LOST, Node, NodeStatus

#: Moves are counted over this stretch, unless another one is asked for.
WINDOW = WINDOWS[""]
FINISHED = ("scheduling-complete", "scheduling-failed", "pending-complete")
#: Lines of the waiting room, and evaluations that are looked at for them.
MAX_WAITING, MAX_FOLDED = 8, 200
#: Evaluations whose steps are told apart; more of them end within seconds only in a storm.
MAX_REMEMBERED = 20_000
#: States of those that do not wait: a worker or the applier has them, or they are about to end.
_AT_WORK = frozenset({"scheduling", "applying", *TERMINAL})


class Figures(NamedTuple):
    """What is counted now: evaluations that ended in the last minute, allocations, nodes."""

    ended: int
    running: int
    wanted: int
    ready: int
    nodes: int
    lost: int
    #: Of those that are up, the ones that drain or are ineligible.
    closed: int


class Overview:
    """Mutable: `load` once, then `take` every event, `take_step` every step."""

    def __init__(
        self, namespaces: frozenset[str] | None, *, sees_nodes: bool = True, window: str = ""
    ) -> None:
        """Rows of other namespaces do not count, nor nodes for whom they are not shown to.

        `window`: how far back moves are counted, a key of `WINDOWS`.
        """
        self._namespaces = namespaces
        self.window = window
        self.sees_work = namespaces is None or bool(namespaces)
        self.sees_nodes = sees_nodes
        self._evaluations = EvaluationCounts(namespaces)
        self._states: dict[str, str] = {}
        self._nodes: dict[str, NodeFace] = {}
        self._summaries: dict[JobKey, JobSummary] = {}
        self._jobs: dict[JobKey, JobFace] = {}
        #: The job of each allocation that was restarted several times and does not run.
        self._restarting: dict[str, JobKey] = {}
        #: Rollouts under way.
        self._rollouts: dict[str, Deployment] = {}
        #: What has not ended on each node that drains; None while it was not read yet.
        self._on_draining: dict[str, dict[str, AllocFace] | None] = {}
        self._last_minute = Moves(WINDOW)
        self._moves = Moves(WINDOWS[window]) if window else self._last_minute
        #: Moves before this instant are not known, for there were too many; 0 where all are.
        self.whole_from = 0
        #: Evaluations that ended in the window and are collected, their moves with them.
        self.collected = 0
        #: The newest step known of each evaluation: a recorded step moves nothing twice.
        self._numbers: dict[str, int] = {}
        self.hints = HintedSteps()

    def load(self, reader: RecordReader) -> None:
        """Read everything that is counted, in a fixed number of reads."""
        self._evaluations.load(reader)
        newest = reader.newest_steps_of_pending(None)
        for item in self._open.values():
            step = newest.get(item.id)
            self._states[item.id] = STATE_OF.get(step.step, "") if step else ""
        if self.sees_nodes:
            self._nodes = {face.id: face for face in reader.node_faces()}
        self._summaries = {
            JobKey(item.namespace, item.job_id): item
            for item in reader.list_all(JOB_SUMMARIES)
            if self._shows(item.namespace)
        }
        self._jobs = {
            JobKey(face.namespace, face.id): face for face in reader.job_faces(self._namespaces)
        }
        starting = [
            key
            for key, item in self._summaries.items()
            if any(group.starting for group in item.summary.values())
        ]
        self._restarting = dict(reader.restarting_among(starting, RESTARTS))
        under_way = Listing(namespaces=self._namespaces, equals={"status": "running"})
        self._rollouts = {item.id: item for item in reader.page(DEPLOYMENTS, under_way)}
        self._on_draining = dict.fromkeys(
            face.id for face in self._nodes.values() if face.is_draining
        )
        self.read_missing(reader)
        steps, self.whole_from, self.collected = reader.moved_lives(
            WINDOWS[self.window], self._namespaces, MOST_LIVES[self.window]
        )
        for move in moves_of(steps):
            self._add(move)
        self._numbers = {step.eval_id: step.number for step in [*steps, *newest.values()]}

    def _add(self, move: Move) -> None:
        for moves in {self._moves, self._last_minute}:
            moves.add(*move)

    @property
    def _open(self) -> dict[str, Evaluation]:
        return self._evaluations.open

    @property
    def misses_something(self) -> bool:
        """Whether what was on a node when its drain began, or what ended as what, is not known."""
        unsure = self._evaluations.is_unsure or bool(self.hints.doubted)
        return unsure or None in self._on_draining.values()

    def read_missing(self, reader: RecordReader) -> None:
        """Read what is on the nodes that began to drain; count anew what is not sure."""
        if self._evaluations.is_unsure:
            self._evaluations.load(reader)
        self._read_doubted(reader)
        missing = [node_id for node_id, there in self._on_draining.items() if there is None]
        found: dict[str, dict[str, AllocFace]] = {node_id: {} for node_id in missing}
        for face in reader.live_on(missing):
            found[face.node_id][face.id] = face
        self._on_draining |= found

    def _read_doubted(self, reader: RecordReader) -> None:
        """Let evaluations stand where the record says; their next steps count from there."""
        known = reader.newest_steps_of(self.hints.doubted)
        for eval_id in self.hints.doubted & self._open.keys():
            step = known.get(eval_id)
            is_pending = self._open[eval_id].status is EvalStatus.PENDING
            self._states[eval_id] = STATE_OF.get(step.step, "") if step and is_pending else ""
            self._numbers[eval_id] = step.number if step else 0
        self.hints.doubted.clear()

    def _shows(self, namespace: str) -> bool:
        return self._namespaces is None or namespace in self._namespaces

    def take(self, event: StateEvent, index: int) -> bool:
        """Count one change; whether it counts here."""
        value = event.value
        if isinstance(value, Evaluation):
            self._evaluations.take(value, index, deleted=event.deleted)
        elif isinstance(value, LifecycleStep):
            self.hints.confirm(value)
            self.take_step(value)
        elif isinstance(value, Node):
            if not self.sees_nodes:
                return False
            self._take_node(value, deleted=event.deleted)
        elif isinstance(value, JobSummary):
            self._summaries[JobKey(value.namespace, value.job_id)] = value
            if event.deleted:
                del self._summaries[JobKey(value.namespace, value.job_id)]
        else:
            return self._take_work(event)
        return True

    def _take_work(self, event: StateEvent) -> bool:
        """Jobs, their rollouts and what is on nodes that drain; whether it is told of here."""
        value, deleted = event.value, event.deleted
        if isinstance(value, Job):
            if event.topic is not Topic.JOB:
                return False
            self._jobs[value.key] = job_face(value)
            if deleted:
                del self._jobs[value.key]
            return True
        if isinstance(value, Deployment):
            self._rollouts.pop(value.id, None)
            if value.status is DeploymentStatus.RUNNING and not deleted:
                self._rollouts[value.id] = value
            return True
        return isinstance(value, Allocation) and self._take_allocation(value, deleted=deleted)

    def _take_allocation(self, value: Allocation, *, deleted: bool) -> bool:
        was_restarting = self._restarting.pop(value.id, None) is not None
        is_restarting = not deleted and restarts(value) >= RESTARTS
        if is_restarting:
            self._restarting[value.id] = value.job_key
        there = self._on_draining.get(value.node_id)
        if there is None:
            return was_restarting or is_restarting
        there.pop(value.id, None)
        if not (value.is_client_terminal or deleted):
            there[value.id] = alloc_face(value)
        return True

    def _take_node(self, value: Node, *, deleted: bool) -> None:
        self._nodes[value.id] = face_of(value)
        if deleted:
            del self._nodes[value.id]
        if deleted or value.drain_strategy is None:
            self._on_draining.pop(value.id, None)
        else:
            self._on_draining.setdefault(value.id, None)

    def take_hint(self, step: LifecycleStep) -> bool:
        """A step ahead of the record; whether anything moved."""
        if step.number > self._numbers.get(step.eval_id, 0):
            self.hints.hint(step)
        return self.take_step(step)

    def take_step(self, step: LifecycleStep) -> bool:
        """A step that is recorded, or hinted; whether anything moved."""
        state = STATE_OF.get(step.step)
        if state is None or step.number <= self._numbers.get(step.eval_id, 0):
            return False
        self._remember(step)
        before = self._states.get(step.eval_id) or EVENT
        if state == before or (before == "blocked" and state == "pending"):
            return False
        if step.eval_id not in self._open and before == EVENT and step.step is not Step.CREATED:
            return False
        arrow, self._states[step.eval_id] = move_of(step, before, state)
        self._add(Move(step.at, arrow))
        return True

    def _remember(self, step: LifecycleStep) -> None:
        self._numbers.pop(step.eval_id, None)
        self._numbers[step.eval_id] = step.number
        while len(self._numbers) > MAX_REMEMBERED:
            oldest = next(iter(self._numbers))
            del self._numbers[oldest]
            if oldest not in self._open:
                self._states.pop(oldest, None)

    def counts(self) -> dict[str, int]:
        """Evaluations by state; one that passes a quasi-status counts there."""
        return self._evaluations.told(self._states)

    def flows(self, now: int) -> dict[str, int]:
        """Moves per arrow in the window."""
        return self._moves.within(now)

    def figures(self, now: int) -> Figures:
        """What the figures of the page count."""
        flows = self._last_minute.within(now)
        groups = [group for item in self._summaries.values() for group in item.summary.values()]
        running = sum(group.running for group in groups)
        faces = self._nodes.values()
        return Figures(
            ended=sum(flows.get(arrow, 0) for arrow in FINISHED),
            running=running,
            wanted=running
            + sum(group.queued + group.starting + group.unknown for group in groups),
            ready=self._ready,
            nodes=len(self._nodes),
            lost=sum(face.status in LOST for face in faces),
            closed=sum(face.status == NodeStatus.READY for face in faces) - self._ready,
        )

    @property
    def nodes(self) -> Collection[NodeFace]:
        """All that are shown."""
        return self._nodes.values()

    def sentence(self, now: int) -> tuple[str, str]:
        """What is to be said first: strong clause, rest. The worst need, where there is any."""
        needs = self.needs(now)
        if needs:
            first, others = needs[0], len(needs) - 1
            more = gettext("{other} may need a person.").format(
                other=count_of(others, "{count} other thing", "{count} other things")
            )
            return f"{first.strong}:", f"{first.text}. {more if others else ''}".strip()
        if self._open:
            return gettext("{evaluation} under way.").format(
                evaluation=count_of(len(self._open), "{count} evaluation", "{count} evaluations")
            ), gettext("Nothing is blocked.")
        if not self._nodes and self.sees_nodes:
            return gettext("No node has joined yet."), gettext(
                "Start an agent, or simulate a fleet."
            )
        if not self._summaries:
            if not self.sees_nodes:
                return gettext("No job yet."), gettext("Nothing waits and nothing is blocked.")
            return gettext("The cluster is empty."), gettext("{node} ready for work.").format(
                node=count_of(self._ready, "{count} node", "{count} nodes")
            )
        under_way = [
            *(
                [count_of(len(self._rollouts), "{count} rollout", "{count} rollouts")]
                if self._rollouts
                else []
            ),
            *(
                [count_of(len(self._on_draining), "{count} drain", "{count} drains")]
                if self._on_draining
                else []
            ),
        ]
        if under_way:
            return gettext("{under_way} under way.").format(
                under_way=gettext(" and ").join(under_way)
            ), gettext("Nothing holds anything up.")
        return gettext("All is quiet."), gettext("Nothing waits and nothing is blocked.")

    @property
    def _ready(self) -> int:
        return sum(is_ready(face) for face in self._nodes.values())

    def waiting(self) -> list[Waiting]:
        """Who waits, oldest first, alike ones in a line; those at work are left out."""
        at_work = {
            item.job_key: item.id
            for item in self._open.values()
            if self._states.get(item.id) in _AT_WORK
        }
        waiting = [
            item for item in self._open.values() if self._states.get(item.id) not in _AT_WORK
        ]
        waiting.sort(key=lambda item: (item.create_time, item.id))
        told = (
            waiting_of(item, self._states.get(item.id, ""), at_work.get(item.job_key, ""))
            for item in waiting[:MAX_FOLDED]
        )
        return folded(told)[:MAX_WAITING]

    @property
    def waiting_count(self) -> int:
        """Of all who wait, shown or not."""
        return sum(self._states.get(key) not in _AT_WORK for key in self._open)

    @property
    def waiting_allocations(self) -> int:
        """How many allocations the blocked evaluations wait with."""
        return sum(
            metric.coalesced_failures + 1
            for item in self._open.values()
            if item.should_block
            for metric in item.failed_task_groups.values()
        )

    def needs(self, now: int) -> list[Need]:
        """What may need a person, worst first."""
        restarting = Counter(self._restarting.values())
        faces = ((key, self._jobs.get(key)) for key in self._summaries)
        found = (
            failing(face, self._summaries[key], restarting[key])
            for key, face in faces
            if face is not None
        )
        return needs_of(
            Circumstances(
                nodes=tuple(self._nodes.values()),
                failing=[item for item in found if item is not None],
                short=short_services(
                    self._jobs,
                    self._summaries,
                    {item.job_key for item in self._open.values()}
                    | {item.job_key for item in self._rollouts.values()},
                ),
                rollouts=[progress_of(item) for item in self._rollouts.values()],
                on_draining=[
                    face
                    for there in self._on_draining.values()
                    for face in (there or {}).values()
                    if self._shows(face.job_key.namespace)
                ],
                blocked=[item for item in self._open.values() if item.should_block],
                now=now,
            )
        )

    def becomes_stuck(self, since: int, now: int) -> bool:
        """Whether time alone has made a rollout stuck between these instants."""
        turns = (stuck_at(progress_of(item)) for item in self._rollouts.values())
        return any(since < instant <= now for instant in turns if instant)
