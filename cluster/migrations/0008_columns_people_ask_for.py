"""Columns for what people ask of evaluations, allocations, nodes, jobs and deployments.

Each can be added in place, without copying a table: it may be NULL or has a constant default. They
are filled by the next migration.
"""

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


class AddColumn(migrations.AddField):
    """As AddField; on SQLite in place also where NULL is not allowed, which Django copies for."""

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        model = to_state.apps.get_model(app_label, self.model_name)
        if self.allow_migrate_model(schema_editor.connection.alias, model):
            field = model._meta.get_field(self.name)
            if schema_editor.connection.vendor == "sqlite":
                BaseDatabaseSchemaEditor.add_field(schema_editor, model, field)
            else:
                schema_editor.add_field(model, field)


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0007_words_of_the_tables"),
    ]

    operations = [
        # The default serves the way back alone.
        migrations.AlterField("jobrow", "submit_time", models.BigIntegerField(default=0)),
        migrations.RemoveField("jobrow", "submit_time"),
        AddColumn(
            model_name="allocationrow",
            name="cpu_mhz",
            field=models.BigIntegerField(
                db_default=0,
                help_text="MHz it takes of its node; whole cores count with theirs.",
                verbose_name="CPU",
            ),
        ),
        AddColumn(
            model_name="allocationrow",
            name="created_at",
            field=models.DateTimeField(null=True, verbose_name="created"),
        ),
        AddColumn(
            model_name="allocationrow",
            name="desired_transition",
            field=models.TextField(
                db_default="",
                help_text="What the scheduler is to do with it: migrate, reschedule, force-reschedule, no-shutdown-delay, migrate-disable-placement; several are parted by spaces.",
            ),
        ),
        AddColumn(
            model_name="allocationrow",
            name="is_healthy",
            field=models.BooleanField(
                help_text="For its deployment; unknown while it is not judged.",
                null=True,
                verbose_name="healthy",
            ),
        ),
        AddColumn(
            model_name="allocationrow",
            name="memory_mb",
            field=models.BigIntegerField(
                db_default=0, help_text="MiB it takes of its node.", verbose_name="memory"
            ),
        ),
        AddColumn(
            model_name="allocationrow",
            name="modified_at",
            field=models.DateTimeField(null=True, verbose_name="modified"),
        ),
        AddColumn(
            model_name="allocationrow",
            name="name",
            field=models.TextField(db_default="", help_text="job.group[index]"),
        ),
        AddColumn(
            model_name="allocationrow",
            name="restart_count",
            field=models.BigIntegerField(
                db_default=0, help_text="Of all its tasks, on its node.", verbose_name="restarts"
            ),
        ),
        AddColumn(
            model_name="deploymentrow",
            name="created_at",
            field=models.DateTimeField(null=True, verbose_name="created"),
        ),
        AddColumn(
            model_name="deploymentrow",
            name="modified_at",
            field=models.DateTimeField(null=True, verbose_name="modified"),
        ),
        AddColumn(
            model_name="deploymentrow",
            name="waits_for_promotion",
            field=models.BooleanField(
                db_default=False,
                help_text="It is active, and a group has canaries without promotion.",
            ),
        ),
        AddColumn(
            model_name="evaluationrow",
            name="created_at",
            field=models.DateTimeField(null=True, verbose_name="created"),
        ),
        AddColumn(
            model_name="evaluationrow",
            name="modified_at",
            field=models.DateTimeField(null=True, verbose_name="modified"),
        ),
        AddColumn(
            model_name="evaluationrow",
            name="priority",
            field=models.IntegerField(
                db_default=0, help_text="Of the job: 1 to 100, higher goes first."
            ),
        ),
        AddColumn(
            model_name="evaluationrow",
            name="wait_until",
            field=models.DateTimeField(
                help_text="Before this moment no scheduler takes it.",
                null=True,
                verbose_name="waits until",
            ),
        ),
        AddColumn(
            model_name="evaluationstubrow",
            name="created_at",
            field=models.DateTimeField(null=True, verbose_name="created"),
        ),
        AddColumn(
            model_name="evaluationstubrow",
            name="modified_at",
            field=models.DateTimeField(null=True, verbose_name="modified"),
        ),
        AddColumn(
            model_name="evaluationstubrow",
            name="priority",
            field=models.IntegerField(
                db_default=0, help_text="Of the job: 1 to 100, higher goes first."
            ),
        ),
        AddColumn(
            model_name="evaluationstubrow",
            name="wait_until",
            field=models.DateTimeField(
                help_text="Before this moment no scheduler takes it.",
                null=True,
                verbose_name="waits until",
            ),
        ),
        AddColumn(
            model_name="jobrow",
            name="is_stopped",
            field=models.BooleanField(db_default=False, verbose_name="stopped"),
        ),
        AddColumn(
            model_name="jobrow",
            name="submitted_at",
            field=models.DateTimeField(null=True, verbose_name="submitted"),
        ),
        AddColumn(
            model_name="jobrow",
            name="wanted_count",
            field=models.BigIntegerField(
                db_default=0,
                help_text="The counts of its groups together, as written in the job; for system jobs that is per node. Stopped jobs want none of it.",
                verbose_name="count",
            ),
        ),
        AddColumn(
            model_name="noderow",
            name="cpu_mhz",
            field=models.BigIntegerField(
                db_default=0,
                help_text="MHz for allocations: without what the node keeps.",
                verbose_name="CPU",
            ),
        ),
        AddColumn(
            model_name="noderow",
            name="drain_deadline",
            field=models.DateTimeField(
                help_text="When what still runs is stopped; empty without drain or limit.",
                null=True,
            ),
        ),
        AddColumn(
            model_name="noderow",
            name="memory_mb",
            field=models.BigIntegerField(
                db_default=0,
                help_text="MiB for allocations: without what the node keeps.",
                verbose_name="memory",
            ),
        ),
        AddColumn(
            model_name="noderow",
            name="status_changed_at",
            field=models.DateTimeField(
                help_text="To the second.", null=True, verbose_name="last status change"
            ),
        ),
    ]
