"""A table of the policies that the people of a group have."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.CreateModel(
            name="GroupPolicy",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "policy",
                    models.CharField(
                        help_text="Its name; * stands for everything.", max_length=128
                    ),
                ),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="policies",
                        to="auth.group",
                    ),
                ),
            ],
            options={
                "db_table": "group_policy",
                "verbose_name": "policy of a group",
                "verbose_name_plural": "policies of groups",
                "constraints": [
                    models.UniqueConstraint(fields=("group", "policy"), name="group_policy_once")
                ],
            },
        ),
    ]
