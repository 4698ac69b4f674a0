"""Small clusters for the engine's packages: nodes, what runs on them, one job to be placed."""

import msgspec

from scheduler.engine.context import EvalContext
from scheduler.engine.stack import RankedNode, SelectOptions, ServiceStack, SystemStack
from scheduler.ports import Snapshot
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.nouns import NODE_POOLS, SCHEDULER_SETTINGS
from scheduler.state.volume_nouns import HOST_VOLUMES, VOLUME_CLAIMS
from scheduler.structs.allocation import Allocation
from scheduler.structs.host_volume import DynamicVolume, VolumeClaim
from scheduler.structs.job import Job
from scheduler.structs.node import Node, NodeCpu, NodeMemory, NodePool, NodeResources
from scheduler.structs.resources import Resources
from scheduler.structs.scheduler_settings import SchedulerSettings
from scheduler.structs.task_group import TaskGroup
from tests.builders import SOME_MOMENT, make_allocation, make_job, make_node, make_task
from tests.builders import make_task_group as make_group
from tests.scheduler.engine.patterns import Patterns


def sized(node: Node, cpu: int, memory_mb: int, **fields: object) -> Node:
    """The node with this much CPU and memory, and other fields of its resources."""
    resources: NodeResources = msgspec.structs.replace(
        node.node_resources,
        cpu=NodeCpu(cpu_shares=cpu),
        memory=NodeMemory(memory_mb=memory_mb),
        **fields,
    )
    return msgspec.structs.replace(node, node_resources=resources, computed_class="")


def plain_node(number: int, cpu: int = 4000, memory_mb: int = 8000, **fields: object) -> Node:
    """A node without cores to give away."""
    return sized(make_node(number, **fields), cpu, memory_mb)


def group_of(cpu: int = 500, memory_mb: int = 256, **fields: object) -> TaskGroup:
    """A group of one task with this ask."""
    task = make_task(resources=Resources(cpu=cpu, memory_mb=memory_mb))
    return make_group(**({"tasks": (task,)} | fields))


def job_of(*groups: TaskGroup, **fields: object) -> Job:
    """The job to be placed."""
    return make_job(**({"task_groups": groups or (group_of(),)} | fields))


def snapshot_of(
    nodes: list[Node],
    jobs: list[Job],
    allocs: list[Allocation] | tuple[()] = (),
    *,
    settings: SchedulerSettings | None = None,
    pools: tuple[NodePool, ...] = (),
    volumes: tuple[DynamicVolume, ...] = (),
    claims: tuple[VolumeClaim, ...] = (),
) -> Snapshot:
    """These rows, frozen."""
    store = MemoryStateStore()

    def put(change):
        for node in nodes:
            put_found(change, node)
        for pool in pools:
            change.put(NODE_POOLS, pool)
        for volume in volumes:
            change.put(HOST_VOLUMES, volume)
        for claim in claims:
            change.put(VOLUME_CLAIMS, claim)
        for job in jobs:
            change.put_job(job)
        for alloc in allocs:
            put_found(change, alloc)
        if settings is not None:
            change.put(SCHEDULER_SETTINGS, settings)

    store.write(WriteKind.JOB_REGISTERED, put, now=SOME_MOMENT)
    return store.snapshot()


class Scene:
    """One attempt to place a job's groups."""

    def __init__(
        self,
        nodes: list[Node],
        job: Job,
        allocs: list[Allocation] | tuple[()] = (),
        *,
        others: list[Job] | tuple[()] = (),
        seed: int = 7,
        **rows: object,
    ) -> None:
        self.job = job
        snapshot = snapshot_of(nodes, [job, *others], allocs, **rows)
        self.context = EvalContext(
            snapshot, job.key, matcher=Patterns(), seed=seed, now=SOME_MOMENT
        )
        self.stack = ServiceStack(self.context)
        self.stack.set_job(job)
        self.system = SystemStack(self.context)
        self.system.set_job(job)
        self.placed_count = 0

    @property
    def group(self) -> TaskGroup:
        return self.job.task_groups[0]

    def select(self, group: TaskGroup | None = None, **options: object) -> RankedNode | None:
        return self.stack.select(group or self.group, SelectOptions(**options))

    def place(self, group: TaskGroup | None = None, **options: object) -> RankedNode | None:
        """Select, and propose the placement."""
        group = group or self.group
        found = self.select(group, **options)
        if found is not None:
            for victim in found.preempted:
                self.context.add_preemption(victim)
            self.propose(found, group)
        return found

    def propose(self, found: RankedNode, group: TaskGroup) -> Allocation:
        self.placed_count += 1
        alloc = make_allocation(
            self.job,
            id=f"new-{self.placed_count}",
            node_id=found.node.id,
            task_group=group.name,
            name=f"{self.job.id}.{group.name}[{self.placed_count}]",
            allocated_resources=found.resources,
            create_index=0,
        )
        self.context.add_placement(alloc)
        return alloc

    def scores(self) -> dict[str, dict[str, float]]:
        """The recorded columns of the last select, by the name of the node."""
        return {
            self.context.snapshot.node(entry.node_id).name: entry.scores
            | {"norm": entry.norm_score}
            for entry in self.context.metrics.score_meta_data
        }
