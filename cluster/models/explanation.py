"""Why nodes were not chosen, for the newest evaluations of each job."""

from django.db import models
from django.urls import reverse

from cluster.models.read_only import ReadOnlyQuerySet, ReadOnlyRow
from scheduler.state.explanation_noun import EXPLANATIONS
from scheduler.structs.explanation import StoredExplanation


class ExplanationRow(ReadOnlyRow):
    """One task group of one evaluation."""

    eval_id = models.CharField("evaluation", max_length=36)
    task_group = models.TextField("group")
    namespace = models.TextField()
    job_id = models.TextField("job")
    stored_index = models.BigIntegerField("index", help_text="Of the write that stored it.")
    job_version = models.BigIntegerField("version", default=0)
    ended = models.SmallIntegerField(
        "ended", default=0, help_text="0: placed, 1: something waits for room, 2: failed."
    )
    size = models.BigIntegerField(default=0, help_text="In bytes, packed.")
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["ExplanationRow"].as_manager()
    put_by = ("cluster.operations.jobs.evaluate_job",)
    removed_by = ("cluster.operations.evaluations.delete_evaluations",)

    class Meta:
        db_table = "explanation"
        verbose_name = "explanation"
        constraints = [
            models.UniqueConstraint(fields=["eval_id", "task_group"], name="explanation_key")
        ]
        indexes = [models.Index(fields=["namespace", "job_id"], name="explanation_of_job")]

    def __str__(self) -> str:
        return f"{self.task_group} of {self.eval_id}"

    def get_absolute_url(self) -> str:
        """The page of the evaluation."""
        return reverse("evaluation", args=[self.eval_id])

    @property
    def value(self) -> StoredExplanation:
        """The explanation, decoded anew at each call; `value.group` unpacks it."""
        return EXPLANATIONS.decode(self.body)
