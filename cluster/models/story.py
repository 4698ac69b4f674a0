"""Stories: what one cause set going, and which nodes have part in it."""

from typing import Self

from django.db import models

from cluster.models.fields import choices_of
from cluster.models.read_only import ReadOnlyQuerySet, ReadOnlyRow
from scheduler.state.story_nouns import STORIES, STORY_NODES
from scheduler.structs.story import Story, StoryKind, StoryNode


class StoryQuerySet(ReadOnlyQuerySet["StoryRow"]):
    """Questions to stories."""

    def of_job(self, namespace: str, job_id: str) -> Self:
        """Those that a job, or what was done to it, set going."""
        return self.filter(namespace=namespace, job_id=job_id)


class StoryRow(ReadOnlyRow):
    """What began. How far it came is told by the evaluations that name it."""

    id = models.CharField(primary_key=True, max_length=36)
    kind = models.TextField(choices=choices_of(StoryKind))
    namespace = models.TextField(help_text="Empty when it concerns the cluster.")
    job_id = models.TextField("job")
    parent_job_id = models.TextField(
        "parent job", help_text="Of a job that was launched or dispatched."
    )
    actor = models.TextField("who", help_text="Empty when nobody asked for it.")
    create_index = models.BigIntegerField()
    modify_index = models.BigIntegerField()
    created_at = models.DateTimeField("began", null=True)
    modified_at = models.DateTimeField("modified", null=True)
    body = models.BinaryField()

    objects = StoryQuerySet.as_manager()
    put_by = (
        "cluster.operations.jobs.register_job",
        "cluster.operations.nodes.drain_node",
    )
    removed_by = ("cluster.store.retention.trim_stories",)

    class Meta:
        db_table = "story"
        verbose_name = "story"
        verbose_name_plural = "stories"
        indexes = [
            models.Index(fields=["create_index", "id"], name="story_by_creation"),
            # What the list is sorted by, and counted by; the latter holds all it is counted by.
            models.Index(fields=["kind", "create_index", "id"], name="story_by_kind"),
            models.Index(fields=["actor", "create_index", "id"], name="story_by_actor"),
            models.Index(
                fields=["namespace", "job_id", "create_index", "id"], name="story_by_job"
            ),
            models.Index(fields=["kind", "actor", "namespace", "id"], name="story_counted"),
            models.Index(
                fields=["namespace", "job_id", "create_index"],
                name="story_of_job",
                condition=~models.Q(job_id=""),
            ),
            models.Index(
                fields=["namespace", "parent_job_id", "create_index"],
                name="story_of_parent_job",
                condition=~models.Q(parent_job_id=""),
            ),
        ]

    def __str__(self) -> str:
        return self.id

    @property
    def value(self) -> Story:
        """The whole story, decoded anew at each call."""
        return STORIES.decode(self.body)


class StoryNodeRow(ReadOnlyRow):
    """A node that has part in a story."""

    node_id = models.CharField("node", max_length=36)
    story_id = models.CharField("story", max_length=36)
    kind = models.TextField(choices=choices_of(StoryKind))
    linked_index = models.BigIntegerField("index")
    is_current = models.BooleanField(help_text="It is the newest story of the node.")
    linked_at = models.DateTimeField("linked", null=True)
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["StoryNodeRow"].as_manager()
    put_by = ("cluster.operations.nodes.drain_node",)
    removed_by = ("cluster.store.retention.trim_stories",)

    class Meta:
        db_table = "story_node"
        verbose_name = "node of a story"
        verbose_name_plural = "nodes of stories"
        constraints = [
            models.UniqueConstraint(fields=["node_id", "story_id"], name="story_node_key")
        ]
        indexes = [
            models.Index(fields=["story_id"], name="story_node_of_story"),
            models.Index(
                fields=["node_id"], name="story_node_current", condition=models.Q(is_current=True)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.node_id} in {self.story_id}"

    @property
    def value(self) -> StoryNode:
        """The whole link, decoded anew at each call."""
        return STORY_NODES.decode(self.body)
