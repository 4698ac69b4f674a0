"""Rows of the record in the admin: to be found, read and followed to their pages; never edited.

In: rows. Out: lists and read-only forms. A row's body is shown as JSON, secrets left out.
"""

from typing import TYPE_CHECKING, Any

import msgspec
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from cluster.store import codec
from cluster.store.codec import Noun
from dashboard.labels import label_for

if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Any]
else:
    _ModelAdmin = admin.ModelAdmin

#: Fields of a body that stay in the record.
_SECRET = frozenset({"SecretID"})


class ReadOnlyDesk(_ModelAdmin):
    """Lists and read-only forms of one table."""

    noun: Noun[Any]
    #: What people call a row, and several; Django would name the table's class.
    words: tuple[str, str]
    #: Of a row's live page.
    address: str
    exclude = ("body",)
    list_per_page = 50
    #: Counting a long table for its list costs more than it tells.
    show_full_result_count = False

    def __init__(self, model: type[Model], site: admin.AdminSite) -> None:
        super().__init__(model, site)
        self.opts.verbose_name, self.opts.verbose_name_plural = self.words

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Under the name that people use."""
        title = self.words[1].capitalize()
        context = {"title": title, **(extra_context or {})}
        return super().changelist_view(request, context)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Operations make rows."""
        del request
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Operations change rows."""
        del request, obj
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Garbage collection deletes rows."""
        del request, obj
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[str]:
        """The columns, where it leads, and the whole body."""
        del request, obj
        columns = [field.name for field in self.model._meta.fields if field.name != "body"]
        return ["live_page", *columns, "record"]

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """In the same order."""
        return tuple(self.get_readonly_fields(request, obj))

    @admin.display(description="Live page")
    def live_page(self, row: Any) -> SafeString:
        """A link out of the admin."""
        address = self.address_of(row)
        return format_html('<a href="{}">{}</a>', address, address)

    def address_of(self, row: Any) -> str:
        """Where its live page is."""
        return self.address.format(row=row)

    @admin.display(description="Record")
    def record(self, row: Any) -> SafeString:
        """The body as JSON."""
        fields = msgspec.to_builtins(self.noun.decode(row.body))
        told = {key: value for key, value in fields.items() if key not in _SECRET}
        text = msgspec.json.format(msgspec.json.encode(told), indent=2).decode()
        return format_html('<pre class="record" tabindex="0">{}</pre>', text)


def badge(kind: str, status: str) -> SafeString:
    """A status as on the pages."""
    label = label_for(kind, status)
    context = {"label": label, "word": label.word}
    return SafeString(render_to_string("dashboard/partials/_badge.html", context))


class JobDesk(ReadOnlyDesk):
    """Jobs."""

    noun = codec.JOB
    words = "job", "jobs"
    list_display = ("job_id", "namespace", "type", "state", "priority", "modify_index")
    list_filter = ("type", "status", "namespace")
    search_fields = ("job_id",)
    ordering = ("namespace", "job_id")

    def address_of(self, row: Any) -> str:
        """Ids may hold what an address may not."""
        return reverse("job", args=[row.namespace, row.job_id])

    @admin.display(description="Status", ordering="status")
    def state(self, row: Any) -> SafeString:
        """As a badge."""
        return badge("job", row.status)


class EvaluationDesk(ReadOnlyDesk):
    """Evaluations."""

    noun = codec.EVALUATION
    words = "evaluation", "evaluations"
    address = "/evaluations/{row.id}/"
    list_display = ("short", "state", "job_id", "namespace", "triggered_by", "create_index")
    list_filter = ("status", "triggered_by", "type")
    search_fields = ("id__startswith", "job_id")
    ordering = ("-create_index", "-id")

    @admin.display(description="Evaluation", ordering="id")
    def short(self, row: Any) -> str:
        """Its first characters."""
        return str(row.id)[:8]

    @admin.display(description="Status", ordering="status")
    def state(self, row: Any) -> SafeString:
        """As a badge."""
        return badge("evaluation", row.status)


class AllocationDesk(ReadOnlyDesk):
    """Allocations."""

    noun = codec.ALLOCATION
    words = "allocation", "allocations"
    address = "/allocations/{row.id}/"
    list_display = ("short", "state", "desired_status", "job_id", "task_group", "node_id")
    list_filter = ("client_status", "desired_status")
    search_fields = ("id__startswith", "job_id", "node_id__startswith")
    ordering = ("-create_index", "-id")

    @admin.display(description="Allocation", ordering="id")
    def short(self, row: Any) -> str:
        """Its first characters."""
        return str(row.id)[:8]

    @admin.display(description="Status", ordering="client_status")
    def state(self, row: Any) -> SafeString:
        """As a badge."""
        return badge("allocation", row.client_status)
