"""Webhooks in the admin: whom the cluster tells, what became of it, and a word to try one.

In: selected rows. Out: calls of `cluster.operations.webhooks`, which check the right. Addresses
and secrets are shown nowhere.
"""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from cluster.models import WebhookRow
from cluster.operations.errors import OperationRefused
from cluster.operations.webhooks import send_test
from cluster.store.access import the_store
from cluster.store.audit_entries import Act
from dashboard.acts import note_refusal
from dashboard.admin.inside import NamedAdmin
from dashboard.admin.rows import ReadOnlyAdmin, SinceFilter
from dashboard.operator_site import caller_of_request, may
from dashboard.rights import WRITE_OPERATOR
from dashboard.wording import number


class WebhookAdmin(NamedAdmin):
    """Whom the cluster tells."""

    list_reads_bodies = True
    list_display = ("name", "host", "told_of", "is_paused")
    actions = ("test_selected",)

    @admin.display(description="Host")
    def host(self, row: Any) -> str:
        """Of the address what may be shown."""
        return str(row.value.host)

    @admin.display(description="Told of")
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

    @admin.action(description="Send a test", permissions=["test"])
    def test_selected(self, request: HttpRequest, rows: QuerySet[WebhookRow]) -> None:
        """Have each told a word within seconds; what becomes of it stands among the deliveries."""
        by = caller_of_request(request)
        means: dict[str, Any] = {
            "now": request.clock.now(),  # type: ignore[attr-defined]  # set by request_context
            "ids": request.ids,  # type: ignore[attr-defined]  # set by request_context
        }
        for row in rows:
            try:
                send_test(the_store(), row.pk, by=by, **means)
            except OperationRefused as refusal:
                note_refusal(request, by, refusal, Act("test webhook", "webhook", row.pk))
                messages.error(request, f"{row.pk}: {refusal}")
            else:
                messages.success(request, f"A test of {row.pk} is on its way.")


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

    @admin.display(description="Newest result")
    def result(self, row: Any) -> str:
        """What came of the newest attempt."""
        return str(row.value.result or "not sent yet")

    @admin.display(description="Says")
    def first_line(self, row: Any) -> str:
        """How it begins."""
        return str(next(iter(row.value.lines), ""))
