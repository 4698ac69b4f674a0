"""Rows that were chosen in a list of the admin, on its page or across all of its pages.

In: an action's request. Out: the address of the page that asks before the act, and there the same
rows again: by their keys, or by the filters and the search of the list they were chosen in.
"""

import copy
import hashlib
from typing import Any
from urllib.parse import urlencode

import msgspec
from django.contrib.admin.exceptions import DisallowedModelAdminLookup
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import SuspiciousOperation, ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseRedirect, QueryDict
from django.urls import reverse

from dashboard.admin.rows import ReadOnlyAdmin

#: Rows that one act takes; an address names at most `MAX_NAMED`.
MOST_CHOSEN = 1_000
MAX_NAMED = 200
_PAGE, _ALL = "p", "all"


class ChosenRows(msgspec.Struct, frozen=True):
    """Rows of one choice."""

    rows: tuple[Any, ...]
    #: What names them in an address.
    query: dict[str, str]
    #: Of how many these are the first, where they are too many.
    count: int

    @property
    def is_across(self) -> bool:
        """Whether a list's filters name them, and not their keys."""
        return "of" in self.query

    @property
    def digest(self) -> str:
        """Tells two choices apart."""
        keys = "\n".join(str(row.pk) for row in self.rows)
        return hashlib.sha256(keys.encode()).hexdigest()[:16]

    @property
    def is_too_many(self) -> bool:
        """Whether no act takes so many."""
        return self.count > len(self.rows)


class ChoosingAdmin(ReadOnlyAdmin):
    """A table whose actions lead to a page that asks first."""

    def ask(self, request: HttpRequest, name: str, rows: QuerySet[Any]) -> HttpResponseRedirect:
        """To the page `name`, with the rows of an action."""
        if request.POST.get("select_across") == "1":
            of = request.GET.copy()
            for key in (_PAGE, _ALL):
                of.pop(key, None)
            query = {"of": of.urlencode()}
        else:
            keys = rows.order_by(*self.ordering or ("pk",)).values_list("pk", flat=True)
            query = {"ids": ",".join(str(key) for key in keys[:MAX_NAMED])}
        return HttpResponseRedirect(f"{reverse(name)}?{urlencode(query, safe=',')}")

    def chosen(self, request: HttpRequest) -> ChosenRows:
        """The rows that the address of such a page names; those that are gone are left out."""
        order = self.ordering or ("pk",)
        if "of" in request.GET:
            query = {"of": request.GET["of"]}
            rows = self._rows_of_list(request, query["of"]).order_by(*order)
        else:
            query = {"ids": request.GET.get("ids", "")}
            keys = [key for text in query["ids"].split(",")[:MAX_NAMED] for key in self._key(text)]
            rows = self.get_queryset(request).filter(pk__in=keys).order_by(*order)
        found = list(rows[: MOST_CHOSEN + 1])
        count = len(found) if len(found) <= MOST_CHOSEN else rows.count()
        return ChosenRows(tuple(found[:MOST_CHOSEN]), query, count)

    def _key(self, text: str) -> list[Any]:
        try:
            return [self.model._meta.pk.to_python(text)]
        except ValidationError:
            return []

    def _rows_of_list(self, request: HttpRequest, of: str) -> QuerySet[Any]:
        """What the list shows with these filters, on all its pages; none where they are none."""
        asked = copy.copy(request)
        asked.GET = QueryDict(of)
        try:
            rows: QuerySet[Any] = self.get_changelist_instance(asked).queryset
        except (
            IncorrectLookupParameters,
            DisallowedModelAdminLookup,
            SuspiciousOperation,
            ValidationError,
        ):
            return self.get_queryset(request).none()
        return rows
