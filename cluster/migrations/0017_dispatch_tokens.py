"""Dispatched jobs are found by their idempotency token; none was dispatched before."""

from importlib import import_module

from django.db import migrations, models

AddColumn = import_module("cluster.migrations.0008_columns_people_ask_for").AddColumn


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0016_sum_up_namespaces"),
    ]

    operations = [
        AddColumn(
            model_name="jobrow",
            name="dispatch_token",
            field=models.TextField(
                db_default="",
                help_text="Of a dispatched job: a second dispatch with the same one makes no other.",
                verbose_name="idempotency token",
            ),
        ),
        migrations.AddIndex(
            model_name="jobrow",
            index=models.Index(
                condition=models.Q(("dispatch_token", ""), _negated=True),
                fields=["namespace", "parent_id", "dispatch_token", "job_id"],
                name="job_dispatch_token",
            ),
        ),
    ]
