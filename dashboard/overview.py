"""The whole cluster at a glance, kept current change by change: what moves, waits, needs somebody.

In: a reader once, then events. Out: counts per state, moves per arrow, the waiting room, the list
of what needs a person. Costs what has changed, not what there is.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from cluster.store.codec import JOB_SUMMARY
from cluster.store.reader import DjangoStateReader
from cluster.store.tallies import (
    NodeFace,
    evaluation_tally,
    newest_steps_of_pending,
    node_faces,
    recent_steps,
)
from dashboard.graphs.lifecycle import STATE_OF, TERMINAL
from dashboard.graphs.machine import EVENT, NEW_BY_TRIGGER, PLACES
from dashboard.outcomes import TRIGGER_WORDS, why_waiting
from dashboard.wording import clock_time, count_of, number, short_id
from scheduler.state.events import StateEvent
from scheduler.structs.evaluation import Evaluation, LifecycleStep, Step
from scheduler.structs.identity import JobKey
from scheduler.structs.job import JobSummary
from scheduler.structs.node import Node, NodeEligibility, NodeStatus

SECOND = 1_000_000_000
#: Moves are counted over this stretch.
WINDOW = 60 * SECOND
#: Lives read to know what moved before the page was opened.
RECENT_LIVES = 300
#: Rows of the waiting room and of what needs a person.
MAX_WAITING = 8
MAX_NEEDS = 8
#: Evaluations whose steps are told apart; more of them end within seconds only in a storm.
MAX_REMEMBERED = 20_000
#: States of those that do not wait: a worker or the applier has them, or they are about to end.
_AT_WORK = frozenset({"scheduling", "applying", *TERMINAL})


class Move(NamedTuple):
    """One evaluation went along one arrow."""

    at: int
    arrow: str


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """One evaluation in the waiting room, with its reason in words."""

    evaluation: Evaluation
    state: str
    strong: str
    reason: str

    @property
    def at(self) -> int:
        """Since when it waits, or until when where that is known."""
        return self.evaluation.wait_until or self.evaluation.create_time


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """Something that may need a person."""

    icon: str
    tone: str
    strong: str
    text: str
    url: str


class Overview:
    """Mutable: `load` once, then `take` every event, `take_step` every step."""

    def __init__(self, namespaces: frozenset[str] | None) -> None:
        """Rows of other namespaces do not count."""
        self._namespaces = namespaces
        self._counts: Counter[str] = Counter()
        self._open: dict[str, Evaluation] = {}
        self._states: dict[str, str] = {}
        self._nodes: dict[str, NodeFace] = {}
        self._summaries: dict[JobKey, JobSummary] = {}
        self._moves: deque[Move] = deque()
        #: The newest step known of each evaluation: a recorded step moves nothing twice.
        self._numbers: dict[str, int] = {}

    def load(self, reader: DjangoStateReader) -> None:
        """Read everything that is counted, in seven reads."""
        self._counts = Counter(evaluation_tally(reader, self._namespaces))
        self._open = {
            item.id: item for item in reader.open_evaluations() if self._shows(item.namespace)
        }
        newest = newest_steps_of_pending(reader)
        for item in self._open.values():
            step = newest.get(item.id)
            self._states[item.id] = STATE_OF.get(step.step, "") if step else ""
        self._nodes = {face.id: face for face in node_faces(reader)}
        self._summaries = {
            JobKey(item.namespace, item.job_id): item
            for item in reader.select(JOB_SUMMARY)
            if self._shows(item.namespace)
        }
        steps = recent_steps(reader, RECENT_LIVES)
        self._moves = deque(sorted(_moves_of(steps)))
        self._numbers = {step.eval_id: step.number for step in [*steps, *newest.values()]}

    def _shows(self, namespace: str) -> bool:
        return self._namespaces is None or namespace in self._namespaces

    def take(self, event: StateEvent, index: int) -> bool:
        """Count one change; whether it counts here."""
        value = event.value
        if isinstance(value, Evaluation):
            self._take_evaluation(value, is_new=value.create_index == index, deleted=event.deleted)
        elif isinstance(value, LifecycleStep):
            self.take_step(value)
        elif isinstance(value, Node):
            self._nodes[value.id] = face_of(value)
            if event.deleted:
                del self._nodes[value.id]
        elif isinstance(value, JobSummary):
            self._summaries[JobKey(value.namespace, value.job_id)] = value
            if event.deleted:
                del self._summaries[JobKey(value.namespace, value.job_id)]
        else:
            return False
        return True

    def _take_evaluation(self, value: Evaluation, *, is_new: bool, deleted: bool) -> None:
        before = self._open.get(value.id)
        if deleted:
            self._counts[value.status.value] -= 1
            self._counts["deleted"] += 1
            self._open.pop(value.id, None)
            return
        if before is not None:
            self._counts[before.status.value] -= 1
        if before is not None or is_new:
            self._counts[value.status.value] += 1
        if is_new and value.triggered_by in NEW_BY_TRIGGER:
            self._moves.append(Move(value.create_time, NEW_BY_TRIGGER[value.triggered_by]))
        if value.is_terminal:
            self._open.pop(value.id, None)
            self._states.pop(value.id, None)
        else:
            self._open[value.id] = value

    def take_step(self, step: LifecycleStep) -> bool:
        """A step, hinted or recorded; whether anything moved."""
        state = STATE_OF.get(step.step)
        if state is None or step.number <= self._numbers.get(step.eval_id, 0):
            return False
        self._remember(step)
        before = self._states.get(step.eval_id) or EVENT
        if state == before or (before == "blocked" and state == "pending"):
            return False
        if step.eval_id not in self._open and before == EVENT and step.step is not Step.CREATED:
            return False
        self._moves.append(Move(step.at, f"{before}-{state}"))
        self._states[step.eval_id] = state
        return True

    def _remember(self, step: LifecycleStep) -> None:
        self._numbers.pop(step.eval_id, None)
        self._numbers[step.eval_id] = step.number
        while len(self._numbers) > MAX_REMEMBERED:
            del self._numbers[next(iter(self._numbers))]

    def counts(self) -> dict[str, int]:
        """Evaluations by state; one that passes a quasi-status counts there."""
        told = {state: max(self._counts[state], 0) for state in PLACES}
        for item in self._open.values():
            state = self._states.get(item.id) or item.status.value
            if state != item.status.value and state in told:
                told[item.status.value] = max(told[item.status.value] - 1, 0)
                told[state] += 1
        return told

    def flows(self, now: int) -> dict[str, int]:
        """Moves per arrow in the window."""
        while self._moves and self._moves[0].at < now - WINDOW:
            self._moves.popleft()
        return Counter(move.arrow for move in self._moves)

    def figures(self, now: int) -> dict[str, str]:
        """The figures of the page, as text by their fact names."""
        finished = {"scheduling-complete", "scheduling-failed", "pending-complete"}
        flows = self.flows(now)
        groups = [group for item in self._summaries.values() for group in item.summary.values()]
        running = sum(group.running for group in groups)
        wanted = running + sum(group.queued + group.starting + group.unknown for group in groups)
        ready = sum(_is_ready(face) for face in self._nodes.values())
        return {
            "finished": number(sum(flows.get(arrow, 0) for arrow in finished)),
            "plans": number(flows.get("applying-scheduling", 0)),
            "waiting": number(len(self._open)),
            "running": number(running),
            "wanted": number(wanted),
            "ready": number(ready),
            "nodes": number(len(self._nodes)),
            "jobs": number(len(self._summaries)),
        }

    def sentence(self) -> tuple[str, str]:
        """What is to be said first: strong clause, rest."""
        blocked = [item for item in self._open.values() if item.should_block]
        if blocked:
            oldest = min(item.create_time for item in blocked)
            waits = count_of(len(blocked), "evaluation waits", "evaluations wait")
            return f"{waits} for room,", f"the oldest since {clock_time(oldest)}."
        if self._open:
            return f"{count_of(len(self._open), 'evaluation')} under way.", "Nothing is blocked."
        if not self._nodes:
            return "No node has joined yet.", "Start an agent, or simulate a fleet."
        if not self._summaries:
            return "The cluster is empty.", f"{count_of(len(self._nodes), 'node')} ready for work."
        return "All is quiet.", "Nothing waits and nothing is blocked."

    def waiting(self) -> list[Waiting]:
        """Who waits, oldest first; those at work are left out."""
        at_work = {
            item.job_key: item.id
            for item in self._open.values()
            if self._states.get(item.id) in _AT_WORK
        }
        waiting = [
            item for item in self._open.values() if self._states.get(item.id) not in _AT_WORK
        ]
        waiting.sort(key=lambda item: (item.create_time, item.id))
        return [self._told(item, at_work) for item in waiting[:MAX_WAITING]]

    @property
    def waiting_count(self) -> int:
        """Of all who wait, shown or not."""
        return sum(self._states.get(key) not in _AT_WORK for key in self._open)

    def _told(self, item: Evaluation, at_work: Mapping[JobKey, str]) -> Waiting:
        state = self._states.get(item.id) or item.status.value
        if item.should_block:
            reason = why_waiting(item.failed_task_groups.values())
            missing = sum(
                metric.coalesced_failures + 1 for metric in item.failed_task_groups.values()
            )
            strong = count_of(missing, "allocation waits", "allocations wait")
            return Waiting(evaluation=item, state="blocked", strong=strong, reason=reason)
        strong = TRIGGER_WORDS.get(item.triggered_by, item.triggered_by)
        if item.wait_until or state == "delayed":
            until = f"waits until {clock_time(item.wait_until)}" if item.wait_until else "delayed"
            return Waiting(evaluation=item, state="delayed", strong=until, reason=strong)
        if other := at_work.get(item.job_key):
            reason = f"waits for its own job: {short_id(other)} is at work"
        else:
            reason = f"queued at priority {item.priority}"
        return Waiting(evaluation=item, state=state, strong=strong, reason=reason)

    def needs(self) -> list[Need]:
        """What may need a person, worst first."""
        return list(_needs(self._nodes.values(), max(self._counts["failed"], 0)))


def _needs(nodes: Iterable[NodeFace], failed: int) -> Iterator[Need]:
    faces = sorted(nodes, key=lambda face: (face.name, face.id))
    told = [need for kind in (_silent, _draining, _closed) for need in kind(faces)]
    if failed:
        told.append(
            Need(
                icon="failed", tone="failed", strong=count_of(failed, "evaluation") + " failed",
                text="their attempts were used up; each has a follow-up",
                url="/evaluations/?status=failed",
            )
        )  # fmt: skip
    yield from told[:MAX_NEEDS]
    if len(told) > MAX_NEEDS:
        more = count_of(len(told) - MAX_NEEDS, "more node")
        yield Need(icon="node", tone="unknown", strong=more, text="see the list", url="/nodes/")


def _silent(faces: Iterable[NodeFace]) -> Iterator[Need]:
    for face in faces:
        if face.status in (NodeStatus.DOWN, NodeStatus.DISCONNECTED):
            text = "missed its heartbeat; its allocations are replaced elsewhere"
            yield Need(
                icon="failed", tone=face.status, strong=f"{face.name} is {face.status}",
                text=text, url=f"/nodes/{face.id}/",
            )  # fmt: skip


def _draining(faces: Iterable[NodeFace]) -> Iterator[Need]:
    for face in faces:
        if face.is_draining:
            yield Need(
                icon="draining", tone="draining", strong=f"{face.name} drains",
                text="follow its allocations on the board", url=f"/drains/{face.id}/",
            )  # fmt: skip


def _closed(faces: Iterable[NodeFace]) -> Iterator[Need]:
    for face in faces:
        if face.eligibility == NodeEligibility.INELIGIBLE and not face.is_draining:
            yield Need(
                icon="canceled", tone="ineligible", strong=f"{face.name} is ineligible",
                text="nothing new is placed on it", url=f"/nodes/{face.id}/",
            )  # fmt: skip


def _is_ready(face: NodeFace) -> bool:
    return (
        face.status == NodeStatus.READY
        and face.eligibility == NodeEligibility.ELIGIBLE
        and not face.is_draining
    )


def face_of(node: Node) -> NodeFace:
    """What a list of many nodes needs of a changed one."""
    return NodeFace(
        node.id,
        node.name,
        node.status.value,
        node.scheduling_eligibility.value,
        is_draining=node.drain_strategy is not None,
    )


def _moves_of(steps: Iterable[LifecycleStep]) -> Iterator[Move]:
    """The arrows that recorded lives went along."""
    eval_id, before = "", EVENT
    for step in steps:
        if step.eval_id != eval_id:
            eval_id, before = step.eval_id, EVENT
        state = STATE_OF.get(step.step)
        if state is not None and state != before and (before, state) != ("blocked", "pending"):
            yield Move(step.at, f"{before}-{state}")
            before = state
