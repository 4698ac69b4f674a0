"""Bounds within which groups may be scaled, and what was made of them."""

from django.db import models

from cluster.models.read_only import ReadOnlyQuerySet, ReadOnlyRow
from cluster.page_addresses import job_url
from scheduler.state.scaling_nouns import SCALING_EVENTS, SCALING_POLICIES
from scheduler.structs.identity import JobKey
from scheduler.structs.scaling import ScalingEvent
from scheduler.structs.task_group import ScalingPolicy

_REGISTER = "cluster.operations.jobs.register_job"
_DEREGISTER = "cluster.operations.jobs.deregister_job"


class ScalingPolicyRow(ReadOnlyRow):
    """The policy of a group, as the current version of its job has it."""

    id = models.CharField(primary_key=True, max_length=36)
    namespace = models.TextField()
    job_id = models.TextField("job")
    task_group = models.TextField()
    type = models.TextField()
    is_enabled = models.BooleanField("enabled")
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["ScalingPolicyRow"].as_manager()
    put_by = (_REGISTER, _DEREGISTER)
    removed_by = (_REGISTER, _DEREGISTER)

    class Meta:
        db_table = "scaling_policy"
        verbose_name = "scaling policy"
        verbose_name_plural = "scaling policies"
        indexes = [
            models.Index(fields=["namespace", "job_id"], name="scaling_policy_of_job"),
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.job_id} group {self.task_group}"

    def get_absolute_url(self) -> str:
        """The page of the job."""
        return job_url(JobKey(self.namespace, self.job_id))

    @property
    def value(self) -> ScalingPolicy:
        """The whole policy, decoded anew at each call."""
        return SCALING_POLICIES.decode(self.body)


class ScalingEventRow(ReadOnlyRow):
    """A group was scaled, or why it was not."""

    namespace = models.TextField()
    job_id = models.TextField("job")
    create_index = models.BigIntegerField()
    task_group = models.TextField()
    happened_at = models.DateTimeField("when", null=True)
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["ScalingEventRow"].as_manager()
    put_by = ("cluster.operations.scaling.scale_job",)
    removed_by = (_DEREGISTER,)

    class Meta:
        db_table = "scaling_event"
        verbose_name = "scaling event"
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "job_id", "create_index"], name="scaling_event_key"
            )
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.job_id} group {self.task_group} at {self.create_index}"

    def get_absolute_url(self) -> str:
        """The page of the job."""
        return job_url(JobKey(self.namespace, self.job_id))

    @property
    def value(self) -> ScalingEvent:
        """The whole event, decoded anew at each call."""
        return SCALING_EVENTS.decode(self.body)
