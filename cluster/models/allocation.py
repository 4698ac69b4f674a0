"""Allocations."""

from typing import Self

from django.db import models
from django.urls import reverse

from cluster.models.fields import choices_of
from cluster.models.node import NodeRow
from cluster.models.read_only import ReadOnlyQuerySet, ReadOnlyRow
from scheduler.state import nouns
from scheduler.structs.allocation import (
    CLIENT_TERMINAL,
    Allocation,
    ClientStatus,
    DesiredStatus,
)


class AllocationQuerySet(ReadOnlyQuerySet["AllocationRow"]):
    """Questions to allocations."""

    def live(self) -> Self:
        """Those that are wanted and have not ended."""
        return self.filter(desired_status=DesiredStatus.RUN).exclude(
            client_status__in=CLIENT_TERMINAL
        )

    def pending(self) -> Self:
        """Those that their node has not started."""
        return self.filter(client_status=ClientStatus.PENDING)

    def running(self) -> Self:
        """Those that their node says it runs, wanted or not."""
        return self.filter(client_status=ClientStatus.RUNNING)

    def failed(self) -> Self:
        """Those that failed on their node."""
        return self.filter(client_status=ClientStatus.FAILED)

    def lost(self) -> Self:
        """Those whose node is gone."""
        return self.filter(client_status=ClientStatus.LOST)

    def on(self, node: NodeRow | str) -> Self:
        """Those on a node, which is given as its row or by its id."""
        return self.filter(node_id=node.id if isinstance(node, NodeRow) else node)

    def of_job(self, namespace: str, job_id: str) -> Self:
        """Those of one job, of its earlier incarnations as well."""
        return self.filter(namespace=namespace, job_id=job_id)

    def of_evaluation(self, eval_id: str) -> Self:
        """Those that an evaluation placed or changed last."""
        return self.filter(eval_id=eval_id)

    def of_deployment(self, deployment_id: str) -> Self:
        """Those that count for a deployment."""
        return self.filter(deployment_id=deployment_id)


class AllocationRow(ReadOnlyRow):
    """One instance of a group on one node."""

    id = models.CharField(primary_key=True, max_length=36)
    namespace = models.TextField()
    job_id = models.TextField("job")
    job_create_index = models.BigIntegerField(
        "job's create index", help_text="Tells incarnations of a purged job apart."
    )
    job_version = models.BigIntegerField()
    task_group = models.TextField("group")
    node_id = models.CharField("node", max_length=36)
    eval_id = models.CharField("evaluation", max_length=36)
    deployment_id = models.CharField("deployment", max_length=36)
    desired_status = models.TextField(
        choices=choices_of(DesiredStatus), help_text="What the server wants of it."
    )
    client_status = models.TextField(
        choices=choices_of(ClientStatus), help_text="What has become of it on its node."
    )
    create_index = models.BigIntegerField()
    modify_index = models.BigIntegerField()
    name = models.TextField(db_default="", help_text="job.group[index]")
    desired_transition = models.TextField(
        db_default="",
        help_text="What the scheduler is to do with it: migrate, reschedule, force-reschedule,"
        " no-shutdown-delay, migrate-disable-placement; several are parted by spaces.",
    )
    is_healthy = models.BooleanField(
        "healthy", null=True, help_text="For its deployment; unknown while it is not judged."
    )
    cpu_mhz = models.BigIntegerField(
        "CPU", db_default=0, help_text="MHz it takes of its node; whole cores count with theirs."
    )
    memory_mb = models.BigIntegerField(
        "memory", db_default=0, help_text="MiB it takes of its node."
    )
    restart_count = models.BigIntegerField(
        "restarts", db_default=0, help_text="Of all its tasks, on its node."
    )
    created_at = models.DateTimeField("created", null=True)
    modified_at = models.DateTimeField("modified", null=True)
    body = models.BinaryField()

    objects = AllocationQuerySet.as_manager()
    put_by = (
        "cluster.operations.jobs.register_job",
        "cluster.operations.allocations.stop_allocation",
    )
    removed_by = ("cluster.operations.garbage.reap",)

    class Meta:
        db_table = "allocation"
        verbose_name = "allocation"
        indexes = [
            models.Index(
                fields=["namespace", "job_id", "create_index", "id"], name="allocation_of_job"
            ),
            models.Index(fields=["node_id"], name="allocation_of_node"),
            models.Index(fields=["eval_id"], name="allocation_of_eval"),
            models.Index(
                fields=["deployment_id"],
                name="allocation_of_deployment",
                condition=~models.Q(deployment_id=""),
            ),
            models.Index(fields=["create_index", "id"], name="allocation_by_creation"),
            # What lists are sorted by, and counted by; the latter holds all they are counted by.
            models.Index(
                fields=["modify_index", "create_index", "id"], name="allocation_by_change"
            ),
            models.Index(
                fields=["client_status", "desired_status", "namespace", "node_id"],
                name="allocation_counted",
            ),
            # Crash loops are looked for among these few.
            models.Index(
                fields=["restart_count"],
                name="allocation_restarted",
                condition=models.Q(restart_count__gt=0),
            ),
        ]

    def __str__(self) -> str:
        return self.name or self.id

    def get_absolute_url(self) -> str:
        return reverse("allocation", args=[self.id])

    @property
    def value(self) -> Allocation:
        """The whole allocation, decoded anew at each call."""
        return nouns.ALLOCATIONS.decode(self.body)
