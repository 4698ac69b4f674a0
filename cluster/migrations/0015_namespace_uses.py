"""A table for what each namespace holds, moved by every write of an allocation."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0014_scaling_policies_of_jobs"),
    ]

    operations = [
        migrations.CreateModel(
            name="NamespaceUseRow",
            fields=[
                ("namespace", models.TextField(primary_key=True, serialize=False)),
                ("body", models.BinaryField()),
            ],
            options={
                "verbose_name": "use of a namespace",
                "verbose_name_plural": "use of namespaces",
                "db_table": "namespace_use",
            },
        ),
    ]
