"""Jobs, their stored versions, counts, submitted texts, and what is left of purged ones."""

from typing import Self

from django.db import models

from cluster.models.fields import NanosecondsField, choices_of
from cluster.models.read_only import ReadOnlyQuerySet, ReadOnlyRow
from cluster.page_addresses import job_url
from scheduler.state import nouns
from scheduler.state.periodic_noun import PERIODIC_LAUNCHES
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, JobStatus, JobSubmission, JobSummary, JobType
from scheduler.structs.periodic_launch import PeriodicLaunch

_REGISTER = "cluster.operations.jobs.register_job"
_DEREGISTER = "cluster.operations.jobs.deregister_job"
_DISPATCH = "cluster.operations.job_dispatch.dispatch_job"
_REVERT = "cluster.operations.job_versions.revert_job"
_TAG = "cluster.operations.job_versions.tag_version"
_LAUNCH = "cluster.operations.periodic.launch_due"
_FORCE = "cluster.operations.periodic.force_launch"


class JobQuerySet(ReadOnlyQuerySet["JobRow"]):
    """Questions to jobs."""

    def pending(self) -> Self:
        """Those that have not run yet."""
        return self.filter(status=JobStatus.PENDING)

    def running(self) -> Self:
        """Those with allocations or evaluations that have not ended."""
        return self.filter(status=JobStatus.RUNNING)

    def dead(self) -> Self:
        """Those that ended, or were stopped."""
        return self.filter(status=JobStatus.DEAD)

    def stopped(self) -> Self:
        """Those that somebody stopped, whatever still runs of them."""
        return self.filter(is_stopped=True)

    def children_of(self, namespace: str, job_id: str) -> Self:
        """What a periodic or parameterized job launched."""
        return self.filter(namespace=namespace, parent_id=job_id)


class JobRow(ReadOnlyRow):
    """The current version of a job."""

    namespace = models.TextField()
    job_id = models.TextField("job")
    type = models.TextField(choices=choices_of(JobType))
    status = models.TextField(choices=choices_of(JobStatus))
    parent_id = models.TextField("parent", help_text="The job that launched it.")
    priority = models.IntegerField(help_text="1 to 100, higher goes first.")
    create_index = models.BigIntegerField()
    modify_index = models.BigIntegerField()
    wanted_count = models.BigIntegerField(
        "count",
        db_default=0,
        help_text="The counts of its groups together, as written in the job; for system jobs"
        " that is per node. Stopped jobs want none of it.",
    )
    is_stopped = models.BooleanField("stopped", db_default=False)
    dispatch_token = models.TextField(
        "idempotency token",
        db_default="",
        help_text="Of a dispatched job: a second dispatch with the same one makes no other.",
    )
    submitted_at = models.DateTimeField("submitted", null=True)
    body = models.BinaryField()

    objects = JobQuerySet.as_manager()
    put_by = (_REGISTER, _DEREGISTER, _DISPATCH, _REVERT)
    removed_by = (_DEREGISTER,)

    class Meta:
        db_table = "job"
        verbose_name = "job"
        constraints = [models.UniqueConstraint(fields=["namespace", "job_id"], name="job_key")]
        indexes = [
            models.Index(fields=["type"], name="job_type"),
            models.Index(fields=["modify_index"], name="job_modified"),
            # What the list is sorted by, and counted by; the latter holds all it is counted by.
            models.Index(fields=["status", "namespace", "job_id"], name="job_by_status"),
            models.Index(fields=["priority", "namespace", "job_id"], name="job_by_priority"),
            models.Index(fields=["submitted_at", "namespace", "job_id"], name="job_by_submission"),
            models.Index(fields=["status", "type", "is_stopped", "namespace"], name="job_counted"),
            models.Index(
                fields=["namespace", "parent_id"],
                name="job_parent",
                condition=~models.Q(parent_id=""),
            ),
            # The id is what jobs are listed by: without it the index of their key would be taken.
            models.Index(
                fields=["namespace", "parent_id", "dispatch_token", "job_id"],
                name="job_dispatch_token",
                condition=~models.Q(dispatch_token=""),
            ),
            models.Index(
                fields=["namespace", "parent_id", "job_id"],
                name="job_live_children",
                condition=~models.Q(parent_id="") & ~models.Q(status=JobStatus.DEAD.value),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.job_id}"

    def get_absolute_url(self) -> str:
        return job_url(JobKey(self.namespace, self.job_id))

    @property
    def value(self) -> Job:
        """The whole job, decoded anew at each call."""
        return nouns.JOBS.decode(self.body)


class JobVersionRow(ReadOnlyRow):
    """One version; kept as long as it is listed or an allocation names it."""

    namespace = models.TextField()
    job_id = models.TextField("job")
    create_index = models.BigIntegerField(
        "job's create index", help_text="Tells incarnations of a purged job apart."
    )
    version = models.BigIntegerField()
    is_listed = models.BooleanField(
        "listed", help_text="Otherwise kept only for the allocations that were made from it."
    )
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["JobVersionRow"].as_manager()
    put_by = (_REGISTER, _REVERT, _TAG)
    removed_by = (_DEREGISTER,)

    class Meta:
        db_table = "job_version"
        verbose_name = "job version"
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "job_id", "create_index", "version"], name="job_version_key"
            )
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.job_id} version {self.version}"

    def get_absolute_url(self) -> str:
        """The page of the job."""
        return job_url(JobKey(self.namespace, self.job_id))

    @property
    def value(self) -> Job:
        """The whole job of that version, decoded anew at each call."""
        return nouns.JOBS.decode(self.body)


class JobSummaryRow(ReadOnlyRow):
    """The counts beside a job."""

    namespace = models.TextField()
    job_id = models.TextField("job")
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["JobSummaryRow"].as_manager()
    put_by = (_REGISTER,)
    removed_by = (_DEREGISTER,)

    class Meta:
        db_table = "job_summary"
        verbose_name = "counts of a job"
        verbose_name_plural = "counts of jobs"
        constraints = [
            models.UniqueConstraint(fields=["namespace", "job_id"], name="job_summary_key")
        ]

    def __str__(self) -> str:
        return f"counts of {self.namespace}/{self.job_id}"

    def get_absolute_url(self) -> str:
        """The page of the job."""
        return job_url(JobKey(self.namespace, self.job_id))

    @property
    def value(self) -> JobSummary:
        """All counts, decoded anew at each call."""
        return nouns.JOB_SUMMARIES.decode(self.body)


class JobSubmissionRow(ReadOnlyRow):
    """The text a version was submitted as."""

    namespace = models.TextField()
    job_id = models.TextField("job")
    version = models.BigIntegerField()
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["JobSubmissionRow"].as_manager()
    put_by = (_REGISTER,)
    removed_by = (_DEREGISTER,)

    class Meta:
        db_table = "job_submission"
        verbose_name = "submitted text"
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "job_id", "version"], name="job_submission_key"
            )
        ]

    def __str__(self) -> str:
        return f"text of {self.namespace}/{self.job_id} version {self.version}"

    def get_absolute_url(self) -> str:
        """The page of the job."""
        return job_url(JobKey(self.namespace, self.job_id))

    @property
    def value(self) -> JobSubmission:
        """The text and its variables, decoded anew at each call."""
        return nouns.JOB_SUBMISSIONS.decode(self.body)


class PeriodicLaunchRow(ReadOnlyRow):
    """How far the launches of a periodic job are decided, and what became of the last ones."""

    namespace = models.TextField()
    job_id = models.TextField("job")
    launched = models.BigIntegerField(help_text="Children that were made in all.")
    last_launch = models.DateTimeField(
        "last launch", null=True, help_text="Before the first one, when it was registered."
    )
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["PeriodicLaunchRow"].as_manager()
    put_by = (_REGISTER, _LAUNCH, _FORCE)
    removed_by = (_DEREGISTER,)

    class Meta:
        db_table = "periodic_launch"
        verbose_name = "launches of a job"
        verbose_name_plural = "launches of jobs"
        constraints = [
            models.UniqueConstraint(fields=["namespace", "job_id"], name="periodic_launch_key")
        ]

    def __str__(self) -> str:
        return f"launches of {self.namespace}/{self.job_id}"

    def get_absolute_url(self) -> str:
        """The page of the job."""
        return job_url(JobKey(self.namespace, self.job_id))

    @property
    def value(self) -> PeriodicLaunch:
        """All of them that are kept, decoded anew at each call."""
        return PERIODIC_LAUNCHES.decode(self.body)


class JobStubRow(ReadOnlyRow):
    """What is left of a purged job, so that old chains can still name it."""

    namespace = models.TextField()
    job_id = models.TextField("job")
    create_index = models.BigIntegerField()
    type = models.TextField(choices=choices_of(JobType))
    version = models.BigIntegerField(help_text="The last one.")
    purged_at = NanosecondsField("purged")
    purge_index = models.BigIntegerField()

    objects = ReadOnlyQuerySet["JobStubRow"].as_manager()
    put_by = (_DEREGISTER,)
    removed_by = ("cluster.store.retention.trim_job_stubs",)

    class Meta:
        db_table = "job_stub"
        verbose_name = "purged job"
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "job_id", "create_index"], name="job_stub_key"
            )
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.job_id}, purged"
