"""What happened in the cluster, newest first: sentences made from the events of the record.

In: frames of the event log. Out: Happenings, each of one change that a person would tell of; alike
neighbours of one story are one. Steps of lives, plans and reports of what runs are none.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice, takewhile

import msgspec
from django.utils.translation import gettext

from cluster.page_addresses import job_url
from cluster.store.ports import RecordReader
from dashboard.outcomes import short_outcome
from dashboard.queries.node_events import told_event
from dashboard.queries.nodes import state_told
from dashboard.rollout_words import ended_told
from dashboard.rollouts import progress_of
from dashboard.wording import number
from scheduler.state.events import EventFrame, StateEvent, Topic, WriteKind
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import EvalStatus, Evaluation
from scheduler.structs.job import Job
from scheduler.structs.node import Node

#: Indexes that are looked back, and rows that are told.
LOOKED_BACK, TOLD = 200, 12
#: From so many on alike neighbours are one row.
FOLD_FROM = 3
_TOLD_TOPICS = frozenset({Topic.EVALUATION, Topic.DEPLOYMENT, Topic.ALLOCATION, Topic.JOB})


class Happening(msgspec.Struct, frozen=True, kw_only=True):
    """One change: what it was about as a link, then what happened to it."""

    index: int
    at: int
    #: Of the label that stands before it.
    kind: str
    status: str
    name: str
    url: str
    text: str
    #: What stands behind the name: ":" before a sentence of its own.
    sign: str = ""
    eval_id: str = ""
    story_id: str = ""
    #: Of several as one, the index of the first that happened; else 0.
    oldest: int = 0

    @property
    def since(self) -> int:
        """The lowest index that it tells of."""
        return self.oldest or self.index

    @property
    def likeness(self) -> tuple[str, ...]:
        """What alike neighbours have in common; of one that stands for itself it is its own."""
        if self.kind == "node":
            return ("node", self.status, self.text)
        if self.eval_id and self.story_id:
            return (self.story_id, self.status)
        return (self.url, self.text, str(self.index))


class FrameTeller:
    """What is told of frames, to whoever may see it."""

    def __init__(self, shows: Callable[[str], bool], *, sees_nodes: bool) -> None:
        """`shows`: whether what happened in a namespace is told."""
        self._shows, self._sees_nodes = shows, sees_nodes

    def is_wanted(self, kind: str, topic: str, namespace: str, _key: str) -> bool:
        """Whether an event may be told of: others need not be decoded."""
        if topic == Topic.NODE:
            return self._sees_nodes
        is_told = topic in _TOLD_TOPICS and self._shows(namespace)
        # Only reports of agents say that an allocation failed.
        return is_told and (topic != Topic.ALLOCATION or kind == WriteKind.ALLOCATION_UPDATED)

    def found(self, frame: EventFrame) -> Iterator[Happening]:
        """In the order of the frame."""
        for event in frame.events:
            if isinstance(event.value, Node):
                if self._sees_nodes:
                    yield from _of_node(event.value, frame)
            elif self._shows(event.namespace):
                yield from _of_work(event, frame)


def teller_for(namespaces: frozenset[str] | None, *, sees_nodes: bool) -> FrameTeller:
    """Of what happened in these namespaces (None: all), and to nodes for whoever sees them."""
    return FrameTeller(
        lambda namespace: not namespace or namespaces is None or namespace in namespaces,
        sees_nodes=sees_nodes,
    )


class Happened:
    """What happened lately, for whoever may see it. Mutable: `load` once, then `take` frames."""

    def __init__(self, teller: FrameTeller, floor: Callable[[int], int] | None = None) -> None:
        """`floor`: the lowest index that is told of at an index; as on *Now* if not given."""
        self._teller = teller
        self._floor = floor or _floor
        self._all: deque[Happening] = deque()
        self._index = 0

    def load(self, reader: RecordReader) -> None:
        """Read the last frames, as far as they are kept."""
        frames = reader.frames_back(reader.index, self._teller.is_wanted)
        lowest = self._floor(reader.index)
        lately = takewhile(lambda each: each.index >= lowest, frames)
        for frame in reversed(list(lately)):
            self.take(frame)
        self._forget(reader.index)

    def take(self, frame: EventFrame) -> None:
        """Take note of one frame, unless it is known."""
        if frame.index > self._index:
            self._all.extend(self._teller.found(frame))
            self._forget(frame.index)

    def _forget(self, index: int) -> None:
        """A page that is opened now looks back no further than this one."""
        self._index, lowest = index, self._floor(index)
        while self._all and self._all[0].index < lowest:
            self._all.popleft()

    def newest_first(self) -> Iterator[Happening]:
        """Each by itself."""
        return reversed(self._all)

    def rows(self) -> list[Happening]:
        """The newest, alike neighbours as one."""
        return list(islice(folded(self.newest_first()), TOLD))


def _floor(index: int) -> int:
    return index - LOOKED_BACK + 1


def folded(newest_first: Iterable[Happening]) -> Iterator[Happening]:
    """Rows, alike neighbours as one; no more is taken than rows are."""
    for _, alike in groupby(newest_first, lambda each: each.likeness):
        members = list(alike)
        if len(members) < FOLD_FROM:
            yield from members
        else:
            yield _folded(members)


def _folded(members: list[Happening]) -> Happening:
    """Several nodes, or evaluations of one story, of which the same is told."""
    first, oldest = members[0], members[-1].index
    if first.kind == "node":
        return msgspec.structs.replace(
            first,
            name=gettext("{count} nodes").format(count=number(len(members))),
            url="/nodes/",
            oldest=oldest,
        )
    texts = {each.text for each in members}
    return msgspec.structs.replace(
        first,
        name=gettext("{count} evaluations").format(count=number(len(members))),
        url=f"/stories/{first.story_id}/",
        text=gettext("of one story: {told}").format(told=texts.pop())
        if len(texts) == 1
        else gettext("of one story"),
        sign="",
        eval_id="",
        oldest=oldest,
    )


def _of_node(node: Node, frame: EventFrame) -> Iterator[Happening]:
    """The line of its history that this frame wrote."""
    state = state_told(
        node.status, node.scheduling_eligibility, drains=node.drain_strategy is not None
    )
    for event in node.events[-1:]:
        if event.create_index == frame.index:
            told = told_event(event).message.rstrip(".")
            yield Happening(
                index=frame.index, at=frame.at, kind="node", status=state,
                name=node.name or node.id, url=f"/nodes/{node.id}/",
                text=f"{told[:1].lower()}{told[1:]}", sign=":",
            )  # fmt: skip


def _of_work(event: StateEvent, frame: EventFrame) -> Iterator[Happening]:
    value = event.value
    if isinstance(value, Evaluation) and not event.deleted:
        yield from _of_evaluation(value, frame)
    elif isinstance(value, Deployment) and not event.deleted:
        yield from _of_deployment(value, frame)
    elif isinstance(value, Allocation) and not event.deleted:
        yield from _of_allocation(value, frame)
    elif isinstance(value, Job) and event.topic == Topic.JOB:
        yield from _of_job(value, frame, is_gone=event.deleted)


def _of_evaluation(evaluation: Evaluation, frame: EventFrame) -> Iterator[Happening]:
    has_ended = evaluation.is_terminal or evaluation.status is EvalStatus.BLOCKED
    if not has_ended or evaluation.modify_index != frame.index:
        return
    yield Happening(
        index=frame.index, at=frame.at, kind="evaluation", status=evaluation.status.value,
        name=evaluation.job_id or "cluster",
        url=job_url(evaluation.job_key) if evaluation.job_id else f"/evaluations/{evaluation.id}/",
        text=short_outcome(evaluation),
        sign=":", eval_id=evaluation.id, story_id=evaluation.story_id,
    )  # fmt: skip


def _of_deployment(deployment: Deployment, frame: EventFrame) -> Iterator[Happening]:
    if deployment.modify_index != frame.index:
        return
    begins = deployment.create_index == frame.index
    if begins or not deployment.is_active:
        yield Happening(
            index=frame.index, at=frame.at, kind="deployment", status=deployment.status.value,
            name=gettext("Rollout of {job} v{version}").format(
                job=deployment.job_id, version=deployment.job_version
            ),
            url=f"/deployments/{deployment.id}/",
            text=gettext("begins") if begins else ended_told(progress_of(deployment)),
            sign="" if begins else ":",
        )  # fmt: skip


def _of_allocation(alloc: Allocation, frame: EventFrame) -> Iterator[Happening]:
    """That its node reports it failed; what it ran is not told in words of its own."""
    if (
        frame.kind != WriteKind.ALLOCATION_UPDATED
        or alloc.client_status is not ClientStatus.FAILED
    ):
        return
    ended = [state for state in alloc.task_states.values() if state.failed and state.events]
    last = ended[0].events[-1] if ended else None
    why = (last.display_message or last.message) if last is not None else ""
    yield Happening(
        index=frame.index, at=frame.at, kind="allocation", status="failed", name=alloc.name,
        url=f"/allocations/{alloc.id}/",
        text=gettext("failed: {why}").format(why=why) if why else gettext("failed"),
    )  # fmt: skip


def _of_job(job: Job, frame: EventFrame, *, is_gone: bool) -> Iterator[Happening]:
    told = {
        WriteKind.JOB_REGISTERED: gettext("v{version} was submitted").format(version=job.version),
        WriteKind.JOB_REVERTED: gettext("goes back, as v{version}").format(version=job.version),
        WriteKind.JOB_DISPATCHED: gettext("was dispatched"),
        WriteKind.JOB_DEREGISTERED: gettext("was purged") if is_gone else gettext("was stopped"),
    }
    for kind, text in told.items():
        if frame.kind == kind:
            yield Happening(
                index=frame.index, at=frame.at, kind="event", status="job", name=job.id,
                url=job_url(job.key), text=text,
            )  # fmt: skip
