"""A row for each web process, so that a time without any is not held against the nodes."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0003_explanations"),
    ]

    operations = [
        migrations.CreateModel(
            name="ListenerRow",
            fields=[
                ("name", models.TextField(primary_key=True, serialize=False)),
                ("signs", models.BigIntegerField()),
                ("signed_at", models.BigIntegerField()),
            ],
            options={"db_table": "listener"},
        ),
    ]
