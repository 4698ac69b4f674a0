"""Acts on the whole cluster in the admin: the scheduler's settings, and a collection now.

In: a valid form. Out: calls of `cluster.operations`, which check the right; what was done, told.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy, gettext_noop
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
from dashboard.texts import plural
from dashboard.wording import count_of, number, one_of
from scheduler.structs.scheduler_settings import (
    PreemptionConfig,
    SchedulerAlgorithm,
    SchedulerSettings,
)

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

_TYPED = "pause"
_INDEX_DIGITS = 18


def _check(label: "StrOrPromise") -> forms.BooleanField:
    return forms.BooleanField(required=False, label=label, label_suffix="")


class SettingsForm(ActForm):
    """All settings of the scheduler; they are stored whole."""

    algorithm = forms.ChoiceField(
        choices=[(each.value, each.value) for each in SchedulerAlgorithm],
        label=gettext_lazy("Nodes are filled by"),
    )
    system = _check(gettext_lazy("System jobs move lower priorities aside"))
    sysbatch = _check(gettext_lazy("Sysbatch jobs move lower priorities aside"))
    batch = _check(gettext_lazy("Batch jobs move lower priorities aside"))
    service = _check(gettext_lazy("Services move lower priorities aside"))
    memory = _check(gettext_lazy("Memory may be oversubscribed"))
    reject = _check(gettext_lazy("Jobs are refused"))
    paused = _check(gettext_lazy("The scheduler is paused: nothing is decided"))
    typed = forms.CharField(
        required=False,
        label="Confirm",
        widget=forms.TextInput(attrs={"size": 8, "autocomplete": "off"}),
    )
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        told = gettext("Type {typed} where the scheduler is to be paused.").format(typed=_TYPED)
        self.fields["typed"].help_text = told

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
    waiting = gettext("{pending} pending and {blocked} blocked evaluations now").format(
        pending=number(pending), blocked=number(blocked)
    )
    asked = gettext("the algorithm, memory, and whom services and batch jobs move aside")
    return [
        gettext(
            "It counts from the next evaluation on: {waiting}. What runs stays where it is."
        ).format(waiting=waiting),
        gettext("A rehearsal asks about {asked}.").format(asked=asked),
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
    words = plural("{count} setting", "{count} settings")

    @property
    def acts(self) -> tuple[AdminAct, ...]:  # type: ignore[override]  # of this very table
        """The page with all of them."""
        return (
            AdminAct(
                name="settings", title=gettext_noop("Change settings"), verb=gettext_noop("Save"),
                words="change scheduler settings", right=WRITE_OPERATOR, form=SettingsForm,
                heading=gettext_noop("Settings"), told=settings_told, carry_out=self.save,
                changes=settings_changes, is_of_table=True, initial=settings_initial,
                kept=gettext_noop("The audit keeps who changed them"),
            ),
        )  # fmt: skip

    def save(self, request: HttpRequest, _rows: Any, form: SettingsForm) -> HttpResponse | None:
        """Store them, unless somebody changed them meanwhile."""
        stored, fields = stored_settings(), form.cleaned_data
        if fields["paused"] and not stored.pause_eval_broker and fields["typed"] != _TYPED:
            form.add_error(
                "typed", gettext("Type {typed} to pause the scheduler.").format(typed=_TYPED)
            )
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
            form.add_error(
                None, gettext("Nothing was changed: {refusal}.").format(refusal=refusal)
            )
            return None
        if not written.updated:
            form.add_error(
                None,
                gettext(
                    "Nothing was changed: somebody changed the settings since you opened this"
                    " page."
                    " Open it again to see how they stand."
                ),
            )
            return None
        messages.success(
            request, gettext("The settings are stored. They count from the next evaluation.")
        )
        return HttpResponseRedirect(reverse("admin:cluster_schedulersettingsrow_changelist"))


def collection_told(_request: HttpRequest, _rows: Sequence[Any], _form: Any) -> list[str]:
    """What has ended, of which a collection takes what nothing that lives needs."""
    allocations, rollouts = AllocationRow.objects, DeploymentRow.objects
    ended = [
        count_of(
            EvaluationRow.objects.ended().count(), "{count} evaluation", "{count} evaluations"
        ),
        count_of(
            allocations.count() - allocations.live().count(),
            "{count} allocation",
            "{count} allocations",
        ),
        count_of(JobRow.objects.dead().count(), "{count} job", "{count} jobs"),
        count_of(
            rollouts.count() - rollouts.active().count(), "{count} rollout", "{count} rollouts"
        ),
        count_of(NodeRow.objects.down().count(), "{count} lost node", "{count} lost nodes"),
    ]
    return [
        gettext("Ended or lost are {ended}.").format(ended=one_of(ended, "and")),
        gettext("All of it goes that nothing needs which lives: it cannot be looked at any more."),
        gettext("What runs, and jobs with a tagged version, stay, however old."),
        gettext("There is nothing to rehearse: no allocation moves by it."),
    ]


class CollectingAdmin(ActingAdmin, CollectionAdmin):
    """The newest run of each kind of collection, and one more now."""

    word = "collection"
    words = plural("{count} collection", "{count} collections")

    @property
    def acts(self) -> tuple[AdminAct, ...]:  # type: ignore[override]  # of this very table
        """The page that asks first."""
        return (
            AdminAct(
                name="collect",
                title=gettext_noop("Collect now"),
                verb=gettext_noop("Collect"),
                words="collect garbage",
                right=EVERYTHING,
                form=ActForm,
                heading="",
                told=collection_told,
                carry_out=self.collect,
                is_of_table=True,
                ends=True,
                kept=gettext_noop("The audit keeps who asked for it"),
            ),
        )

    def collect(self, request: HttpRequest, _rows: Any, form: ActForm) -> HttpResponse | None:
        """Have all that may go collected."""
        by, now = caller_of_request(request), moment_of(request)["now"]
        try:
            demand_collection(the_store(), by=by, now=now)
        except OperationRefused as refusal:
            note_refusal(request, by, refusal, Act("collect garbage"))
            form.add_error(
                None, gettext("Nothing is collected: {refusal}.").format(refusal=refusal)
            )
            return None
        messages.success(request, gettext("What nobody needs any more is being collected."))
        return HttpResponseRedirect(reverse("admin:cluster_collectionrow_changelist"))
