"""The new columns of rows made before, from their bodies: a batch of rows in each transaction.

Broken off, it can run again. What a body is called here stays as it was when this was written.
"""

from datetime import datetime, timedelta

import msgspec
from django.db import migrations, transaction

ROWS_AT_ONCE = 2_000
SECOND = 1_000_000_000
EPOCH = datetime(1970, 1, 1)
ACTIVE = {"running", "paused", "initializing", "pending", "blocked", "unblocking"}
TRANSITIONS = {
    "Migrate": "migrate",
    "Reschedule": "reschedule",
    "ForceReschedule": "force-reschedule",
    "NoShutdownDelay": "no-shutdown-delay",
    "MigrateDisablePlacement": "migrate-disable-placement",
}


class CpuBody(msgspec.Struct, frozen=True):
    CpuShares: int = 0
    ReservedCores: list[int] = []


class MemoryBody(msgspec.Struct, frozen=True):
    MemoryMB: int = 0


class ResourcesBody(msgspec.Struct, frozen=True):
    Cpu: CpuBody = CpuBody()
    Memory: MemoryBody = MemoryBody()


class TaskLifecycleBody(msgspec.Struct, frozen=True):
    Hook: str = ""
    Sidecar: bool = False


class AllocatedResourcesBody(msgspec.Struct, frozen=True):
    Tasks: dict[str, ResourcesBody] = {}
    TaskLifecycles: dict[str, TaskLifecycleBody | None] = {}


class TaskStateBody(msgspec.Struct, frozen=True):
    Restarts: int = 0


class DeploymentHealthBody(msgspec.Struct, frozen=True):
    Healthy: bool | None = None


class AllocationBody(msgspec.Struct, frozen=True):
    Name: str = ""
    AllocatedResources: AllocatedResourcesBody = AllocatedResourcesBody()
    DesiredTransition: dict[str, bool | None] = {}
    TaskStates: dict[str, TaskStateBody] = {}
    DeploymentStatus: DeploymentHealthBody | None = None
    CreateTime: int = 0
    ModifyTime: int = 0


class EvaluationBody(msgspec.Struct, frozen=True):
    Priority: int = 50
    WaitUntil: int = 0
    CreateTime: int = 0
    ModifyTime: int = 0


class GroupRolloutBody(msgspec.Struct, frozen=True):
    DesiredCanaries: int = 0
    Promoted: bool = False


class DeploymentBody(msgspec.Struct, frozen=True):
    Status: str = "running"
    TaskGroups: dict[str, GroupRolloutBody] = {}
    CreateTime: int = 0
    ModifyTime: int = 0


class DrainStrategyBody(msgspec.Struct, frozen=True):
    ForceDeadline: int = 0


class NodeBody(msgspec.Struct, frozen=True):
    NodeResources: ResourcesBody = ResourcesBody()
    ReservedResources: ResourcesBody = ResourcesBody()
    DrainStrategy: DrainStrategyBody | None = None
    StatusUpdatedAt: int = 0


class TaskGroupBody(msgspec.Struct, frozen=True):
    Count: int = 0


class JobBody(msgspec.Struct, frozen=True):
    TaskGroups: list[TaskGroupBody] = []
    Stop: bool = False
    SubmitTime: int = 0


def timestamp(instant):
    """ns as the text that both databases take for UTC."""
    try:
        return str(EPOCH + timedelta(microseconds=instant // 1_000)) if instant else None
    except OverflowError:
        return None


def taken(resources):
    """MHz and MiB: the most of what runs before, beside and after the main tasks."""
    cores_cpu = 0
    cpu, memory = [0, 0, 0], [0, 0, 0]
    for name, task in resources.Tasks.items():
        lifecycle = resources.TaskLifecycles.get(name)
        hook = lifecycle.Hook if lifecycle else ""
        phases = {"prestart": (0,), "poststop": (2,)}.get(hook, (1,))
        if hook == "prestart" and lifecycle.Sidecar:
            phases = (0, 1)
        if task.Cpu.ReservedCores:
            cores_cpu += task.Cpu.CpuShares
        for phase in phases:
            cpu[phase] += 0 if task.Cpu.ReservedCores else task.Cpu.CpuShares
            memory[phase] += task.Memory.MemoryMB
    return cores_cpu + max(cpu), max(memory)


def of_allocation(alloc):
    cpu_mhz, memory_mb = taken(alloc.AllocatedResources)
    health = alloc.DeploymentStatus
    wanted = (word for name, word in TRANSITIONS.items() if alloc.DesiredTransition.get(name))
    return {
        "name": alloc.Name,
        "desired_transition": " ".join(wanted),
        "is_healthy": health.Healthy if health else None,
        "cpu_mhz": cpu_mhz,
        "memory_mb": memory_mb,
        "restart_count": sum(state.Restarts for state in alloc.TaskStates.values()),
        "created_at": timestamp(alloc.CreateTime),
        "modified_at": timestamp(alloc.ModifyTime),
    }


def of_evaluation(evaluation):
    return {
        "priority": evaluation.Priority,
        "created_at": timestamp(evaluation.CreateTime),
        "modified_at": timestamp(evaluation.ModifyTime),
        "wait_until": timestamp(evaluation.WaitUntil),
    }


def of_deployment(deployment):
    return {
        "waits_for_promotion": deployment.Status in ACTIVE
        and any(
            group.DesiredCanaries > 0 and not group.Promoted
            for group in deployment.TaskGroups.values()
        ),
        "created_at": timestamp(deployment.CreateTime),
        "modified_at": timestamp(deployment.ModifyTime),
    }


def of_node(node):
    has, keeps = node.NodeResources, node.ReservedResources
    drain = node.DrainStrategy
    return {
        "cpu_mhz": max(has.Cpu.CpuShares - keeps.Cpu.CpuShares, 0),
        "memory_mb": max(has.Memory.MemoryMB - keeps.Memory.MemoryMB, 0),
        "drain_deadline": timestamp(drain.ForceDeadline if drain else 0),
        "status_changed_at": timestamp(node.StatusUpdatedAt * SECOND),
    }


def of_job(job):
    return {
        "wanted_count": sum(group.Count for group in job.TaskGroups),
        "is_stopped": job.Stop,
        "submitted_at": timestamp(job.SubmitTime),
    }


TABLES = (
    ("job", JobBody, of_job),
    ("node", NodeBody, of_node),
    ("evaluation", EvaluationBody, of_evaluation),
    ("evaluation_stub", EvaluationBody, of_evaluation),
    ("deployment", DeploymentBody, of_deployment),
    ("allocation", AllocationBody, of_allocation),
)


def fill(apps, schema_editor):
    for table, struct, columns_of in TABLES:
        decoder = msgspec.msgpack.Decoder(struct)
        last = None
        while True:
            with transaction.atomic(using=schema_editor.connection.alias):
                with schema_editor.connection.cursor() as cursor:
                    last = fill_batch(cursor, table, decoder, columns_of, last)
            if last is None:
                break


def fill_batch(cursor, table, decoder, columns_of, last):
    """Fill the rows after `last`; returns the last one's id, or None when none is left."""
    after, given = ("WHERE id > %s", (last,)) if last is not None else ("", ())
    cursor.execute(f"SELECT id, body FROM {table} {after} ORDER BY id LIMIT {ROWS_AT_ONCE}", given)
    rows = cursor.fetchall()
    if not rows:
        return None
    filled = [columns_of(decoder.decode(body)) for _, body in rows]
    assignments = ", ".join(f"{name} = %s" for name in filled[0])
    cursor.executemany(
        f"UPDATE {table} SET {assignments} WHERE id = %s",
        [(*columns.values(), key) for columns, (key, _) in zip(filled, rows)],
    )
    return rows[-1][0]


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("cluster", "0008_columns_people_ask_for")]
    operations = [migrations.RunPython(fill, migrations.RunPython.noop, elidable=True)]
