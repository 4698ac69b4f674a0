"""Webhooks in the admin: made, changed, deleted and tried, and what became of each message.

In: forms, selected rows. Out: calls of `cluster.operations.webhooks`, which check right and
content as for programs. Addresses and secrets are shown nowhere.
"""

from typing import Any, NamedTuple

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy
from msgspec.structs import replace

from cluster.models import WebhookRow
from cluster.operations.errors import OperationRefused
from cluster.operations.webhooks import delete_webhook, put_webhook, send_test
from cluster.store.access import StoreAccess, the_store
from cluster.store.audit_entries import Act
from dashboard.acts import note_refusal
from dashboard.admin.drain_form import duration_of
from dashboard.admin.governance import GovernanceAdmin
from dashboard.admin.governance_forms import GovernanceForm
from dashboard.admin.rows import ReadOnlyAdmin, SinceFilter
from dashboard.operator_site import caller_of_request, may
from dashboard.rights import WRITE_OPERATOR
from dashboard.wording import number
from scheduler.access.access import Access
from scheduler.access.caller import Caller
from scheduler.state.webhook_nouns import WEBHOOK_DELIVERIES, WEBHOOKS
from scheduler.structs.webhook import NoticeKind, Webhook

_SECOND = 1_000_000_000
#: Deliveries beside the form.
_SHOWN = 20


class WebhookForm(GovernanceForm):
    """A webhook: where to, signed with what, of what it is told."""

    empty = Webhook()
    url = forms.CharField(
        required=False,
        label="Address",
        widget=forms.TextInput(
            attrs={"class": "vTextField", "spellcheck": "false", "autocomplete": "off"}
        ),
    )
    secret = forms.CharField(
        required=False,
        label=gettext_lazy("Signed with"),
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    kinds = forms.MultipleChoiceField(
        required=False,
        choices=[(kind.value, kind.value.replace("-", " ")) for kind in NoticeKind],
        label=gettext_lazy("Told of"),
        help_text=gettext_lazy("None: of everything."),
        widget=forms.CheckboxSelectMultiple,
    )
    blocked_after = forms.CharField(
        initial="5m",
        label=gettext_lazy("Waits for room"),
        help_text=gettext_lazy("So long, such as 10m or 1h30m, before that is told."),
        widget=forms.TextInput(attrs={"size": 8}),
    )
    is_paused = forms.BooleanField(
        required=False, label=gettext_lazy("Paused: nothing is sent, what waits goes on waiting")
    )

    def __init__(self, data: Any = None, *, stored: Any = None) -> None:
        super().__init__(data, stored=stored)
        if stored is None:
            self.fields["url"].required = True
            self.fields["url"].help_text = gettext("Kept sealed; lists show its host.")
            self.fields["secret"].help_text = gettext(
                "Kept sealed, shown nowhere. Empty: not signed."
            )
        else:
            self.fields["url"].help_text = gettext("Empty: it stays, at {host}.").format(
                host=stored.host
            )
            signed = gettext("it stays") if stored.sealed_secret else gettext("still not signed")
            self.fields["secret"].help_text = gettext("Empty: {signed}.").format(signed=signed)

    def said(self, stored: Webhook) -> dict[str, Any]:
        return {
            **super().said(stored),
            "kinds": list(stored.kinds),
            "blocked_after": _typed_span(stored.blocked_after),
            "is_paused": stored.is_paused,
        }

    def clean_blocked_after(self) -> int:
        """In ns; how long is too long is the operation's word. As it stood, it stays exactly."""
        text = self.cleaned_data["blocked_after"]
        if self.stored is not None and text == _typed_span(self.stored.blocked_after):
            return int(self.stored.blocked_after)
        seconds = duration_of(text)
        if not seconds:
            raise forms.ValidationError(gettext("Write a duration such as 10m."))
        return seconds * _SECOND

    def laid_over(self, before: Webhook) -> Webhook:
        fields = self.cleaned_data
        return replace(
            before,
            kinds=tuple(fields["kinds"]),
            blocked_after=fields["blocked_after"],
            is_paused=fields["is_paused"],
        )

    def wanted(self) -> "TypedWebhook":
        """With address and secret as they were typed."""
        fields = self.cleaned_data
        webhook = super().wanted()
        return TypedWebhook(webhook.name, webhook, fields["url"].strip(), fields["secret"])


def _typed_span(nanoseconds: int) -> str:
    """As people type it: `1h30m`; less than a second is told as `0s`."""
    seconds, parts = nanoseconds // _SECOND, []
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "m"), (1, "s")):
        count, seconds = divmod(seconds, size)
        parts += [f"{count}{unit}"] if count else []
    return "".join(parts) or "0s"


class TypedWebhook(NamedTuple):
    """What a form asks to be stored."""

    name: str
    webhook: Webhook
    url: str
    secret: str


def put_typed(store: StoreAccess, typed: TypedWebhook, *, by: Caller, now: int) -> int:
    """Store what a form asks for; raises OperationRefused."""
    return put_webhook(store, typed.webhook, url=typed.url, secret=typed.secret, by=by, now=now)


class WebhookAdmin(GovernanceAdmin):
    """Whom the cluster tells."""

    noun, form_class, word, page = WEBHOOKS, WebhookForm, "webhook", "webhooks"
    put, remove = put_typed, delete_webhook
    list_reads_bodies = True
    list_display: Any = ("name", "host", "told_of", "is_paused")
    actions = ("test_selected",)
    change_list_template = "admin/cluster/tools_list.html"

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """With the way to a new one, for those who may."""
        may_edit = self.may_edit(caller_of_request(request).access, "")
        tools = (
            [(reverse("admin:cluster_webhookrow_edit"), gettext("New webhook…"))]
            if may_edit
            else []
        )
        return super().changelist_view(request, {"tools": tools, **(extra_context or {})})

    needs = "operator:write"

    def may_edit(self, access: Access, name: str) -> bool:
        del name
        return access.writes("operator")

    def address_of(self, name: str) -> str:
        return reverse("admin:cluster_webhookrow_edit", query={"name": name})

    def edit_view(self, request: HttpRequest) -> HttpResponse:
        """The form; its button beside tries what is stored."""
        name = request.GET.get("name", "")
        if request.method == "POST" and "_test" in request.POST and name:
            if not self.may_edit(caller_of_request(request).access, name):
                raise PermissionDenied(self.refusal(name))
            self._try(request, name)
            return HttpResponseRedirect(self.address_of(name))
        return super().edit_view(request)

    def shown_beside(self, stored: Webhook) -> dict[str, Any]:
        found = the_store().read(
            lambda reader: reader.list_by(WEBHOOK_DELIVERIES, "webhook", stored.name)
        )
        newest = sorted(found, key=lambda each: (each.create_index, each.id), reverse=True)
        return {
            "may_test": True,
            "deliveries": newest[:_SHOWN],
            "more": max(0, len(newest) - _SHOWN),
        }

    @admin.display(description="Host")
    def host(self, row: Any) -> str:
        """Of the address what may be shown."""
        return str(row.value.host)

    @admin.display(description=gettext_lazy("Told of"))
    def told_of(self, row: Any) -> str:
        """The kinds that it asked for."""
        return ", ".join(row.value.kinds) or "everything"

    @admin.display(description="Paused")
    def is_paused(self, row: Any) -> str:
        """Whether nothing is sent."""
        return "yes" if row.value.is_paused else "no"

    def has_test_permission(self, request: HttpRequest) -> bool:
        """Who may try one."""
        return may(request, WRITE_OPERATOR)

    @admin.action(description=gettext_lazy("Send a test"), permissions=["test"])
    def test_selected(self, request: HttpRequest, rows: QuerySet[WebhookRow]) -> None:
        """Have each told a word within seconds; what becomes of it stands among the deliveries."""
        for row in rows:
            self._try(request, row.pk)

    def _try(self, request: HttpRequest, name: str) -> None:
        by = caller_of_request(request)
        means: dict[str, Any] = {
            "now": request.clock.now(),  # type: ignore[attr-defined]  # set by request_context
            "ids": request.ids,  # type: ignore[attr-defined]  # set by request_context
        }
        try:
            send_test(the_store(), name, by=by, **means)
        except OperationRefused as refusal:
            note_refusal(request, by, refusal, Act("test webhook", "webhook", name))
            messages.error(request, f"{name}: {refusal}")
        else:
            messages.success(request, gettext("A test of {name} is on its way.").format(name=name))


class WebhookDeliveryAdmin(ReadOnlyAdmin):
    """What became of messages, newest first."""

    list_reads_bodies = True
    list_display = ("created_at", "webhook", "state", "attempts", "result", "first_line")
    list_filter = ("state", ("created_at", SinceFilter))
    search_fields = ("webhook", "id__startswith")
    ordering = ("-created_at", "id")

    @admin.display(description="Attempts")
    def attempts(self, row: Any) -> str:
        """How often it was sent."""
        return number(row.value.attempts)

    @admin.display(description=gettext_lazy("Newest result"))
    def result(self, row: Any) -> str:
        """What came of the newest attempt."""
        return str(row.value.result or gettext("not sent yet"))

    @admin.display(description="Says")
    def first_line(self, row: Any) -> str:
        """How it begins."""
        return str(next(iter(row.value.lines), ""))
