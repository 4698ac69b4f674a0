"""A row of launches for each periodic job that was stored before: nothing of it is decided yet.

What a body is called here stays as it was when this was written.
"""

import msgspec
from django.db import migrations


class JobBody(msgspec.Struct, frozen=True):
    Periodic: dict | None = None


def begin(apps, schema_editor):
    alias = schema_editor.connection.alias
    decoder = msgspec.msgpack.Decoder(JobBody)
    launches = apps.get_model("cluster", "PeriodicLaunchRow").objects.using(alias)
    jobs = apps.get_model("cluster", "JobRow").objects.using(alias)
    # Only such jobs can be periodic.
    for job in jobs.filter(type__in=("batch", "sysbatch")).iterator():
        if decoder.decode(job.body).Periodic is None:
            continue
        body = {
            "Namespace": job.namespace,
            "JobID": job.job_id,
            "CreateIndex": job.create_index,
            "ModifyIndex": job.modify_index,
        }
        launches.create(
            namespace=job.namespace,
            job_id=job.job_id,
            launched=0,
            last_launch=None,
            body=msgspec.msgpack.encode(body),
        )


class Migration(migrations.Migration):
    dependencies = [("cluster", "0018_periodic_launches")]
    operations = [migrations.RunPython(begin, migrations.RunPython.noop, elidable=True)]
