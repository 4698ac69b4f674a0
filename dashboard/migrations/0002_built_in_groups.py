"""The groups viewer, submitter, operator and administrator, and what older accounts keep.

Until now whoever was signed in could run, stop and purge jobs of `default`, and staff could change
nodes too. Staff become operators, all others submitters; superusers need no group. A group of one
of these names that is there already stays as it is: its people would gain rights unasked.
"""

from django.db import migrations

GROUPS = {
    "viewer": "viewer",
    "submitter": "submitter",
    "operator": "operator",
    "administrator": "*",
}
_OWN = "{} (built in)"


def make(apps, schema_editor):
    alias = schema_editor.connection.alias
    groups = apps.get_model("auth", "Group").objects.using(alias)
    made = {}
    for name, policy in GROUPS.items():
        free = name if not groups.filter(name=name).exists() else _OWN.format(name)
        made[name] = groups.create(name=free)
        apps.get_model("dashboard", "GroupPolicy").objects.using(alias).create(
            group=made[name], policy=policy
        )
    users = apps.get_model("auth", "User").objects.using(alias).filter(is_superuser=False)
    for user in users.iterator():
        user.groups.add(made["operator" if user.is_staff else "submitter"])


def unmake(apps, schema_editor):
    alias = schema_editor.connection.alias
    names = [*GROUPS, *(_OWN.format(name) for name in GROUPS)]
    held = apps.get_model("dashboard", "GroupPolicy").objects.using(alias)
    for name in names:
        groups = held.filter(group__name=name).values_list("group", flat=True)
        apps.get_model("auth", "Group").objects.using(alias).filter(pk__in=list(groups)).delete()


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0001_policies_of_groups")]
    operations = [migrations.RunPython(make, unmake)]
