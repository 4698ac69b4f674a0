"""Rows of the record in the admin: to be found, read and followed to their pages; never edited.

In: rows. Out: lists and read-only forms. A row's value is shown as JSON; secrets and hashes are
shown nowhere. Every table can be looked at without a class of its own: its columns are the list.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
from django.contrib import admin
from django.contrib.admin.utils import quote
from django.db import models
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import URLPattern, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy

from cluster.models.fields import NanosecondsField
from dashboard import wording
from dashboard.labels import label_for
from dashboard.operator_site import may_see_table

if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Any]
else:
    _ModelAdmin = admin.ModelAdmin

#: Fields of values that stay in the record, by their wire names; and such columns.
_SECRET_FIELDS = frozenset(
    {"SecretID", "NomadTokenID", "OIDCClientSecret", "Sealed", "SealedURL", "SealedSecret"}
)
_SECRET_COLUMNS = frozenset({"secret_hash", "sealed"})
#: Columns that hold the id of a row of another table, and the address part of that table.
_TABLES = {
    "node_id": "noderow",
    "eval_id": "evaluationrow",
    "previous_eval": "evaluationrow",
    "deployment_id": "deploymentrow",
}
_NS = 1_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Characters of a value that a page shows.
_LONGEST = 200_000


class ReadOnlyAdmin(_ModelAdmin):
    """Lists and read-only forms of one table."""

    exclude = ("body",)
    list_per_page = 50
    #: The form leads to the live page by itself.
    view_on_site = False
    #: Counting a long table for its list costs more than it tells.
    show_full_result_count = False
    #: Bodies are most of a row; only lists that tell something of them read them.
    list_reads_bodies = False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Under the name that people use."""
        words = str(self.opts.verbose_name_plural)
        context = {"title": words[:1].upper() + words[1:], **(extra_context or {})}
        return super().changelist_view(request, context)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Lists leave the bodies where they are."""
        rows: QuerySet[Any] = super().get_queryset(request)
        match = request.resolver_match
        is_list = match is not None and (match.url_name or "").endswith("_changelist")
        has_body = any(field.name == "body" for field in self.opts.fields)
        return rows.defer("body") if is_list and has_body and not self.list_reads_bodies else rows

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        """The columns, with dates; where the table has none of its own choice, all of them."""
        del request
        return self._listed

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Whether an address may narrow the list by it: by nothing that lists do not show."""
        is_shown = lookup.partition("__")[0] not in _SECRET_COLUMNS | {"body"}
        return is_shown and super().lookup_allowed(lookup, value, request)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Whether the table stands on the front page."""
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Whoever has the right that the table asks for."""
        del obj
        return may_see_table(request, self.model)

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

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[Any]:
        """Where it leads, the columns, and the whole value."""
        del request, obj
        fields: list[Any] = [self._shown(name, is_linked=True) for name in self._columns()]
        if hasattr(self.model, "get_absolute_url"):
            fields.insert(0, "live_page")
        return [*fields, "record"] if self._has_record() else fields

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[Any, ...]:
        """In the same order."""
        return tuple(self.get_readonly_fields(request, obj))

    @admin.display(description=gettext_lazy("Live page"))
    def live_page(self, row: Any) -> SafeString:
        """A link out of the admin."""
        address = row.get_absolute_url()
        return format_html('<a href="{}">{}</a>', address, address)

    @admin.display(description="Record")
    def record(self, row: Any) -> SafeString:
        """The value as JSON."""
        told = _without_secrets(msgspec.to_builtins(self.told(row)))
        text = msgspec.json.format(msgspec.json.encode(told), indent=2).decode()
        if len(text) > _LONGEST:
            text = gettext("{text}\n... {text2} more characters").format(
                text=text[:_LONGEST], text2=wording.number(len(text) - _LONGEST)
            )
        return format_html('<pre class="record" tabindex="0">{}</pre>', text)

    def told(self, row: Any) -> object:
        """What the record shows of a row."""
        return row.value

    @cached_property
    def _listed(self) -> list[Any]:
        """Made once: Django sorts by a column only where it meets the same function again."""
        named = self.list_display
        chosen = self._columns() if tuple(named) == ("__str__",) else named
        return [self._shown(name) for name in chosen]

    def _columns(self) -> list[str]:
        hidden = _SECRET_COLUMNS | {"body"}
        own_key = {field.name for field in self.opts.fields if isinstance(field, models.AutoField)}
        return [field.name for field in self.opts.fields if field.name not in hidden | own_key]

    def _has_record(self) -> bool:
        return isinstance(getattr(self.model, "value", None), property)

    def _shown(self, name: Any, *, is_linked: bool = False) -> Any:
        field = next((field for field in self.opts.fields if field.name == name), None)
        if isinstance(field, NanosecondsField | models.DateTimeField):
            return _column(field, date)
        if isinstance(field, models.BooleanField):
            return _column(field, _word)
        if is_linked and field is not None and not field.primary_key and name in _TABLES:
            return _column(field, _link_to(self.admin_site.name, _TABLES[name]))
        return name


class ListOnlyAdmin(ReadOnlyAdmin):
    """A list without pages of its rows: their keys are hashes, which no address may hold."""

    list_display_links = None

    def get_urls(self) -> list[URLPattern]:
        """The list alone."""
        return [url for url in super().get_urls() if str(url.name).endswith("_changelist")]


class ValuesFilter(admin.AllValuesFieldListFilter):
    """Every value that rows have, with a word for the empty one."""

    def choices(self, changelist: Any) -> Any:
        """As its base, with text in each link."""
        for choice in super().choices(changelist):
            shown = str(choice["display"])
            empty = not shown or shown.startswith(" (")
            yield {**choice, "display": f"none{shown}"} if empty else choice


class SinceFilter(admin.FieldListFilter):
    """Rows by the age of an instant that is kept in ns."""

    _AGES = (
        ("hour", gettext_lazy("Past hour"), 3600),
        ("day", gettext_lazy("Past day"), 86_400),
        ("week", gettext_lazy("Past 7 days"), 604_800),
    )

    def __init__(self, field: Any, request: HttpRequest, *given: Any, **named: Any) -> None:
        self._name = f"{field.name}__since"
        self._now: int = request.clock.now()  # type: ignore[attr-defined]  # set by request_context
        super().__init__(field, request, *given, **named)
        given_ages: Any = self.used_parameters.get(self._name) or [""]
        self._chosen = str(given_ages[-1])

    def expected_parameters(self) -> list[str | None]:
        """Its one parameter."""
        return [self._name]

    def choices(self, changelist: Any) -> Any:
        """Any time, and each age."""
        for word, text, _ in (("", gettext("Any time"), 0), *self._AGES):
            yield {
                "selected": self._chosen == word,
                "query_string": changelist.get_query_string({self._name: word or None}),
                "display": text,
            }

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Those that are young enough."""
        del request
        seconds = {word: seconds for word, _, seconds in self._AGES}.get(self._chosen)
        if seconds is None:
            return queryset
        return queryset.filter(**{f"{self.field.name}__gte": self._now - seconds * _NS})


def badge(kind: str, status: str) -> SafeString:
    """A status as on the pages."""
    label = label_for(kind, status)
    context = {"label": label, "word": label.word}
    return SafeString(render_to_string("dashboard/partials/_badge.html", context))


def _column(field: Any, told: Callable[[Any], SafeString | str]) -> Callable[[Any], object]:
    """A column under its own heading and order, its values told by a function."""

    @admin.display(description=field.verbose_name, ordering=field.name)
    def shown(row: Any) -> SafeString | str:
        return told(getattr(row, field.name))

    shown.__name__ = field.name
    return shown


def date(kept: Any) -> SafeString | str:
    """An instant, in ns or as a moment; a dash for none."""
    if not kept:
        return wording.NONE
    instant = kept if isinstance(kept, int) else int((kept - _EPOCH).total_seconds()) * _NS
    return format_html(
        '<time datetime="{}">{}</time>',
        wording.machine_time(instant),
        wording.full_time(instant),
    )


def _word(kept: object) -> str:
    """A plain word: Django's red cross would read as a fault where `no` is the normal case."""
    if kept is None:
        return "unknown"
    return "yes" if kept else "no"


def _link_to(site: str, table: str) -> Callable[[Any], SafeString | str]:
    """Tells ids of rows of a table as links to their forms."""

    def told(key: str) -> SafeString | str:
        if not key:
            return wording.NONE
        address = reverse(f"{site}:cluster_{table}_change", args=[quote(key)])
        return format_html('<a href="{}">{}</a>', address, key)

    return told


def _without_secrets(told: Any) -> Any:
    """A document without the fields that hold secrets or their hashes, at any depth."""
    if isinstance(told, dict):
        return {
            key: _without_secrets(item)
            for key, item in told.items()
            if key not in _SECRET_FIELDS
        }  # fmt: skip
    if isinstance(told, list | tuple):
        return [_without_secrets(item) for item in told]
    return told
