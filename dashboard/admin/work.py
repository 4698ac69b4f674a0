"""The tables of the work: jobs, what decides about them, and what runs of them.

In: rows. Out: lists with the statuses of the pages. Lists go by an index of the table.
"""

from typing import Any

from django.contrib import admin
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy

from dashboard.admin.rows import ReadOnlyAdmin, ValuesFilter, badge
from dashboard.wording import NONE, clipped, number, short_id

#: Characters of a message that a list shows.
_MESSAGE = 120


class JobVersionAdmin(ReadOnlyAdmin):
    """Versions of jobs."""

    list_display = ("job_id", "namespace", "version", "is_listed", "create_index")
    list_filter = ("is_listed", "namespace")
    search_fields = ("job_id",)
    ordering = ("namespace", "job_id", "create_index", "-version")


class JobSummaryAdmin(ReadOnlyAdmin):
    """Counts of jobs."""

    list_reads_bodies = True
    list_display = ("job_id", "namespace", "running", "queued", "ended")
    list_filter = ("namespace",)
    search_fields = ("job_id",)
    ordering = ("namespace", "job_id")

    @admin.display(description="Running")
    def running(self, row: Any) -> str:
        """Allocations that run, of all groups."""
        return number(sum(group.running for group in row.value.summary.values()))

    @admin.display(description="Waiting")
    def queued(self, row: Any) -> str:
        """Wanted ones without a place, and those that are starting."""
        return number(sum(group.queued + group.starting for group in row.value.summary.values()))

    @admin.display(description=gettext_lazy("Failed or lost"))
    def ended(self, row: Any) -> str:
        """Allocations that ended badly."""
        return number(sum(group.failed + group.lost for group in row.value.summary.values()))


class JobSubmissionAdmin(ReadOnlyAdmin):
    """The texts versions were submitted as."""

    list_display = ("job_id", "namespace", "version")
    list_filter = ("namespace",)
    search_fields = ("job_id",)
    ordering = ("namespace", "job_id", "-version")


class PeriodicLaunchAdmin(ReadOnlyAdmin):
    """What became of the launches of periodic jobs."""

    list_display = ("job_id", "namespace", "launched", "last_launch")
    list_filter = ("namespace", "last_launch")
    search_fields = ("job_id",)
    ordering = ("namespace", "job_id")


class EvaluationAdmin(ReadOnlyAdmin):
    """Evaluations, and what is left of collected ones."""

    list_display = (
        "short", "state", "job_id", "namespace", "triggered_by", "priority", "created_at",
        "wait_until",
    )  # fmt: skip
    list_filter = ("status", "triggered_by", "type", "created_at")
    search_fields = ("id__startswith", "job_id")
    ordering = ("-create_index", "-id")

    @admin.display(description="Evaluation", ordering="id")
    def short(self, row: Any) -> str:
        """Its first characters."""
        return short_id(row.id)

    @admin.display(description="Status", ordering="status")
    def state(self, row: Any) -> SafeString:
        """As a badge."""
        return badge("evaluation", row.status)


class CollectedAdmin(EvaluationAdmin):
    """What is left of collected evaluations; by age, for which the table has an index."""

    ordering = ("-modify_index", "-id")


class AllocationAdmin(ReadOnlyAdmin):
    """Allocations, ended ones included."""

    list_display = (
        "short", "state", "wanted", "name", "node", "is_healthy", "cpu_mhz", "memory_mb",
        "restart_count", "created_at",
    )  # fmt: skip
    list_filter = ("client_status", "desired_status", "is_healthy", "created_at")
    search_fields = ("id__startswith", "job_id", "node_id__startswith")
    ordering = ("-create_index", "-id")

    @admin.display(description="Allocation", ordering="id")
    def short(self, row: Any) -> str:
        """Its first characters."""
        return short_id(row.id)

    @admin.display(description="Status", ordering="client_status")
    def state(self, row: Any) -> SafeString:
        """As a badge."""
        return badge("allocation", row.client_status)

    @admin.display(description="Wanted", ordering="desired_status")
    def wanted(self, row: Any) -> str:
        """What the server wants of it."""
        return str(row.desired_status)

    @admin.display(description="Node", ordering="node_id")
    def node(self, row: Any) -> str:
        """The first characters of its id."""
        return short_id(row.node_id)


class DeploymentAdmin(ReadOnlyAdmin):
    """Deployments, ended ones included."""

    list_display = (
        "short", "state", "job_id", "namespace", "waits_for_promotion", "created_at",
        "modified_at",
    )  # fmt: skip
    list_filter = ("status", "waits_for_promotion", "namespace", "created_at")
    search_fields = ("id__startswith", "job_id")
    ordering = ("-create_index", "-id")

    @admin.display(description="Deployment", ordering="id")
    def short(self, row: Any) -> str:
        """Its first characters."""
        return short_id(row.id)

    @admin.display(description="Status", ordering="status")
    def state(self, row: Any) -> SafeString:
        """As a badge."""
        return badge("deployment", row.status)


class LifecycleAdmin(ReadOnlyAdmin):
    """Steps of evaluations."""

    list_reads_bodies = True
    list_display = ("eval_id", "number", "step", "actor")
    search_fields = ("eval_id__startswith",)
    ordering = ("-id",)

    @admin.display(description="Step")
    def step(self, row: Any) -> str:
        """What happened, in a word."""
        return str(row.value.step.value)

    @admin.display(description="By")
    def actor(self, row: Any) -> str:
        """Who did it."""
        return str(row.value.actor)


class ExplanationAdmin(ReadOnlyAdmin):
    """Why nodes were not chosen, unpacked."""

    list_display = ("eval_id", "task_group", "job_id", "namespace", "stored_index")
    list_filter = ("namespace",)
    search_fields = ("eval_id__startswith", "job_id")
    ordering = ("-id",)

    def told(self, row: Any) -> object:
        """What is packed inside."""
        return row.value.group


class ScalingPolicyAdmin(ReadOnlyAdmin):
    """Bounds within which groups may be scaled."""

    list_display = ("id", "job_id", "namespace", "task_group", "type", "is_enabled")
    list_filter = ("is_enabled", "type", "namespace")
    search_fields = ("id__startswith", "job_id")
    ordering = ("namespace", "job_id", "task_group")


class ScalingEventAdmin(ReadOnlyAdmin):
    """What became of scaling groups, newest first."""

    list_reads_bodies = True
    list_display = ("happened_at", "job_id", "namespace", "task_group", "change", "message")
    list_filter = ("namespace", "happened_at")
    search_fields = ("job_id",)
    ordering = ("-create_index",)

    @admin.display(description="Count")
    def change(self, row: Any) -> str:
        """From how many to how many; a dash for a note."""
        event = row.value
        if event.count is None:
            return NONE
        return gettext("{previous_count} to {count}").format(
            previous_count=number(event.previous_count), count=number(event.count)
        )

    @admin.display(description="Message")
    def message(self, row: Any) -> str:
        """In the words of whoever scaled."""
        return clipped(row.value.message, _MESSAGE)


class StoryAdmin(ReadOnlyAdmin):
    """What began, where and by whom."""

    list_display = ("id", "kind", "namespace", "job_id", "actor", "created_at", "create_index")
    list_filter = ("kind", ("namespace", ValuesFilter))
    search_fields = ("id__startswith", "job_id", "actor")
    ordering = ("-create_index", "id")


class StoryNodeAdmin(ReadOnlyAdmin):
    """Which nodes have part in which stories."""

    list_display = ("story_id", "node_id", "kind", "linked_at", "is_current")
    list_filter = ("kind", "is_current")
    search_fields = ("story_id__startswith", "node_id__startswith")
    ordering = ("-id",)


class ServiceAdmin(ReadOnlyAdmin):
    """Where services of allocations listen."""

    list_display = ("service_name", "namespace", "job_id", "alloc_id", "node_id")
    list_filter = ("namespace",)
    search_fields = ("service_name", "=job_id", "alloc_id__startswith")
    ordering = ("namespace", "service_name", "id")


class HostVolumeAdmin(ReadOnlyAdmin):
    """Directories that were made for groups on demand."""

    list_display = ("name", "namespace", "state", "node_id", "plugin_id", "created_at")
    list_filter = ("namespace", "state", "plugin_id")
    search_fields = ("name", "id__startswith", "node_id__startswith")
    ordering = ("namespace", "name", "id")


class VolumeClaimAdmin(ReadOnlyAdmin):
    """Groups of jobs that stick to a volume."""

    list_display = ("job_id", "task_group_name", "namespace", "volume_id")
    list_filter = ("namespace",)
    search_fields = ("=job_id", "volume_id__startswith")
    ordering = ("namespace", "job_id", "task_group_name", "id")
