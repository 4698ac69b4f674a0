"""What is to be rehearsed: changes to a copy of the cluster, one or several at once.

Values only; `scenario_form` reads them from JSON.
"""

import msgspec

from cluster.jobspec.problems import Problem
from cluster.operations.errors import OperationRefused
from cluster.operations.job_dispatch import Dispatch
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job
from scheduler.structs.node import Node, NodeEligibility

#: Percent.
WHOLE = 100


class ScenarioProblems(OperationRefused):
    """A scenario that cannot be rehearsed; every problem is named with its place."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{each.path}: {each.message}" for each in problems))


class NodeChoice(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes by id, or by a filter expression; of the latter a share, spread over all of them."""

    node_ids: tuple[str, ...] = ()
    filter: str = ""
    #: Percent.
    share: int = WHOLE


class DrainNodes(msgspec.Struct, frozen=True, kw_only=True):
    """Drain nodes, all of them or a few at a time."""

    nodes: NodeChoice
    deadline: int = 0
    ignore_system_jobs: bool = False
    #: 0: all.
    at_once: int = 0
    #: Of several at a time: all are closed before the first begins.
    close_first: bool = False
    #: Rehearsed at these paces too, for comparison; each as `at_once`.
    paces: tuple[int, ...] = ()


class LoseNodes(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes fall silent."""

    nodes: NodeChoice


class PurgeNodes(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes are forgotten."""

    nodes: NodeChoice


class MarkNodes(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes are opened or closed for new work."""

    nodes: NodeChoice
    eligibility: NodeEligibility


class AddNodes(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes like one that is there, with nothing on them."""

    like: str
    count: int


class RunJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job is registered."""

    job: Job


class StopJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job is stopped."""

    key: JobKey
    purge: bool = False


class ScaleJob(msgspec.Struct, frozen=True, kw_only=True):
    """A group of a job is scaled."""

    key: JobKey
    #: Empty: its only one.
    group: str = ""
    count: int


class DispatchJob(msgspec.Struct, frozen=True, kw_only=True):
    """A child of a parameterized job is made."""

    key: JobKey
    asked: Dispatch


class RevertJob(msgspec.Struct, frozen=True, kw_only=True):
    """A kept version of a job is registered again."""

    key: JobKey
    version: int
    #: Only while this version is the current one; None: whichever is.
    prior: int | None = None
    #: Groups keep the counts of the current version.
    keeps_counts: bool = False


class ChangeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the schedulers; what is None stays."""

    algorithm: str | None = None
    service_preempts: bool | None = None
    batch_preempts: bool | None = None
    memory_oversubscription: bool | None = None


class ChangeQuota(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a quota; those that are not named stay."""

    name: str
    limits: dict[str, int]


class RoomOnNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node as it would be with more room; nobody asks for it but `helps`."""

    node: Node


class EndDrain(msgspec.Struct, frozen=True, kw_only=True):
    """A drain is canceled and its node opened; nobody asks for it but `helps`."""

    node_id: str


ScenarioChange = (
    DrainNodes
    | LoseNodes
    | PurgeNodes
    | MarkNodes
    | AddNodes
    | RunJob
    | StopJob
    | ScaleJob
    | DispatchJob
    | RevertJob
    | ChangeSettings
    | ChangeQuota
    | RoomOnNode
    | EndDrain
)


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """Changes, made in this order at one moment."""

    changes: tuple[ScenarioChange, ...]
