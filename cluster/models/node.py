"""Nodes, what is taken of them, when they were last heard, and their pools."""

from typing import Self

from django.db import models
from django.urls import reverse

from cluster.models.fields import NanosecondsField, choices_of
from cluster.models.read_only import ReadOnlyQuerySet, ReadOnlyRow
from scheduler.state import nouns
from scheduler.state.node_use import NodeUse
from scheduler.structs.identity import ALL_NODE_POOLS
from scheduler.structs.node import Node, NodeEligibility, NodePool, NodeStatus


class NodeQuerySet(ReadOnlyQuerySet["NodeRow"]):
    """Questions to nodes."""

    def ready(self) -> Self:
        """Those that new allocations may be placed on: heard, eligible and not draining."""
        return self.filter(
            status=NodeStatus.READY, eligibility=NodeEligibility.ELIGIBLE, is_draining=False
        )

    def draining(self) -> Self:
        """Those that are being emptied."""
        return self.filter(is_draining=True)

    def down(self) -> Self:
        """Those that stopped answering, and whose allocations are given up."""
        return self.filter(status=NodeStatus.DOWN)

    def in_pool(self, name: str) -> Self:
        """Those of a pool; `all` has every node."""
        return self.all() if name == ALL_NODE_POOLS else self.filter(node_pool=name)


class NodeRow(ReadOnlyRow):
    """A machine of the fleet."""

    id = models.CharField(primary_key=True, max_length=36)
    name = models.TextField()
    datacenter = models.TextField()
    node_pool = models.TextField("pool")
    status = models.TextField(choices=choices_of(NodeStatus))
    eligibility = models.TextField(
        choices=choices_of(NodeEligibility), help_text="Whether new allocations may be placed."
    )
    is_draining = models.BooleanField("draining")
    create_index = models.BigIntegerField()
    modify_index = models.BigIntegerField()
    cpu_mhz = models.BigIntegerField(
        "CPU", db_default=0, help_text="MHz for allocations: without what the node keeps."
    )
    memory_mb = models.BigIntegerField(
        "memory", db_default=0, help_text="MiB for allocations: without what the node keeps."
    )
    drain_deadline = models.DateTimeField(
        null=True, help_text="When what still runs is stopped; empty without drain or limit."
    )
    status_changed_at = models.DateTimeField(
        "last status change", null=True, help_text="To the second."
    )
    body = models.BinaryField()

    objects = NodeQuerySet.as_manager()
    put_by = (
        "cluster.operations.nodes.register_node",
        "cluster.operations.nodes.set_node_eligibility",
        "cluster.operations.nodes.drain_node",
    )
    removed_by = ("cluster.operations.nodes.purge_node",)

    class Meta:
        db_table = "node"
        verbose_name = "node"
        indexes = [
            models.Index(fields=["node_pool"], name="node_of_pool"),
            # What the list is sorted by, and counted by; the latter holds all it is counted by.
            models.Index(fields=["name", "id"], name="node_by_name"),
            models.Index(fields=["datacenter", "name", "id"], name="node_by_datacenter"),
            models.Index(fields=["cpu_mhz", "id"], name="node_by_cpu"),
            models.Index(fields=["memory_mb", "id"], name="node_by_memory"),
            models.Index(
                fields=["status", "eligibility", "is_draining", "datacenter", "node_pool"],
                name="node_counted",
            ),
            models.Index(
                fields=["id"], name="node_draining", condition=models.Q(is_draining=True)
            ),
        ]

    def __str__(self) -> str:
        return self.name or self.id

    def get_absolute_url(self) -> str:
        return reverse("node", args=[self.id])

    @property
    def value(self) -> Node:
        """The whole node, decoded anew at each call; its secret is a hash."""
        return nouns.NODES.decode(self.body)


class NodeUseRow(ReadOnlyRow):
    """The two sums of a node; beside the node, so that its index does not move with them."""

    node_id = models.CharField("node", primary_key=True, max_length=36)
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["NodeUseRow"].as_manager()
    put_by = (
        "cluster.operations.jobs.register_job",
        "cluster.operations.allocations.stop_allocation",
    )
    removed_by = ("cluster.operations.nodes.purge_node",)

    class Meta:
        db_table = "node_use"
        verbose_name = "use of a node"
        verbose_name_plural = "use of nodes"

    def __str__(self) -> str:
        return f"use of {self.node_id}"

    def get_absolute_url(self) -> str:
        """The page of the node."""
        return reverse("node", args=[self.node_id])

    @property
    def value(self) -> NodeUse:
        """Both sums, decoded anew at each call."""
        return nouns.NODE_USES.decode(self.body)


class NodeBeatRow(ReadOnlyRow):
    """When a node was last heard. Written outside the index: a beat changes no state."""

    node_id = models.CharField("node", primary_key=True, max_length=36)
    beat_at = NanosecondsField("heard")
    #: The grace comes on top.
    ttl = models.BigIntegerField("next within", help_text="When the next was asked for, ns.")
    used_cpu_mhz = models.BigIntegerField(
        "CPU used, MHz", null=True, help_text="By its tasks together; empty where it did not say."
    )
    used_memory_mb = models.BigIntegerField(
        "memory used, MiB", null=True, help_text="By its tasks together."
    )

    objects = ReadOnlyQuerySet["NodeBeatRow"].as_manager()
    put_by = ("cluster.store.beats.write_beats",)
    removed_by = ("cluster.store.beats.forget_beats",)

    class Meta:
        db_table = "node_beat"
        verbose_name = "heartbeat"

    def __str__(self) -> str:
        return f"beat of {self.node_id}"

    def get_absolute_url(self) -> str:
        """The page of the node."""
        return reverse("node", args=[self.node_id])


class ListenerRow(ReadOnlyRow):
    """A web process, which hears nodes. Written outside the index, each second while it serves."""

    name = models.TextField(primary_key=True)
    signs = models.BigIntegerField("signs of life")
    signed_at = NanosecondsField("newest sign", help_text="By the clock of that process.")

    objects = ReadOnlyQuerySet["ListenerRow"].as_manager()
    put_by = ("cluster.store.beats.write_sign",)
    removed_by = ("cluster.store.beats.forget_beats",)

    class Meta:
        db_table = "listener"
        verbose_name = "listener"

    def __str__(self) -> str:
        return self.name


class NodeChannelRow(ReadOnlyRow):
    """Which web process holds a node's websocket. Written outside the index; a hint, no more."""

    node_id = models.CharField("node", primary_key=True, max_length=36)
    holder = models.TextField(
        "web process", help_text="Its address, as other web processes reach it."
    )

    objects = ReadOnlyQuerySet["NodeChannelRow"].as_manager()
    put_by = ("cluster.store.beats.write_channels",)
    removed_by = ("cluster.store.beats.forget_beats",)

    class Meta:
        db_table = "node_channel"
        verbose_name = "node channel"

    def __str__(self) -> str:
        return f"channel of {self.node_id}"

    def get_absolute_url(self) -> str:
        """The page of the node."""
        return reverse("node", args=[self.node_id])


class NodePoolRow(ReadOnlyRow):
    """A named set of nodes."""

    name = models.TextField(primary_key=True)
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["NodePoolRow"].as_manager()
    put_by = ("cluster.operations.node_pools.put_node_pool",)
    removed_by = ("cluster.operations.node_pools.delete_node_pool",)

    class Meta:
        db_table = "node_pool"
        verbose_name = "node pool"

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        """The page of the same name."""
        return reverse("pool", args=[self.name])

    @property
    def value(self) -> NodePool:
        """The whole pool, decoded anew at each call."""
        return nouns.NODE_POOLS.decode(self.body)
