"""Nodes, what is taken of them, when they were last heard, and their pools."""

from django.db import models


class NodeRow(models.Model):
    """A machine of the fleet."""

    id = models.CharField(primary_key=True, max_length=36)
    name = models.TextField()
    datacenter = models.TextField()
    node_pool = models.TextField()
    status = models.TextField()
    eligibility = models.TextField()
    is_draining = models.BooleanField()
    create_index = models.BigIntegerField()
    modify_index = models.BigIntegerField()
    body = models.BinaryField()

    class Meta:
        db_table = "node"
        indexes = [models.Index(fields=["node_pool"], name="node_of_pool")]

    def __str__(self) -> str:
        return self.name or self.id


class NodeUseRow(models.Model):
    """The two sums of a node; beside the node, so that its index does not move with them."""

    node_id = models.CharField(primary_key=True, max_length=36)
    body = models.BinaryField()

    class Meta:
        db_table = "node_use"

    def __str__(self) -> str:
        return f"use of {self.node_id}"


class NodeBeatRow(models.Model):
    """When a node was last heard, ns. Written outside the index: a beat changes no state."""

    node_id = models.CharField(primary_key=True, max_length=36)
    beat_at = models.BigIntegerField()
    #: How long after it the next one was asked for, ns; the grace comes on top.
    ttl = models.BigIntegerField()

    class Meta:
        db_table = "node_beat"

    def __str__(self) -> str:
        return f"beat of {self.node_id}"


class ListenerRow(models.Model):
    """A web process, which hears nodes. Written outside the index, each second while it serves."""

    name = models.TextField(primary_key=True)
    #: How many signs of life it has given.
    signs = models.BigIntegerField()
    #: When it gave the newest, ns by its own clock.
    signed_at = models.BigIntegerField()

    class Meta:
        db_table = "listener"

    def __str__(self) -> str:
        return self.name


class NodeChannelRow(models.Model):
    """Which web process holds a node's websocket. Written outside the index; a hint, no more."""

    node_id = models.CharField(primary_key=True, max_length=36)
    #: The address of that process, as other web processes reach it.
    holder = models.TextField()

    class Meta:
        db_table = "node_channel"

    def __str__(self) -> str:
        return f"channel of {self.node_id}"


class NodePoolRow(models.Model):
    """A named set of nodes."""

    name = models.TextField(primary_key=True)
    body = models.BinaryField()

    class Meta:
        db_table = "node_pool"

    def __str__(self) -> str:
        return self.name
