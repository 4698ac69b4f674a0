"""Simulated nodes: each runs what it is given and says so, through the operations agents call.

In: the record, time, what befalls a node. Out: registrations, beats and reports; those that are on
their way can be lost, late or doubled. Tasks take no time to start; health takes what a job says.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from cluster.control_plane.plane import ControlPlane
from cluster.operations.allocations import NodeReport, report_from_client
from cluster.operations.nodes import register_node, update_status
from cluster.simulation.catalogue import BAD, BATCH_RUNS_S
from scheduler.access.caller import Caller, CallerKind
from scheduler.structs.allocation import (
    Allocation,
    ClientStatus,
    DeploymentHealth,
    TaskState,
)
from scheduler.structs.job import Job, JobType
from scheduler.structs.node import Node, NodeStatus
from scheduler.structs.policies import MigrateStrategy

SECOND = 1_000_000_000
AGENT = Caller(kind=CallerKind.AGENT)
_ENDED = frozenset({ClientStatus.COMPLETE, ClientStatus.FAILED})


@dataclass
class SimulatedRun:
    """One allocation on its node."""

    began: int
    status: ClientStatus = ClientStatus.RUNNING
    ended: int = 0
    healthy: bool | None = None
    judged_at: int = 0
    #: Of which deployment the health is.
    deployment_id: str = ""
    #: Since when this deployment is watched.
    watched_from: int = 0
    #: What the server was told last.
    told: tuple[object, ...] = ()

    @property
    def news(self) -> tuple[object, ...]:
        return self.status, self.healthy, self.deployment_id


@dataclass
class Client:
    """One node; it goes on running what it has while nobody can reach it."""

    node: Node
    secret: str
    is_online: bool = True
    is_registered: bool = False
    #: It has reported since it was last told to prove itself.
    has_reported: bool = False
    runs: dict[str, SimulatedRun] = field(default_factory=dict)

    def live(self, plane: ControlPlane) -> list[NodeReport]:
        """A moment of its life; returns the reports it sends."""
        now = plane.clock.now()
        if self.is_online and not self._is_known(plane):
            return []
        if self.is_online:
            self._pull(plane, now)
        self._age(plane, now)
        return list(self._reports(plane, now)) if self.is_online else []

    def go(self, *, online: bool) -> None:
        """Lose the server, or find it again: then everything is told anew."""
        if online and not self.is_online:
            self._tell_anew()
        self.is_online = online

    def restart(self) -> None:
        """The agent starts again: it registers, and its tasks run on."""
        self.is_registered = False
        self._tell_anew()

    def fail(self, alloc_id: str, now: int) -> None:
        """A task of the allocation ends badly."""
        run = self.runs.get(alloc_id)
        if run is not None and run.status is ClientStatus.RUNNING:
            run.status, run.ended = ClientStatus.FAILED, now

    def _tell_anew(self) -> None:
        self.has_reported = False
        for run in self.runs.values():
            run.told = ()

    def _is_known(self, plane: ControlPlane) -> bool:
        stored = plane.store.node(self.node.id)
        if stored is None or not self.is_registered:
            register_node(
                plane.store,
                self.node,
                by=AGENT,
                secret=self.secret,
                may_join=True,
                now=plane.clock.now(),
                ids=plane.ids,
            )
            self.is_registered = True
            stored = plane.store.node(self.node.id)
        assert stored is not None, "it was just registered"
        if stored.status is not NodeStatus.READY:
            if stored.status is NodeStatus.DOWN:
                self._tell_anew()
            stored = update_status(
                plane.store,
                self.node.id,
                NodeStatus.READY,
                by=AGENT,
                secret=self.secret,
                now=plane.clock.now(),
                ids=plane.ids,
            ).node
            if stored.status is NodeStatus.INITIALIZING and not self.has_reported:
                for run in self.runs.values():
                    run.told = ()
        return True

    def _pull(self, plane: ControlPlane, now: int) -> None:
        mine = {alloc.id: alloc for alloc in plane.store.allocations_by_node(self.node.id)}
        for alloc_id in [key for key in self.runs if key not in mine]:
            del self.runs[alloc_id]
        for alloc in mine.values():
            run = self.runs.get(alloc.id)
            if run is None and not alloc.is_client_terminal:
                run = self.runs[alloc.id] = SimulatedRun(began=now, watched_from=now)
            if run is None:
                continue
            if alloc.deployment_id != run.deployment_id:
                run.deployment_id, run.watched_from, run.healthy = alloc.deployment_id, now, None
            if alloc.is_server_terminal and run.status is ClientStatus.RUNNING:
                run.status, run.ended = ClientStatus.COMPLETE, now

    def _age(self, plane: ControlPlane, now: int) -> None:
        for alloc_id, run in self.runs.items():
            alloc = plane.store.allocation(alloc_id)
            job = plane.store.job_of(alloc) if alloc is not None else None
            if alloc is None or job is None or run.status is not ClientStatus.RUNNING:
                continue
            runs_out = job.type in (JobType.BATCH, JobType.SYSBATCH)
            if runs_out and now - run.began >= BATCH_RUNS_S * SECOND:
                run.status, run.ended = ClientStatus.COMPLETE, now
            elif run.healthy is None and job.type in (JobType.SERVICE, JobType.SYSTEM):
                self._judge(alloc, job, run, now)

    def _judge(self, alloc: Allocation, job: Job, run: SimulatedRun, now: int) -> None:
        group = job.task_group(alloc.task_group)
        if group is None:
            return
        strategy = group.update if alloc.deployment_id else group.migrate or MigrateStrategy()
        if strategy is None or now - run.watched_from < strategy.min_healthy_time:
            return
        is_bad = any(BAD in task.env for task in group.tasks)
        run.healthy, run.judged_at = not is_bad, now

    def _reports(self, plane: ControlPlane, now: int) -> Iterator[NodeReport]:
        told = []
        for alloc_id, run in self.runs.items():
            if run.told == run.news:
                continue
            alloc = plane.store.allocation(alloc_id)
            if alloc is not None:
                told.append(_told(alloc, run))
        if told:
            yield NodeReport(node_id=self.node.id, secret=self.secret, allocations=tuple(told))

    def was_heard(self, report: NodeReport) -> None:
        """The server took the report in: what it said need not be said again."""
        self.has_reported = True
        for alloc in report.allocations:
            run = self.runs.get(alloc.id)
            if run is not None:
                health = alloc.deployment_status
                run.told = (
                    alloc.client_status,
                    health.healthy if health else None,
                    alloc.deployment_id,
                )


def send(plane: ControlPlane, report: NodeReport) -> bool:
    """Let a report arrive; whether it was taken in."""
    _, (refusal,) = report_from_client(
        plane.store, (report,), by=AGENT, now=plane.clock.now(), ids=plane.ids
    )
    return refusal is None


def _told(alloc: Allocation, run: SimulatedRun) -> Allocation:
    has_failed = run.status is ClientStatus.FAILED
    state = TaskState(
        state="dead" if run.status in _ENDED else "running",
        failed=has_failed,
        started_at=run.began,
        finished_at=run.ended,
    )
    health = replace(
        alloc.deployment_status or DeploymentHealth(), healthy=run.healthy, timestamp=run.judged_at
    )
    return alloc.changed(
        client_status=run.status,
        task_states=dict.fromkeys(alloc.allocated_resources.tasks, state),
        deployment_status=health if run.healthy is not None else None,
    )
