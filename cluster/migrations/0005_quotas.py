"""A table for quotas, which namespaces name."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0004_listeners"),
    ]

    operations = [
        migrations.CreateModel(
            name="QuotaRow",
            fields=[
                ("name", models.TextField(primary_key=True, serialize=False)),
                ("body", models.BinaryField()),
            ],
            options={"db_table": "quota"},
        ),
    ]
