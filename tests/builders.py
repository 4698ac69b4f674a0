"""One plain default of each noun with keyword overrides; a clock and ids that tests hold."""

from cluster.control_plane.means import BEGIN as SOME_MOMENT
from cluster.control_plane.means import SECOND
from cluster.control_plane.means import CountedIDs as CountingIDs
from cluster.control_plane.means import VirtualClock as FixedClock
from scheduler.structs.allocation import Allocation
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.job import Job, JobStatus, JobType
from scheduler.structs.network import NetworkResource, NodeNetwork, NodeNetworkAddress
from scheduler.structs.node import (
    DriverInfo,
    Node,
    NodeCpu,
    NodeDisk,
    NodeMemory,
    NodeResources,
    NodeStatus,
)
from scheduler.structs.resources import (
    AllocatedCpu,
    AllocatedMemory,
    AllocatedResources,
    AllocatedSharedResources,
    AllocatedTaskResources,
    Resources,
)
from scheduler.structs.task_group import Task, TaskGroup

__all__ = [
    "SECOND",
    "SOME_MOMENT",
    "CountingIDs",
    "FixedClock",
    "make_allocation",
    "make_evaluation",
    "make_job",
    "make_node",
    "make_task",
    "make_task_group",
]


def make_task(**fields: object) -> Task:
    """A task `web` of driver `mock_driver` that asks for 500 MHz and 256 MB."""
    defaults: dict[str, object] = {
        "name": "web",
        "driver": "mock_driver",
        "resources": Resources(cpu=500, memory_mb=256),
    }
    return Task(**(defaults | fields))


def make_task_group(**fields: object) -> TaskGroup:
    """A group `web`, count 1, with one task."""
    defaults: dict[str, object] = {"name": "web", "tasks": (make_task(),)}
    return TaskGroup(**(defaults | fields))


def make_job(**fields: object) -> Job:
    """A stored, pending service job `web` with one group of one."""
    job_id = str(fields.get("id", "web"))
    defaults: dict[str, object] = {
        "id": job_id,
        "name": job_id,
        "type": JobType.SERVICE.value,
        "task_groups": (make_task_group(),),
        "status": JobStatus.PENDING.value,
        "submit_time": SOME_MOMENT,
        "create_index": 10,
        "modify_index": 10,
        "job_modify_index": 10,
    }
    return Job(**(defaults | fields))


def make_node(number: int = 1, **fields: object) -> Node:
    """A ready node with 4000 MHz, 8 GB of memory, 100 GB of disk; `number` tells nodes apart."""
    address = f"10.0.{number // 250}.{number % 250 + 1}"
    defaults: dict[str, object] = {
        "id": f"aaaaaaaa-0000-0000-0000-{number:012x}",
        "name": f"node-{number}",
        "attributes": {"kernel.name": "linux", "cpu.arch": "amd64", "driver.mock_driver": "1"},
        "drivers": {"mock_driver": DriverInfo(detected=True, healthy=True)},
        "node_resources": NodeResources(
            cpu=NodeCpu(cpu_shares=4000, total_cpu_cores=4, reservable_cpu_cores=(0, 1, 2, 3)),
            memory=NodeMemory(memory_mb=8192),
            disk=NodeDisk(disk_mb=100 * 1024),
            networks=(NetworkResource(mode="host", device="eth0", ip=address),),
            node_networks=(
                NodeNetwork(
                    mode="host",
                    device="eth0",
                    addresses=(NodeNetworkAddress(alias="default", address=address),),
                ),
            ),
            min_dynamic_port=20_000,
            max_dynamic_port=32_000,
        ),
        "computed_class": "v1:1",
        "status": NodeStatus.READY,
        "status_updated_at": SOME_MOMENT // SECOND,
        "create_index": 5,
        "modify_index": 5,
    }
    return Node(**(defaults | fields))


def make_allocation(job: Job | None = None, number: int = 0, **fields: object) -> Allocation:
    """Allocation `number` of the first group of `job` (else of a plain one), on node 1."""
    job = job or make_job()
    group = job.task_groups[0]
    defaults: dict[str, object] = {
        "id": f"bbbbbbbb-0000-0000-0000-{number + 1:012x}",
        "namespace": job.namespace,
        "eval_id": "cccccccc-0000-0000-0000-000000000001",
        "name": f"{job.id}.{group.name}[{number}]",
        "node_id": make_node().id,
        "node_name": make_node().name,
        "job_id": job.id,
        "job_version": job.version,
        "job_create_index": job.create_index,
        "job_type": job.type,
        "job_priority": job.priority,
        "task_group": group.name,
        "allocated_resources": granted(group),
        "create_index": 20,
        "modify_index": 20,
        "alloc_modify_index": 20,
        "create_time": SOME_MOMENT,
        "modify_time": SOME_MOMENT,
    }
    return Allocation(**(defaults | fields))


def granted(group: TaskGroup) -> AllocatedResources:
    """What an allocation of the group holds when it got exactly what the tasks ask for."""
    return AllocatedResources(
        tasks={
            task.name: AllocatedTaskResources(
                cpu=AllocatedCpu(cpu_shares=task.resources.cpu),
                memory=AllocatedMemory(memory_mb=task.resources.memory_mb),
            )
            for task in group.tasks
        },
        task_lifecycles={task.name: task.lifecycle for task in group.tasks},
        shared=AllocatedSharedResources(disk_mb=group.ephemeral_disk.size_mb),
    )


def make_evaluation(number: int = 1, **fields: object) -> Evaluation:
    """A stored, pending evaluation of the plain job, made by registering it."""
    defaults: dict[str, object] = {
        "id": f"cccccccc-0000-0000-0000-{number:012x}",
        "type": JobType.SERVICE.value,
        "triggered_by": "job-register",
        "job_id": "web",
        "create_index": 10,
        "modify_index": 10,
        "create_time": SOME_MOMENT,
        "modify_time": SOME_MOMENT,
    }
    return Evaluation(**(defaults | fields))
