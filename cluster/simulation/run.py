"""Live through a history, with every law looked at on the way.

In: a history. Out: how it ended, and on request what happened when. A law that is broken ends it,
and so does an error that nobody expected.
"""

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import msgspec

from cluster.operations.jobs import deregister_job, evaluate_job
from cluster.operations.namespaces import put_namespace
from cluster.operations.quotas import put_quota
from cluster.operations.scheduler_settings import set_scheduler_settings
from cluster.simulation.catalogue import TEAM
from cluster.simulation.cluster import Cluster, new_cluster
from cluster.simulation.history import History, HistoryMove
from cluster.simulation.laws import evaluations, jobs, nodes, quiet, rollouts, rounds
from cluster.simulation.laws.law import LawBroken, Memory, replay
from cluster.simulation.moves.deed import Scene
from cluster.simulation.moves.table import perform
from scheduler.access.caller import CLUSTER
from scheduler.broker.places import BrokerStats
from scheduler.state.events import EventFrame, WriteKind
from scheduler.state.nouns import NOUNS
from scheduler.state.record import Record
from scheduler.structs.job import Namespace
from scheduler.structs.quota import QuotaAmounts, QuotaSpec
from scheduler.structs.scheduler_settings import SchedulerSettings

#: Numbers of the steps that are no move, for their chance.
_BEFORE, _AFTER = 1_000_000, 1_000_001
#: Seconds of a round once nothing goes wrong any more, and how many there are at most.
_QUIET_ROUND = 3.0
_QUIET_ROUNDS = 500
#: Rounds without a write after which all is quiet: longer than any deadline of a rollout.
_STILL_ROUNDS = 20
_WRITTEN_LAWS = (*evaluations.LAWS, *nodes.LAWS, *jobs.LAWS, *rollouts.LAWS)


class Broken(msgspec.Struct, frozen=True):
    """How a history ended badly."""

    law: str
    says: str
    found: str
    #: The number of the move after which it showed; one past the last: once all was quiet.
    move: int
    #: Seconds since the beginning.
    at: float


class HistoryEnd(msgspec.Struct, frozen=True):
    """How a history ended."""

    seed: int
    broken: Broken | None = None
    writes: int = 0
    #: Kinds of evaluations by trigger that arose.
    triggers: dict[str, int] = {}


#: Told of moments: seconds since the beginning, a sentence.
Teller = Callable[[float, str], None]


@dataclass
class LivedHistory:
    """One cluster on its way through a history."""

    history: History
    tell: Teller | None = None
    cluster: Cluster = field(init=False)
    scene: Scene = field(init=False)
    _mirror: Record = field(default_factory=Record)
    _memory: Memory = field(default_factory=Memory)

    def __post_init__(self) -> None:
        self.cluster = new_cluster(self.history.nodes)
        self.scene = Scene(self.cluster, self.history.kinds)
        self._begin = self.cluster.plane.clock.monotonic()

    def live(self) -> HistoryEnd:
        """All of it."""
        move = -1
        try:
            self._prepare()
            for each in self.history.moves:
                move = each.number
                self._make(each)
            move += 1
            self._come_to_rest()
            self._look_once_more()
        except LawBroken as error:
            return self._ended(Broken(error.law, error.says, error.found, move, self._now))
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            found = f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"
            says = "nothing but refusals is raised"
            return self._ended(Broken("no-error", says, found, move, self._now))
        return self._ended(None)

    @property
    def _now(self) -> float:
        return round(self.cluster.plane.clock.monotonic() - self._begin, 1)

    def _ended(self, broken: Broken | None) -> HistoryEnd:
        store = self.cluster.plane.store
        triggers: dict[str, int] = {}
        for row in store.evaluations():
            triggers[row.triggered_by] = triggers.get(row.triggered_by, 0) + 1
        return HistoryEnd(self.history.seed, broken, store.index, triggers)

    def _prepare(self) -> None:
        plane = self.cluster.plane
        self.cluster.begin_step(self.history.chance(_BEFORE))
        now = plane.clock.now()
        quota = QuotaSpec(name=TEAM, limits=QuotaAmounts(cpu=2000))
        put_quota(plane.store, quota, by=CLUSTER, now=now)
        put_namespace(plane.store, Namespace(name=TEAM, quota=TEAM), by=CLUSTER, now=now)
        for _ in range(2):
            self._round(1.0)

    def _make(self, move: HistoryMove) -> None:
        self.cluster.begin_step(self.history.chance(move.number))
        sentence = perform(self.scene, move.verb, move.first, move.second)
        if self.tell is not None:
            self.tell(self._now, sentence)
        self._pass(move.seconds)

    def _pass(self, seconds: float) -> None:
        rounds = self.cluster.pass_time(seconds)
        for _ in range(rounds):
            self._round(seconds / rounds)

    def _round(self, seconds: float) -> None:
        self.cluster.round(seconds)
        self._look()

    def _look(self) -> None:
        """Every law about what was written since the last look, and about the leader."""
        for frame in self.cluster.plane.store.frames_since(self._mirror.index, 1_000_000):
            if frame.index != self._mirror.index + 1:
                raise LawBroken("index", "no write is missing", f"{frame.index} came next")
            if self.tell is not None:
                self._tell_frame(frame)
            look = replay(self._mirror, frame, self._memory)
            for law in _WRITTEN_LAWS:
                law.check(look)
        if not self.cluster.away.leader:
            rounds.LAWS.check(self.cluster)

    def _come_to_rest(self) -> None:
        """Nothing goes wrong any more; wait until nobody has anything left to do."""
        self.cluster.begin_step(self.history.chance(_AFTER))
        self.cluster.calm_down()
        plane = self.cluster.plane
        stored = plane.store.scheduler_settings()
        if stored.pause_eval_broker:
            settings = SchedulerSettings(
                scheduler_algorithm=stored.scheduler_algorithm,
                preemption_config=stored.preemption_config,
            )
            set_scheduler_settings(plane.store, settings, by=CLUSTER, now=plane.clock.now())
        for job in plane.store.jobs():
            if job.is_periodic and not job.stop:
                # Else it would never be quiet.
                deregister_job(
                    plane.store, job.key, by=CLUSTER, now=plane.clock.now(), ids=plane.ids
                )
        if self.tell is not None:
            self.tell(self._now, "from here on nothing goes wrong any more")
        self._rest()
        quiet.LAWS.check(self.cluster)
        self._compare()

    def _rest(self) -> None:
        still = 0
        for _ in range(_QUIET_ROUNDS):
            index = self.cluster.plane.store.index
            self._round(_QUIET_ROUND)
            is_still = (
                self.cluster.plane.store.index == index
                and self.cluster.is_idle
                and self.cluster.plane.leader.broker.stats() == BrokerStats()
                and not any(node.drain_strategy for node in self.cluster.plane.store.nodes())
            )
            still = still + 1 if is_still else 0
            if still >= _STILL_ROUNDS:
                return

    def _compare(self) -> None:
        """The record that the log alone made is the record."""
        store = self.cluster.plane.store
        for noun in NOUNS:
            if noun.topic and list(self._mirror.list_all(noun)) != list(store.list_all(noun)):
                raise LawBroken(
                    "replay", "the log applied to an empty record is the record", noun.topic
                )

    def _look_once_more(self) -> None:
        """Evaluate every job again: where all is settled nothing may change."""
        plane = self.cluster.plane
        before = quiet.settled_picture(plane.store)
        for key in quiet.jobs_to_look_at(plane.store):
            evaluate_job(plane.store, key, by=CLUSTER, now=plane.clock.now(), ids=plane.ids)
        self._rest()
        after = quiet.settled_picture(plane.store)
        for alloc_id in sorted(before.keys() ^ after.keys()):
            name, _ = before.get(alloc_id) or after[alloc_id]
            what = "stopped" if alloc_id in before else "placed"
            raise LawBroken(
                "at-rest",
                "a settled cluster stays as it is when its jobs are looked at again",
                f"{name} ({alloc_id[-4:]}) was {what}",
            )

    def _tell_frame(self, frame: EventFrame) -> None:
        if frame.kind != WriteKind.LIFECYCLE_RECORDED and self.tell is not None:
            self.tell(self._now, f"  {frame.index} {frame.kind}: {summary_of(frame)}")


def summary_of(frame: EventFrame) -> str:
    """What a write changed, in a line."""
    parts = []
    for event in frame.events:
        told = _TOLD.get(event.topic)
        if told is not None:
            parts.append(f"{told(event.value)}{' deleted' if event.deleted else ''}")
    return ", ".join(parts)


def _told_alloc(alloc: object) -> str:
    get = partial(getattr, alloc)
    return (
        f"{get('name')} ({get('id')[-4:]}) on {get('node_name')}"
        f" {get('desired_status')}/{get('client_status')}"
    )


def _told_evaluation(row: object) -> str:
    get = partial(getattr, row)
    return f"evaluation {get('id')[-4:]} {get('triggered_by')} {get('job_id')} {get('status')}"


_TOLD: dict[str, Callable[[object], str]] = {
    "Allocation": _told_alloc,
    "Evaluation": _told_evaluation,
    "Node": lambda node: f"{node.name} {node.status} {node.scheduling_eligibility}",  # type: ignore[attr-defined]  # a node
    "Deployment": lambda row: f"rollout of {row.job_id} {row.status}",  # type: ignore[attr-defined]  # a rollout
}


def live_through(history: History, tell: Teller | None = None) -> HistoryEnd:
    """Live through it from the beginning."""
    return LivedHistory(history, tell).live()
