"""Rows that explain the newest evaluations of each job."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0002_seed_the_record"),
    ]

    operations = [
        migrations.CreateModel(
            name="ExplanationRow",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("eval_id", models.CharField(max_length=36)),
                ("task_group", models.TextField()),
                ("namespace", models.TextField()),
                ("job_id", models.TextField()),
                ("stored_index", models.BigIntegerField()),
                ("body", models.BinaryField()),
            ],
            options={
                "db_table": "explanation",
                "indexes": [
                    models.Index(fields=["namespace", "job_id"], name="explanation_of_job")
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("eval_id", "task_group"), name="explanation_key"
                    )
                ],
            },
        ),
    ]
