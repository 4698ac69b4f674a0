"""Rows for the scaling policies of jobs that were registered before policies had rows.

Broken off, it can run again. What a body is called here stays as it was when this was written.
"""

import msgspec
from django.db import migrations, transaction

ROWS_AT_ONCE = 2_000
SELECT = "SELECT id, namespace, job_id, body FROM job {} ORDER BY id LIMIT {}"
INSERT = (
    "INSERT INTO scaling_policy (id, namespace, job_id, task_group, type, is_enabled, body)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (id) DO NOTHING"
)
INDEX = (
    "INSERT INTO table_index (name, value) SELECT 'scaling_policies', value FROM state_index"
    " WHERE true ON CONFLICT (name) DO NOTHING"
)


class TaskGroupBody(msgspec.Struct, frozen=True):
    Name: str = ""
    Scaling: dict[str, object] | None = None


class JobBody(msgspec.Struct, frozen=True):
    TaskGroups: list[TaskGroupBody] = []
    JobModifyIndex: int = 0


def policies(namespace, job_id, job):
    """The rows of a job's policies."""
    for group in job.TaskGroups:
        policy = group.Scaling
        if policy is None or not policy.get("ID"):
            continue
        target = {"Namespace": namespace, "Job": job_id, "Group": group.Name}
        index = job.JobModifyIndex
        body = policy | {"Target": target, "CreateIndex": index, "ModifyIndex": index}
        columns = (policy["ID"], namespace, job_id, group.Name)
        yield (
            *columns,
            policy.get("Type", "horizontal"),
            bool(policy.get("Enabled", True)),
            msgspec.msgpack.encode(body),
        )


def fill(apps, schema_editor):
    decoder = msgspec.msgpack.Decoder(JobBody)
    last, found = None, False
    while True:
        with transaction.atomic(using=schema_editor.connection.alias):
            with schema_editor.connection.cursor() as cursor:
                after, given = ("WHERE id > %s", (last,)) if last is not None else ("", ())
                cursor.execute(SELECT.format(after, ROWS_AT_ONCE), given)
                jobs = cursor.fetchall()
                rows = [
                    row
                    for _, namespace, job_id, body in jobs
                    for row in policies(namespace, job_id, decoder.decode(body))
                ]
                cursor.executemany(INSERT, rows)
                found = found or bool(rows)
                if found:
                    cursor.execute(INDEX)
        if not jobs:
            return
        last = jobs[-1][0]


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("cluster", "0013_scaling")]
    operations = [migrations.RunPython(fill, migrations.RunPython.noop, elidable=True)]
