"""Acts on the whole cluster in the admin: the scheduler's settings, and a collection now.

In: a valid form. Out: calls of `cluster.operations`, which check the right; what was done, told.
"""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from msgspec.structs import replace

from cluster.models import AllocationRow, DeploymentRow, EvaluationRow, JobRow, NodeRow
from cluster.operations.errors import OperationRefused
from cluster.operations.garbage import demand_collection
from cluster.operations.scheduler_settings import set_scheduler_settings
from cluster.store.access import the_store
from cluster.store.audit_entries import Act
from dashboard.acts import note_refusal
from dashboard.admin.act_forms import ActForm
from dashboard.admin.act_page import ActingAdmin, AdminAct, moment_of
from dashboard.admin.inside import CollectionAdmin, NamedAdmin
from dashboard.operator_site import caller_of_request
from dashboard.rights import EVERYTHING, WRITE_OPERATOR
from dashboard.wording import count_of, number, one_of
from scheduler.structs.scheduler_settings import (
    PreemptionConfig,
    SchedulerAlgorithm,
    SchedulerSettings,
)

_TYPED = "pause"
_INDEX_DIGITS = 18


def _check(label: str) -> forms.BooleanField:
    return forms.BooleanField(required=False, label=label, label_suffix="")


class SettingsForm(ActForm):
    """All settings of the scheduler; they are stored whole."""

    algorithm = forms.ChoiceField(
        choices=[(each.value, each.value) for each in SchedulerAlgorithm],
        label="Nodes are filled by",
    )
    system = _check("System jobs move lower priorities aside")
    sysbatch = _check("Sysbatch jobs move lower priorities aside")
    batch = _check("Batch jobs move lower priorities aside")
    service = _check("Services move lower priorities aside")
    memory = _check("Memory may be oversubscribed")
    reject = _check("Jobs are refused")
    paused = _check("The scheduler is paused: nothing is decided")
    typed = forms.CharField(
        required=False,
        label="Confirm",
        help_text=f"Type {_TYPED} where the scheduler is to be paused.",
        widget=forms.TextInput(attrs={"size": 8, "autocomplete": "off"}),
    )
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def wanted(self, stored: SchedulerSettings) -> SchedulerSettings:
        """What a valid form asks for."""
        fields = self.cleaned_data
        return replace(
            stored,
            scheduler_algorithm=fields["algorithm"],
            preemption_config=PreemptionConfig(
                system_scheduler_enabled=fields["system"],
                sys_batch_scheduler_enabled=fields["sysbatch"],
                batch_scheduler_enabled=fields["batch"],
                service_scheduler_enabled=fields["service"],
            ),
            memory_oversubscription_enabled=fields["memory"],
            reject_job_registration=fields["reject"],
            pause_eval_broker=fields["paused"],
        )


def stored_settings() -> SchedulerSettings:
    """As they stand."""
    return the_store().read(lambda reader: reader.scheduler_settings())


def settings_initial() -> dict[str, Any]:
    """The form of the settings as they stand."""
    stored = stored_settings()
    config = stored.preemption_config
    return {
        "algorithm": stored.scheduler_algorithm,
        "system": config.system_scheduler_enabled,
        "sysbatch": config.sys_batch_scheduler_enabled,
        "batch": config.batch_scheduler_enabled,
        "service": config.service_scheduler_enabled,
        "memory": stored.memory_oversubscription_enabled,
        "reject": stored.reject_job_registration,
        "paused": stored.pause_eval_broker,
        "seen": stored.modify_index,
    }


def settings_told(_request: HttpRequest, _rows: Sequence[Any], _form: Any) -> list[str]:
    """What a change of the settings concerns."""
    blocked = EvaluationRow.objects.blocked().count()
    pending = EvaluationRow.objects.pending().count()
    waiting = f"{number(pending)} pending and {number(blocked)} blocked evaluations now"
    asked = "the algorithm, memory, and whom services and batch jobs move aside"
    return [
        f"It counts from the next evaluation on: {waiting}. What runs stays where it is.",
        f"A rehearsal asks about {asked}.",
    ]


def settings_changes(_rows: Sequence[Any], form: Any) -> list[dict[str, Any]]:
    """What the form asks to rehearse."""
    fields = form.cleaned_data
    return [
        {
            "Settings": {
                "SchedulerAlgorithm": fields["algorithm"],
                "MemoryOversubscriptionEnabled": fields["memory"],
                "PreemptionConfig": {
                    "ServiceSchedulerEnabled": fields["service"],
                    "BatchSchedulerEnabled": fields["batch"],
                },
            }
        }
    ]


class SchedulerSettingsAdmin(ActingAdmin, NamedAdmin):
    """The scheduler's settings: to read, and to change."""

    word = "setting"

    @property
    def acts(self) -> tuple[AdminAct, ...]:  # type: ignore[override]  # of this very table
        """The page with all of them."""
        return (
            AdminAct(
                name="settings", title="Change settings", verb="Save",
                words="change scheduler settings", right=WRITE_OPERATOR, form=SettingsForm,
                heading="Settings", told=settings_told, carry_out=self.save,
                changes=settings_changes, is_of_table=True, initial=settings_initial,
                kept="The audit keeps who changed them",
            ),
        )  # fmt: skip

    def save(self, request: HttpRequest, _rows: Any, form: SettingsForm) -> HttpResponse | None:
        """Store them, unless somebody changed them meanwhile."""
        stored, fields = stored_settings(), form.cleaned_data
        if fields["paused"] and not stored.pause_eval_broker and fields["typed"] != _TYPED:
            form.add_error("typed", f"Type {_TYPED} to pause the scheduler.")
            return None
        moment = moment_of(request)
        is_index = fields["seen"].isdecimal() and len(fields["seen"]) <= _INDEX_DIGITS
        seen = int(fields["seen"]) if is_index else -1
        try:
            written = set_scheduler_settings(
                the_store(), form.wanted(stored), expected_index=seen,
                by=moment["by"], now=moment["now"],
            )  # fmt: skip
        except OperationRefused as refusal:
            note_refusal(request, moment["by"], refusal, Act("change scheduler settings"))
            form.add_error(None, f"Nothing was changed: {refusal}.")
            return None
        if not written.updated:
            form.add_error(
                None,
                "Nothing was changed: somebody changed the settings since you opened this page."
                " Open it again to see how they stand.",
            )
            return None
        messages.success(request, "The settings are stored. They count from the next evaluation.")
        return HttpResponseRedirect(reverse("admin:cluster_schedulersettingsrow_changelist"))


def collection_told(_request: HttpRequest, _rows: Sequence[Any], _form: Any) -> list[str]:
    """What has ended, of which a collection takes what nothing that lives needs."""
    allocations, rollouts = AllocationRow.objects, DeploymentRow.objects
    ended = [
        count_of(EvaluationRow.objects.ended().count(), "evaluation"),
        count_of(allocations.count() - allocations.live().count(), "allocation"),
        count_of(JobRow.objects.dead().count(), "job"),
        count_of(rollouts.count() - rollouts.active().count(), "rollout"),
        count_of(NodeRow.objects.down().count(), "lost node"),
    ]
    return [
        f"Ended or lost are {one_of(ended, 'and')}.",
        "All of it goes that nothing needs which lives: it cannot be looked at any more.",
        "What runs, and jobs with a tagged version, stay, however old.",
        "There is nothing to rehearse: no allocation moves by it.",
    ]


class CollectingAdmin(ActingAdmin, CollectionAdmin):
    """The newest run of each kind of collection, and one more now."""

    word = "collection"

    @property
    def acts(self) -> tuple[AdminAct, ...]:  # type: ignore[override]  # of this very table
        """The page that asks first."""
        return (
            AdminAct(
                name="collect", title="Collect now", verb="Collect", words="collect garbage",
                right=EVERYTHING, form=ActForm, heading="", told=collection_told,
                carry_out=self.collect, is_of_table=True, ends=True,
                kept="The audit keeps who asked for it",
            ),
        )  # fmt: skip

    def collect(self, request: HttpRequest, _rows: Any, form: ActForm) -> HttpResponse | None:
        """Have all that may go collected."""
        by, now = caller_of_request(request), moment_of(request)["now"]
        try:
            demand_collection(the_store(), by=by, now=now)
        except OperationRefused as refusal:
            note_refusal(request, by, refusal, Act("collect garbage"))
            form.add_error(None, f"Nothing is collected: {refusal}.")
            return None
        messages.success(request, "What nobody needs any more is being collected.")
        return HttpResponseRedirect(reverse("admin:cluster_collectionrow_changelist"))
