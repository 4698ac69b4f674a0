"""What each namespace holds, from the allocations of a record that kept no sums.

What a body is called here stays as it was when this was written.
"""

import msgspec
from django.db import migrations

ROWS_AT_ONCE = 2_000
ENDED = ("complete", "failed", "lost")


class CpuBody(msgspec.Struct, frozen=True):
    ReservedCores: list[int] = []


class MemoryBody(msgspec.Struct, frozen=True):
    MemoryMB: int = 0
    MemoryMaxMB: int = 0


class ResourcesBody(msgspec.Struct, frozen=True):
    Cpu: CpuBody = CpuBody()
    Memory: MemoryBody = MemoryBody()


class TaskLifecycleBody(msgspec.Struct, frozen=True):
    Hook: str = ""
    Sidecar: bool = False


class SharedBody(msgspec.Struct, frozen=True):
    DiskMB: int = 0


class AllocatedResourcesBody(msgspec.Struct, frozen=True):
    Tasks: dict[str, ResourcesBody] = {}
    TaskLifecycles: dict[str, TaskLifecycleBody | None] = {}
    Shared: SharedBody = SharedBody()


class AllocationBody(msgspec.Struct, frozen=True):
    AllocatedResources: AllocatedResourcesBody = AllocatedResourcesBody()


def chosen(resources):
    """Whole cores, and the most memory of what runs before, beside and after the main tasks."""
    cores, phases = set(), [0, 0, 0]
    for name, task in resources.Tasks.items():
        cores.update(task.Cpu.ReservedCores)
        lifecycle = resources.TaskLifecycles.get(name)
        hook = lifecycle.Hook if lifecycle else ""
        of_task = {"prestart": (0,), "poststop": (2,)}.get(hook, (1,))
        if hook == "prestart" and lifecycle.Sidecar:
            of_task = (0, 1)
        for phase in of_task:
            phases[phase] += task.Memory.MemoryMaxMB or task.Memory.MemoryMB
    return len(cores), max(phases)


def sum_up(apps, schema_editor):
    """CPU and memory are columns of allocations; the rest stands in their bodies alone."""
    decoder = msgspec.msgpack.Decoder(AllocationBody)
    sums = {}
    with schema_editor.connection.cursor() as cursor:
        last = ""
        while True:
            cursor.execute(
                "SELECT id, namespace, cpu_mhz, memory_mb, body FROM allocation"
                " WHERE id > %s AND client_status NOT IN (%s, %s, %s)"
                f" ORDER BY id LIMIT {ROWS_AT_ONCE}",
                (last, *ENDED),
            )
            rows = cursor.fetchall()
            if not rows:
                break
            for _, namespace, cpu, memory, body in rows:
                resources = decoder.decode(body).AllocatedResources
                cores, memory_max = chosen(resources)
                one = (cpu, cores, memory, memory_max, resources.Shared.DiskMB, 1)
                held = sums.setdefault(namespace, [0] * len(one))
                for place, amount in enumerate(one):
                    held[place] += amount
            last = rows[-1][0]
        cursor.executemany(
            "INSERT INTO namespace_use (namespace, body) VALUES (%s, %s)",
            [(namespace, msgspec.msgpack.encode(use_of(namespace, *held)))
             for namespace, held in sorted(sums.items())],
        )  # fmt: skip


def use_of(namespace, *amounts):
    names = ("CPU", "Cores", "MemoryMB", "MemoryMaxMB", "DiskMB", "Allocations")
    used = dict(zip(names, amounts))
    return {"Namespace": namespace, "Used": used}


def forget(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("DELETE FROM namespace_use")


class Migration(migrations.Migration):
    dependencies = [("cluster", "0015_namespace_uses")]
    operations = [migrations.RunPython(sum_up, forget, elidable=True)]
