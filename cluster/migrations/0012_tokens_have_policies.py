"""Tokens become a noun. Those of before keep their secrets and exactly their rights.

A manager's token stays one. The others, which said `read` or `write` of namespaces, get a policy of
their own that says the same; every token could read nodes and settings, so it says that too.
"""

from datetime import UTC, datetime, timedelta

import msgspec
from django.db import migrations, models

_READS = (
    'namespace "%s" {\n  policy       = "read"\n  capabilities = ["read-logs", "read-fs"]\n}\n'
)
_WRITES = 'namespace "%s" {\n  policy = "write"\n}\n'
_FOR_EVERYBODY = (
    'node {\n  policy = "read"\n}\nagent {\n  policy = "read"\n}\noperator {\n  policy = "read"\n}\n'
    'plugin {\n  policy = "read"\n}\nquota {\n  policy = "read"\n}\nnode_pool "*" {\n  policy = "read"\n}\n'
)


def rules_of(capabilities):
    """The policy text that gives what was granted by namespace."""
    blocks = [
        (_WRITES if right == "write" else _READS) % namespace
        for namespace, right in sorted(capabilities.items())
    ]
    if "write" in capabilities.values():
        blocks.append('host_volume "*" {\n  policy = "write"\n}\n')
    return "".join(blocks) + _FOR_EVERYBODY


def instant(nanoseconds):
    """A timestamp, cut to the microsecond; None for 0."""
    if not nanoseconds:
        return None
    return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=nanoseconds // 1_000)


def move(apps, schema_editor):
    alias = schema_editor.connection.alias

    def rows(name):
        return apps.get_model("cluster", name).objects.using(alias)

    old = list(rows("ApiTokenRow").order_by("created"))
    if not old:
        return
    index = rows("StateIndexRow").get(id=1).value
    for token in old:
        is_management = token.type == "management"
        policies = [] if is_management else [f"made-for-{token.accessor_id}"]
        for policy in policies:
            rows("AclPolicyRow").create(
                name=policy,
                body=msgspec.msgpack.encode(
                    {
                        "Name": policy,
                        "Description": "What this token could do before tokens had policies.",
                        "Rules": rules_of(token.capabilities),
                        "CreateIndex": index,
                        "ModifyIndex": index,
                    }
                ),
            )
        rows("AclTokenRow").create(
            accessor_id=token.accessor_id,
            name=token.name,
            type=token.type,
            created_at=instant(token.created),
            expires_at=instant(token.expires),
            secret_hash=token.secret_hash,
            body=msgspec.msgpack.encode(
                {
                    "AccessorID": token.accessor_id,
                    "Name": token.name,
                    "Type": token.type,
                    "Policies": policies,
                    "Global": False,
                    "CreateTime": token.created,
                    "ExpirationTime": token.expires,
                    "CreateIndex": index,
                    "ModifyIndex": index,
                }
            ),
        )
    if any(token.type == "management" for token in old):
        rows("AclBootstrapRow").create(
            name="bootstrap", body=msgspec.msgpack.encode({"ResetIndex": index})
        )
        rows("TableIndexRow").update_or_create(name="acl_bootstrap", defaults={"value": index})
    # The index of policies stays: only who never wrote one is given the built-in ones.
    rows("TableIndexRow").update_or_create(name="acl_tokens", defaults={"value": index})


def no_way_back(apps, schema_editor):
    """Tokens with policies have no place in the table of before: they are forgotten."""


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0011_audit"),
    ]

    operations = [
        migrations.CreateModel(
            name="AclAuthMethodRow",
            fields=[
                ("name", models.TextField(primary_key=True, serialize=False)),
                ("body", models.BinaryField()),
            ],
            options={"verbose_name": "auth method", "db_table": "acl_auth_method"},
        ),
        migrations.CreateModel(
            name="AclBindingRuleRow",
            fields=[
                ("id", models.CharField(max_length=36, primary_key=True, serialize=False)),
                ("auth_method", models.TextField(db_index=True)),
                ("body", models.BinaryField()),
            ],
            options={"verbose_name": "binding rule", "db_table": "acl_binding_rule"},
        ),
        migrations.CreateModel(
            name="AclBootstrapRow",
            fields=[
                ("name", models.TextField(primary_key=True, serialize=False)),
                ("body", models.BinaryField()),
            ],
            options={
                "verbose_name": "start of access control",
                "verbose_name_plural": "start of access control",
                "db_table": "acl_bootstrap",
            },
        ),
        migrations.CreateModel(
            name="AclRoleRow",
            fields=[
                ("id", models.CharField(max_length=36, primary_key=True, serialize=False)),
                ("name", models.TextField(db_index=True)),
                ("body", models.BinaryField()),
            ],
            options={"verbose_name": "role", "db_table": "acl_role"},
        ),
        migrations.CreateModel(
            name="AclTokenRow",
            fields=[
                (
                    "accessor_id",
                    models.CharField(
                        max_length=36, primary_key=True, serialize=False, verbose_name="accessor"
                    ),
                ),
                ("name", models.TextField()),
                (
                    "type",
                    models.TextField(
                        choices=[("client", "client"), ("management", "management")],
                        help_text="management may do everything, client what its policies and roles say.",
                    ),
                ),
                ("created_at", models.DateTimeField(null=True, verbose_name="created")),
                (
                    "expires_at",
                    models.DateTimeField(
                        help_text="Empty: never.", null=True, verbose_name="expires"
                    ),
                ),
                (
                    "secret_hash",
                    models.CharField(blank=True, max_length=64, null=True, unique=True),
                ),
                ("body", models.BinaryField()),
            ],
            options={"verbose_name": "API token", "db_table": "acl_token"},
        ),
        migrations.CreateModel(
            name="OneTimeTokenRow",
            fields=[
                (
                    "accessor_id",
                    models.CharField(
                        max_length=36, primary_key=True, serialize=False, verbose_name="accessor"
                    ),
                ),
                ("secret_hash", models.CharField(max_length=64, unique=True)),
                ("sealed", models.BinaryField()),
                ("expires", models.BigIntegerField()),
            ],
            options={"verbose_name": "one-time token", "db_table": "one_time_token"},
        ),
        migrations.AddField(
            model_name="jointokenrow",
            name="nodes_joined",
            field=models.IntegerField(db_default=0, default=0),
        ),
        migrations.RunPython(move, no_way_back),
        migrations.DeleteModel(name="ApiTokenRow"),
    ]
