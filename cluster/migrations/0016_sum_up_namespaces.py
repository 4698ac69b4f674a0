"""What each namespace holds, from the allocations of a record that kept no sums.

What a body is called here stays as it was when this was written.
"""

import msgspec
from django.db import migrations

ROWS_AT_ONCE = 2_000
ENDED = ("complete", "failed", "lost")


class SharedBody(msgspec.Struct, frozen=True):
    DiskMB: int = 0


class AllocatedResourcesBody(msgspec.Struct, frozen=True):
    Shared: SharedBody = SharedBody()


class AllocationBody(msgspec.Struct, frozen=True):
    AllocatedResources: AllocatedResourcesBody = AllocatedResourcesBody()


def sum_up(apps, schema_editor):
    """CPU and memory are columns of allocations; the disk stands in their bodies alone."""
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
                disk = decoder.decode(body).AllocatedResources.Shared.DiskMB
                held = sums.setdefault(namespace, [0, 0, 0, 0])
                for place, amount in enumerate((cpu, memory, disk, 1)):
                    held[place] += amount
            last = rows[-1][0]
        cursor.executemany(
            "INSERT INTO namespace_use (namespace, body) VALUES (%s, %s)",
            [(namespace, msgspec.msgpack.encode(use_of(namespace, *held)))
             for namespace, held in sorted(sums.items())],
        )  # fmt: skip


def use_of(namespace, cpu, memory, disk, count):
    used = {"CPU": cpu, "MemoryMB": memory, "DiskMB": disk, "Allocations": count}
    return {"Namespace": namespace, "Used": used}


def forget(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("DELETE FROM namespace_use")


class Migration(migrations.Migration):
    dependencies = [("cluster", "0015_namespace_uses")]
    operations = [migrations.RunPython(sum_up, forget, elidable=True)]
