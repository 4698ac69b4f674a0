"""A table for the policies of access control."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0009_fill_columns_from_bodies"),
    ]

    operations = [
        migrations.CreateModel(
            name="AclPolicyRow",
            fields=[
                ("name", models.TextField(primary_key=True, serialize=False)),
                ("body", models.BinaryField()),
            ],
            options={
                "db_table": "acl_policy",
                "verbose_name": "access policy",
                "verbose_name_plural": "access policies",
            },
        ),
    ]
