"""Jobs in the admin: what each is, and stopping several at once.

In: selected rows, on one page of the list or on all. Out: the list; the page that asks before jobs
stop, with what that would do.
"""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from cluster.models import JobRow, JobSummaryRow
from cluster.operations.jobs import deregister_job
from cluster.page_addresses import job_url
from cluster.store.access import the_store
from dashboard.admin.act_forms import ReasonForm
from dashboard.admin.act_page import ActingAdmin, AdminAct, moment_of
from dashboard.admin.rows import badge
from dashboard.operator_site import may
from dashboard.rehearsed_acts import stop_change
from dashboard.rights import ADMIN_ACTIONS
from dashboard.texts import plural
from dashboard.wording import count_of, number
from scheduler.structs.identity import JobKey


class JobAdmin(ActingAdmin):
    """Current versions of jobs."""

    word = "job"
    words = plural("{count} job", "{count} jobs")
    columns = ("Namespace", "Status", "Count")
    list_display = (
        "job_id", "namespace", "type", "state", "wanted_count", "priority", "submitted_at",
    )  # fmt: skip
    list_filter = ("status", "type", "is_stopped", "namespace", "submitted_at")
    search_fields = ("job_id",)
    ordering = ("namespace", "job_id")
    actions = ("stop_selected",)

    @property
    def acts(self) -> tuple[AdminAct, ...]:  # type: ignore[override]  # of this very table
        """The page that asks before jobs stop."""
        return (
            AdminAct(
                name="stop",
                title=gettext_noop("Stop jobs"),
                verb=gettext_noop("Stop {rows}"),
                words="stop job",
                right=ADMIN_ACTIONS["stop_selected"],
                form=ReasonForm,
                heading=gettext_noop("Why"),
                told=stop_told,
                carry_out=self.stop,
                ends=True,
                changes=lambda rows, _form: [stop_change(key_of(row)) for row in rows],
            ),
        )

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Those that whoever asks has the right to."""
        return {
            name: action
            for name, action in super().get_actions(request).items()
            if may(request, ADMIN_ACTIONS[name])
        }

    def cells(self, row: Any) -> tuple[str, str, tuple[object, ...]]:
        """Its page, its id, where it is and how it stands."""
        count = number(row.wanted_count)
        return job_url(key_of(row)), row.job_id, (row.namespace, self.state(row), count)

    @admin.action(description=gettext_lazy("Stop selected jobs…"))
    def stop_selected(self, request: HttpRequest, rows: QuerySet[JobRow]) -> HttpResponse:
        """Say what is stopped by it first."""
        return self.ask(request, "admin:cluster_jobrow_stop", rows)

    def stop(self, request: HttpRequest, rows: Sequence[Any], form: Any) -> HttpResponse:
        """Each by itself; one that is refused keeps the others from nothing."""

        def change(row: Any) -> None:
            deregister_job(the_store(), key_of(row), **moment_of(request))

        told = f"Stopped. {form.why()}".strip()
        self.change_all(request, rows, change, told=told, done=gettext("being stopped"))
        return HttpResponseRedirect(reverse("admin:cluster_jobrow_changelist"))

    @admin.display(description="Status", ordering="status")
    def state(self, row: Any) -> SafeString:
        """As a badge."""
        return badge("job", row.status)


def key_of(row: Any) -> JobKey:
    """The job of a row."""
    return JobKey(row.namespace, row.job_id)


def stop_told(_request: HttpRequest, rows: Sequence[Any], _form: Any) -> list[str]:
    """What stopping these jobs concerns, in two reads."""
    keys = {key_of(row) for row in rows}
    ids = {key.job_id for key in keys}
    running = 0
    for summary in JobSummaryRow.objects.filter(job_id__in=ids):
        if JobKey(summary.namespace, summary.job_id) in keys:
            groups = summary.value.summary.values()
            running += sum(group.running + group.starting for group in groups)
    stopped = sum(row.is_stopped for row in rows)
    stay = gettext("The jobs and their versions stay; they can be started again.")
    told = [
        gettext("{allocation} will be stopped. {stay}").format(
            allocation=count_of(running, "{count} allocation", "{count} allocations"), stay=stay
        )
    ]
    if stopped:
        be = "is" if stopped == 1 else "are"
        told.append(
            gettext("{stopped} of them {be} stopped already.").format(
                stopped=number(stopped), be=be
            )
        )
    return told
