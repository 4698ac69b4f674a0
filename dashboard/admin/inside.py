"""The tables of the cluster's own inside, and the small ones.

In: rows. Out: lists and forms. What is not listed here shows its columns as they are.
"""

from typing import Any

import msgspec
from django.contrib import admin
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy

from cluster.store import frame_codec
from dashboard.admin.rows import ReadOnlyAdmin, SinceFilter, date
from dashboard.wording import amount, number, span
from scheduler.state.nouns import NOUN_OF_TOPIC


class EventAdmin(ReadOnlyAdmin):
    """The event log, newest first."""

    list_display = ("index", "kind", "at", "size")
    list_filter = ("kind", ("at", SinceFilter))
    search_fields = ("=index", "kind")
    ordering = ("-index",)

    def told(self, row: Any) -> object:
        """Every changed row with its value."""
        return [
            {
                "Topic": event.topic,
                "Namespace": event.namespace,
                "Key": event.key,
                "Deleted": event.deleted,
                "Value": msgspec.to_builtins(event.value),
            }
            for event in frame_codec.decode_events(row.body, NOUN_OF_TOPIC)
        ]

    def _has_record(self) -> bool:
        return True


class RehearsalAdmin(ReadOnlyAdmin):
    """Rehearsals that were asked for, the newest first."""

    list_display = ("id", "status", "asked_at")
    list_filter = ("status", ("asked_at", SinceFilter))
    search_fields = ("id__startswith",)
    ordering = ("-asked_at",)

    def told(self, row: Any) -> object:
        """All but what was found, which the API tells."""
        value = msgspec.to_builtins(row.value)
        return value | {"Packed": gettext("{packed} bytes").format(packed=len(row.value.packed))}


class StagedDrainAdmin(ReadOnlyAdmin):
    """Drains of many nodes, a few at a time."""

    list_reads_bodies = True
    list_display = ("id", "status", "nodes", "begun", "asked_by", "created_at", "modified_at")
    list_filter = ("status", "created_at")
    search_fields = ("id__startswith",)
    ordering = ("-created_at",)

    @admin.display(description="Nodes")
    def nodes(self, row: Any) -> str:
        """How many, and how many at once."""
        return gettext("{node_ids}, {at_once} at a time").format(
            node_ids=number(len(row.value.node_ids)), at_once=number(row.value.at_once)
        )

    @admin.display(description=gettext_lazy("Had their turn"))
    def begun(self, row: Any) -> str:
        """How many of its nodes have begun, the done ones included."""
        return number(row.value.begun)

    @admin.display(description="By")
    def asked_by(self, row: Any) -> str:
        """The person named with it, else the token that asked."""
        return row.value.meta.get("by") or str(row.value.by_name)


class BeatAdmin(ReadOnlyAdmin):
    """When nodes were last heard."""

    list_display = ("node_id", "beat_at", "within")
    list_filter = (("beat_at", SinceFilter),)
    search_fields = ("node_id__startswith",)
    ordering = ("node_id",)

    @admin.display(description=gettext_lazy("Next within"), ordering="ttl")
    def within(self, row: Any) -> str:
        """How long the node may be silent."""
        return span(row.ttl)


class ListenerAdmin(ReadOnlyAdmin):
    """Web processes that hear nodes."""

    list_filter = (("signed_at", SinceFilter),)
    search_fields = ("name",)
    ordering = ("name",)


class ChannelAdmin(ReadOnlyAdmin):
    """Which web process holds a node's websocket."""

    list_filter = ("holder",)
    search_fields = ("node_id__startswith", "holder")
    ordering = ("node_id",)


class PurgedJobAdmin(ReadOnlyAdmin):
    """What is left of purged jobs."""

    list_display = ("job_id", "namespace", "type", "version", "purged_at", "purge_index")
    list_filter = ("type", "namespace", ("purged_at", SinceFilter))
    search_fields = ("job_id",)
    ordering = ("namespace", "job_id", "create_index")


class NodeUseAdmin(ReadOnlyAdmin):
    """What is taken of nodes."""

    list_reads_bodies = True
    list_display = ("node_id", "allocations", "cpu", "memory")
    search_fields = ("node_id__startswith",)
    ordering = ("node_id",)

    @admin.display(description="Allocations")
    def allocations(self, row: Any) -> str:
        """Those that are wanted there."""
        return str(row.value.planned.alloc_count)

    @admin.display(description=gettext_lazy("CPU taken"))
    def cpu(self, row: Any) -> str:
        """By what has not ended there."""
        return amount(row.value.held.cpu, "MHz")

    @admin.display(description=gettext_lazy("Memory taken"))
    def memory(self, row: Any) -> str:
        """By what has not ended there."""
        return amount(row.value.held.memory_mb, "MiB")


class NamespaceUseAdmin(ReadOnlyAdmin):
    """What namespaces hold."""

    list_reads_bodies = True
    list_display = ("namespace", "allocations", "cpu", "memory", "disk")
    search_fields = ("namespace",)
    ordering = ("namespace",)

    @admin.display(description="Allocations")
    def allocations(self, row: Any) -> str:
        """Those that their nodes are not done with."""
        return number(row.value.used.allocations)

    @admin.display(description=gettext_lazy("CPU taken"))
    def cpu(self, row: Any) -> str:
        """By what has not ended in it."""
        return amount(row.value.used.cpu, "MHz")

    @admin.display(description=gettext_lazy("Memory taken"))
    def memory(self, row: Any) -> str:
        """By what has not ended in it."""
        return amount(row.value.used.memory_mb, "MiB")

    @admin.display(description=gettext_lazy("Disk taken"))
    def disk(self, row: Any) -> str:
        """By what has not ended in it."""
        return amount(row.value.used.disk_mb, "MiB")


class NamedAdmin(ReadOnlyAdmin):
    """Namespaces, quotas, node pools and settings: found by name, told by what they hold."""

    search_fields = ("name",)
    ordering = ("name",)


class DescribedAdmin(NamedAdmin):
    """Those that people describe."""

    list_reads_bodies = True
    list_display = ("name", "description")

    @admin.display(description="Description")
    def description(self, row: Any) -> str:
        """In the words of whoever made it."""
        return str(row.value.description)


class CollectionAdmin(NamedAdmin):
    """The newest run of each kind of collection."""

    list_reads_bodies = True
    list_display = ("name", "started", "ended", "deleted")

    @admin.display(description="Began")
    def started(self, row: Any) -> SafeString | str:
        """When its evaluation was put in."""
        return date(row.value.started_at)

    @admin.display(description="Ended")
    def ended(self, row: Any) -> SafeString | str:
        """A dash while it runs."""
        return date(row.value.ended_at)

    @admin.display(description=gettext_lazy("Rows deleted"))
    def deleted(self, row: Any) -> str:
        """Of every kind together."""
        run = row.value
        return number(
            run.allocations + run.evaluations + run.jobs + run.deployments + run.nodes + run.tokens
        )
