"""The first write of every record, index 1: the default namespace and the built-in node pools."""

import msgspec
from django.db import migrations

_ROOMS = (
    ("Namespace", "default", "Default shared namespace"),
    ("NodePool", "all", "Node pool with all nodes in the cluster."),
    ("NodePool", "default", "Default node pool."),
)
_PLAIN = b"\x00"


def seed(apps, schema_editor):
    alias = schema_editor.connection.alias
    events = []
    for topic, name, description in _ROOMS:
        body = msgspec.msgpack.encode(
            {"Name": name, "Description": description, "CreateIndex": 1, "ModifyIndex": 1}
        )
        row = apps.get_model("cluster", f"{topic}Row")
        row.objects.using(alias).create(name=name, body=body)
        events.append([topic, name, "", False, msgspec.Raw(body)])
    frame = _PLAIN + msgspec.msgpack.encode(events)
    apps.get_model("cluster", "EventRow").objects.using(alias).create(
        index=1, at=0, kind="NamespaceUpserted", body=frame, size=len(frame)
    )
    table = apps.get_model("cluster", "TableIndexRow").objects.using(alias)
    table.create(name="namespaces", value=1)
    table.create(name="node_pools", value=1)
    apps.get_model("cluster", "StateIndexRow").objects.using(alias).create(
        id=1, value=1, oldest_event=1
    )


def unseed(apps, schema_editor):
    alias = schema_editor.connection.alias
    for name in ("StateIndexRow", "TableIndexRow", "EventRow", "NamespaceRow", "NodePoolRow"):
        apps.get_model("cluster", name).objects.using(alias).all().delete()


class Migration(migrations.Migration):
    dependencies = [("cluster", "0001_initial_record")]
    operations = [migrations.RunPython(seed, unseed)]
