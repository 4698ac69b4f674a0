"""Jobs, their stored versions, counts, submitted texts, and what is left of purged ones."""

from django.db import models


class JobRow(models.Model):
    """The current version of a job."""

    namespace = models.TextField()
    job_id = models.TextField()
    type = models.TextField()
    status = models.TextField()
    parent_id = models.TextField()
    priority = models.IntegerField()
    submit_time = models.BigIntegerField()
    create_index = models.BigIntegerField()
    modify_index = models.BigIntegerField()
    body = models.BinaryField()

    class Meta:
        db_table = "job"
        constraints = [models.UniqueConstraint(fields=["namespace", "job_id"], name="job_key")]
        indexes = [
            models.Index(fields=["type"], name="job_type"),
            models.Index(fields=["modify_index"], name="job_modified"),
            models.Index(
                fields=["namespace", "parent_id"],
                name="job_parent",
                condition=~models.Q(parent_id=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.job_id}"


class JobVersionRow(models.Model):
    """One version; kept as long as it is listed or an allocation names it."""

    namespace = models.TextField()
    job_id = models.TextField()
    create_index = models.BigIntegerField()
    version = models.BigIntegerField()
    is_listed = models.BooleanField()
    body = models.BinaryField()

    class Meta:
        db_table = "job_version"
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "job_id", "create_index", "version"], name="job_version_key"
            )
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.job_id} version {self.version}"


class JobSummaryRow(models.Model):
    """The counts beside a job."""

    namespace = models.TextField()
    job_id = models.TextField()
    body = models.BinaryField()

    class Meta:
        db_table = "job_summary"
        constraints = [
            models.UniqueConstraint(fields=["namespace", "job_id"], name="job_summary_key")
        ]

    def __str__(self) -> str:
        return f"counts of {self.namespace}/{self.job_id}"


class JobSubmissionRow(models.Model):
    """The text a version was submitted as."""

    namespace = models.TextField()
    job_id = models.TextField()
    version = models.BigIntegerField()
    body = models.BinaryField()

    class Meta:
        db_table = "job_submission"
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "job_id", "version"], name="job_submission_key"
            )
        ]

    def __str__(self) -> str:
        return f"text of {self.namespace}/{self.job_id} version {self.version}"


class JobStubRow(models.Model):
    """What is left of a purged job, so that old chains can still name it."""

    namespace = models.TextField()
    job_id = models.TextField()
    create_index = models.BigIntegerField()
    type = models.TextField()
    version = models.BigIntegerField()
    purged_at = models.BigIntegerField()
    purge_index = models.BigIntegerField()

    class Meta:
        db_table = "job_stub"
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "job_id", "create_index"], name="job_stub_key"
            )
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.job_id}, purged"
