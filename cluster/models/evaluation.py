"""Evaluations, and what is left of collected ones."""

from typing import Self, TypeVar

from django.db import models
from django.urls import reverse

from cluster.models.fields import choices_of
from cluster.models.read_only import ReadOnlyQuerySet, ReadOnlyRow
from scheduler.state import nouns
from scheduler.structs.evaluation import CauseKind, EvalStatus, EvalTrigger, Evaluation
from scheduler.structs.job import JobType

OPEN_STATUSES = (EvalStatus.PENDING.value, EvalStatus.BLOCKED.value)


class EvaluationColumns(ReadOnlyRow):
    """What both kinds can be found by."""

    id = models.CharField(primary_key=True, max_length=36)
    namespace = models.TextField()
    job_id = models.TextField("job")
    type = models.TextField(
        choices=choices_of(JobType), help_text="Which scheduler runs it: the job's type."
    )
    triggered_by = models.TextField(choices=choices_of(EvalTrigger))
    status = models.TextField(choices=choices_of(EvalStatus))
    previous_eval = models.CharField("previous evaluation", max_length=36)
    deployment_id = models.CharField("deployment", max_length=36)
    cause_kind = models.TextField(choices=choices_of(CauseKind))
    cause_id = models.TextField("cause")
    create_index = models.BigIntegerField()
    modify_index = models.BigIntegerField()
    priority = models.IntegerField(
        db_default=0, help_text="Of the job: 1 to 100, higher goes first."
    )
    created_at = models.DateTimeField("created", null=True)
    modified_at = models.DateTimeField("modified", null=True)
    story_id = models.CharField("story", max_length=36, db_default="")
    wait_until = models.DateTimeField(
        "waits until", null=True, help_text="Before this moment no scheduler takes it."
    )
    body = models.BinaryField()

    class Meta:
        abstract = True

    def get_absolute_url(self) -> str:
        """Its page, which also tells of collected ones."""
        return reverse("evaluation", args=[self.id])

    @property
    def value(self) -> Evaluation:
        """The whole evaluation, decoded anew at each call."""
        return nouns.EVALUATIONS.decode(self.body)


Row = TypeVar("Row", bound=EvaluationColumns)


class EvaluationQuerySet(ReadOnlyQuerySet[Row]):
    """Questions to evaluations."""

    def open(self) -> Self:
        """Those that have not ended: they wait for a scheduler, or for room."""
        return self.filter(status__in=OPEN_STATUSES)

    def pending(self) -> Self:
        """Those that wait for a scheduler."""
        return self.filter(status=EvalStatus.PENDING)

    def blocked(self) -> Self:
        """Those that wait for room."""
        return self.filter(status=EvalStatus.BLOCKED)

    def ended(self) -> Self:
        """Complete, failed or canceled ones."""
        return self.exclude(status__in=OPEN_STATUSES)

    def of_job(self, namespace: str, job_id: str) -> Self:
        """Those of one job, of its earlier incarnations as well."""
        return self.filter(namespace=namespace, job_id=job_id)


class EvaluationRow(EvaluationColumns):
    """An evaluation of the record."""

    objects = EvaluationQuerySet["EvaluationRow"].as_manager()
    put_by = ("cluster.operations.jobs.evaluate_job", "cluster.operations.nodes.evaluate_node")
    removed_by = (
        "cluster.operations.evaluations.delete_evaluations",
        "cluster.operations.garbage.reap",
    )

    class Meta:
        db_table = "evaluation"
        verbose_name = "evaluation"
        indexes = [
            # Holds what the page of a job counts its evaluations by, and finds its stories by.
            models.Index(
                fields=[
                    "namespace",
                    "job_id",
                    "create_index",
                    "status",
                    "triggered_by",
                    "story_id",
                ],
                name="eval_of_job",
            ),
            models.Index(fields=["create_index", "id"], name="eval_by_creation"),
            # What lists are sorted by, and counted by; the latter holds all they are counted by.
            models.Index(fields=["priority", "create_index", "id"], name="eval_by_priority"),
            models.Index(
                fields=["status", "triggered_by", "type", "namespace"], name="eval_counted"
            ),
            # What was usual at an hour.
            models.Index(fields=["modified_at", "created_at", "status"], name="eval_by_end"),
            models.Index(
                fields=["status"],
                name="eval_open",
                condition=models.Q(status__in=OPEN_STATUSES),
            ),
            models.Index(
                fields=["previous_eval"],
                name="eval_of_previous",
                condition=~models.Q(previous_eval=""),
            ),
            models.Index(
                fields=["cause_id"], name="eval_of_cause", condition=~models.Q(cause_id="")
            ),
            models.Index(fields=["story_id", "create_index"], name="eval_of_story"),
        ]

    def __str__(self) -> str:
        return self.id


class EvaluationStubRow(EvaluationColumns):
    """A collected evaluation without its explanations: chains keep their root."""

    objects = EvaluationQuerySet["EvaluationStubRow"].as_manager()
    put_by = ("cluster.operations.evaluations.delete_evaluations",)
    removed_by = ("cluster.store.retention.trim_stubs",)

    class Meta:
        db_table = "evaluation_stub"
        verbose_name = "collected evaluation"
        indexes = [
            models.Index(fields=["namespace", "job_id"], name="eval_stub_of_job"),
            models.Index(fields=["modify_index"], name="eval_stub_by_age"),
            models.Index(fields=["modified_at", "created_at", "status"], name="eval_stub_by_end"),
            models.Index(fields=["story_id", "create_index"], name="eval_stub_of_story"),
        ]

    def __str__(self) -> str:
        return f"{self.id}, collected"
