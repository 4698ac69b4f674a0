"""Allocations."""

from django.db import models


class AllocationRow(models.Model):
    """One instance of a group on one node."""

    id = models.CharField(primary_key=True, max_length=36)
    namespace = models.TextField()
    job_id = models.TextField()
    job_create_index = models.BigIntegerField()
    job_version = models.BigIntegerField()
    task_group = models.TextField()
    node_id = models.CharField(max_length=36)
    eval_id = models.CharField(max_length=36)
    deployment_id = models.CharField(max_length=36)
    desired_status = models.TextField()
    client_status = models.TextField()
    create_index = models.BigIntegerField()
    modify_index = models.BigIntegerField()
    body = models.BinaryField()

    class Meta:
        db_table = "allocation"
        indexes = [
            models.Index(fields=["namespace", "job_id"], name="allocation_of_job"),
            models.Index(fields=["node_id"], name="allocation_of_node"),
            models.Index(fields=["eval_id"], name="allocation_of_eval"),
            models.Index(
                fields=["deployment_id"],
                name="allocation_of_deployment",
                condition=~models.Q(deployment_id=""),
            ),
            models.Index(fields=["create_index", "id"], name="allocation_by_creation"),
        ]

    def __str__(self) -> str:
        return self.id
