"""Tables for scaling policies and for what was made of them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0012_tokens_have_policies"),
    ]

    operations = [
        migrations.CreateModel(
            name="ScalingEventRow",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("namespace", models.TextField()),
                ("job_id", models.TextField(verbose_name="job")),
                ("create_index", models.BigIntegerField()),
                ("task_group", models.TextField()),
                ("happened_at", models.DateTimeField(null=True, verbose_name="when")),
                ("body", models.BinaryField()),
            ],
            options={
                "verbose_name": "scaling event",
                "db_table": "scaling_event",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("namespace", "job_id", "create_index"), name="scaling_event_key"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ScalingPolicyRow",
            fields=[
                ("id", models.CharField(max_length=36, primary_key=True, serialize=False)),
                ("namespace", models.TextField()),
                ("job_id", models.TextField(verbose_name="job")),
                ("task_group", models.TextField()),
                ("type", models.TextField()),
                ("is_enabled", models.BooleanField(verbose_name="enabled")),
                ("body", models.BinaryField()),
            ],
            options={
                "verbose_name": "scaling policy",
                "verbose_name_plural": "scaling policies",
                "db_table": "scaling_policy",
                "indexes": [
                    models.Index(fields=["namespace", "job_id"], name="scaling_policy_of_job")
                ],
            },
        ),
    ]
