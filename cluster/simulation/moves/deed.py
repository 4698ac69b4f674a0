"""What can happen to a simulated cluster: what people do, what befalls nodes and processes.

In: a cluster and two numbers that say on what. Out: the operation done, and a sentence that says
what it was. Numbers point at what is there, modulo how many there are: a move fits any state.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from cluster.operations.jobs import (
    JobRegistration,
    register_job,
)
from cluster.simulation import catalogue
from cluster.simulation.clients import Client
from cluster.simulation.cluster import Cluster
from scheduler.access.caller import CLUSTER
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.deployment import Deployment
from scheduler.structs.job import Job
from scheduler.structs.node import Node

SECOND = 1_000_000_000
Item = TypeVar("Item")


#: What does it: a scene and two numbers in, a sentence out.
Doing = Callable[["Scene", int, int], str]


class NothingThere(Exception):
    """There is nothing that the move could be done to."""


@dataclass
class Scene:
    """A cluster, and what was asked of it so far."""

    cluster: Cluster
    #: The kinds of jobs of this history.
    kinds: tuple[str, ...]
    revisions: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def now(self) -> int:
        return self.cluster.plane.clock.now()

    def job(self, number: int) -> Job:
        """A stored job."""
        return pick(self.cluster.plane.store.jobs(), number)

    def own_job(self, number: int) -> Job:
        """A stored job that a person registered."""
        jobs = self.cluster.plane.store.jobs()
        return pick([job for job in jobs if not job.parent_id], number)

    def node(self, number: int) -> Node:
        """A stored node."""
        return pick(self.cluster.plane.store.nodes(), number)

    def client(self, number: int) -> Client:
        """A node's own side."""
        return pick(self.cluster.clients, number)

    def deployment(self, number: int) -> Deployment:
        """A rollout under way."""
        found = [row for row in self.cluster.plane.store.deployments() if row.is_active]
        return pick(found, number)

    def running(self, number: int) -> Allocation:
        """An allocation that runs."""
        rows = self.cluster.plane.store.allocations()
        found = [row for row in rows if row.client_status is ClientStatus.RUNNING]
        return pick([row for row in found if not row.is_terminal], number)


@dataclass(frozen=True)
class Deed:
    """A kind of move."""

    weight: float
    do: Doing
    #: Something goes wrong, rather than somebody wanting it.
    is_fault: bool = False


def pick(items: Sequence[Item], number: int) -> Item:
    """One of them."""
    if not items:
        raise NothingThere
    return items[number % len(items)]


class Deeds(dict[str, Deed]):
    """Kinds of moves by name."""

    def add(self, weight: float, *, is_fault: bool = False) -> Callable[[Doing], Doing]:
        """Add a function, under its own name."""

        def added(do: Doing) -> Doing:
            self[do.__name__.strip("_").replace("_", "-")] = Deed(weight, do, is_fault)
            return do

        return added


def submit(scene: Scene, kind: str, *, is_bad: bool = False) -> str:
    """Register a job as its revision and count stand."""
    revision, count = scene.revisions.setdefault(kind, 0), scene.counts.setdefault(kind, 3)
    job = catalogue.job(kind, revision, count, is_bad=is_bad)
    plane = scene.cluster.plane
    register_job(plane.store, JobRegistration(job=job), by=CLUSTER, now=scene.now, ids=plane.ids)
    quality = " that is bad" if is_bad else ""
    return f"register {kind}: revision {revision}{quality}, count {job.task_groups[0].count}"
