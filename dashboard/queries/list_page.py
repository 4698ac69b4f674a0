"""One page of a list as its template shows it: rows, facets, heads, and what is said of them.

In: what was read. Out: addresses and words. Reads nothing.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import msgspec
from django.utils.translation import gettext

from dashboard.queries.facets import FacetShown
from dashboard.queries.list_expression import FilterProblem
from dashboard.queries.list_kind import ListColumn, ListKind
from dashboard.queries.list_wish import NAMESPACE, ListWish
from dashboard.wording import number


class ListHead(NamedTuple):
    """The head of one column; `url` sorts by it, "" where one cannot."""

    column: ListColumn
    url: str
    #: As `aria-sort` says it.
    sorted: str

    @property
    def css(self) -> str:
        """Its width, and on which side its text stands."""
        width = f"w-{self.column.width}" if self.column.width else ""
        return (
            gettext("{width} number").format(width=width).strip()
            if self.column.is_number
            else width
        )


class FieldShown(NamedTuple):
    """A field with what it is asked for."""

    name: str
    word: str
    value: str
    opens: str


class ChoiceShown(NamedTuple):
    """A choice with its values; the chosen one is `value`."""

    name: str
    word: str
    value: str
    options: tuple[tuple[str, str], ...]


class FlagShown(NamedTuple):
    """A box that is ticked or not."""

    name: str
    word: str
    is_set: bool


class ListPage(msgspec.Struct, frozen=True, kw_only=True):
    """What a list shows."""

    kind: ListKind
    wish: ListWish
    #: Contexts of the rows, by their keys.
    rows: Mapping[str, Mapping[str, Any]]
    facets: tuple[FacetShown, ...]
    problem: FilterProblem | None
    total: int
    #: What is said first.
    sentence: str
    #: How many fit; None where counting them would mean to read them all.
    fitting: int | None
    next_url: str
    first_url: str
    #: Rows an expression was put to, where the page ended for their number.
    looked_at: int = 0
    #: Rows that were decoded for this page.
    cost: int = 0
    #: How many rows of the record those of the page stand for, and what is said of folded ones.
    shown: int = 0
    folded_told: str = ""

    @property
    def contexts(self) -> list[Mapping[str, Any]]:
        """Of the rows, in their order."""
        return [*self.rows.values()]

    @property
    def folded(self) -> list[FacetShown]:
        """Facets that are not in sight."""
        return [facet for facet in self.facets if not facet.is_open]

    @property
    def fields(self) -> list[FieldShown]:
        """What one may type beside the expression."""
        return [
            FieldShown(field.name, field.word, self.wish.of(field.name), field.opens)
            for field in self.kind.fields
        ]

    @property
    def choices(self) -> list[ChoiceShown]:
        """What one may choose beside the expression."""
        return [
            ChoiceShown(
                each.name,
                each.word,
                self.wish.of(each.name),
                tuple((value, gettext(word)) for value, word in each.words.items()),
            )
            for each in self.kind.choices
        ]

    @property
    def flags(self) -> list[FlagShown]:
        """What one may tick."""
        flags = self.kind.flags.items()
        return [FlagShown(name, word, bool(self.wish.of(name))) for name, word in flags]

    @property
    def carried(self) -> list[tuple[str, str]]:
        """What the form must say besides its fields: a GET form loses the query of its address."""
        typed = ("filter", *self.kind.typed)
        _, _, query = self.whole_url.partition("?")
        return [*parse_qsl(query), *self.wish.fields((*typed, *self.kind.fixed))]

    @property
    def form_path(self) -> str:
        """Where the form leads."""
        return self.whole_url.partition("?")[0]

    @property
    def whole_url(self) -> str:
        """The list as it is when nothing is asked for."""
        return self.kind.address(self.kind.whole(self.wish))

    @property
    def narrows(self) -> bool:
        """Whether rows may be left out, other than those of pages before."""
        return self.kind.narrows(self.wish)

    @property
    def all_url(self) -> str:
        """The whole list, in the same order; within the namespace one has chosen."""
        kept = {NAMESPACE, *self.kind.fixed}
        wider = {name: "" for name in self.kind.names if name not in kept}
        return self.kind.address(self.wish.changed(filter="", **wider))

    @property
    def told_empty(self) -> list[str]:
        """What is said, and offered, where there is nothing at all, in the page's language."""
        icon, title, text, *rest = self.kind.empty
        url, action = rest or ("", "")
        return [icon, gettext(title), gettext(text), url, gettext(action) if action else ""]

    @property
    def no_match(self) -> str:
        """Why there is no row."""
        if self.problem is not None:
            return gettext("The expression cannot be read; see above.")
        if self.looked_at:
            told = gettext("None of {count} rows looked at fits; there are more.")
            return told.format(count=number(self.looked_at))
        told = gettext("No {thing} in what you may see fits this now.")
        return told.format(thing=gettext(self.kind.one))

    @property
    def heads(self) -> list[ListHead]:
        """The heads of the columns, each a link that sorts, or turns the order round."""
        name, is_down = self.kind.order_of(self.wish)
        heads = []
        for column in self.kind.columns:
            order = self.kind.orders.get(column.order)
            if order is None:
                heads.append(ListHead(column, "", ""))
                continue
            is_current = column.order == name
            sort = column.order
            if (not is_down) if is_current else order.is_down:
                sort = f"-{sort}"
            url = self.kind.address(self.wish.changed(sort=sort))
            told = ("descending" if is_down else "ascending") if is_current else "none"
            heads.append(ListHead(column, url, told))
        return heads

    @property
    def told(self) -> str:
        """What part of the list this is."""
        return f"{self._part}; {self.folded_told}" if self.folded_told else self._part

    @property
    def _part(self) -> str:
        shown = number(self.shown)
        if self.problem is not None:
            return gettext("nothing shown: the expression cannot be read")
        if self.looked_at:
            told = (
                gettext("{shown} found among the next {count}")
                if self.wish.after
                else gettext("{shown} found among the first {count}")
            )
            return told.format(shown=shown, count=number(self.looked_at))
        if not self.narrows:
            is_part = self.shown < self.total
            return (
                gettext("{shown} shown").format(shown=shown) if is_part else gettext("all shown")
            )
        of = number(self.total)
        if self.fitting is not None:
            return gettext("{count} of {total} fit").format(count=number(self.fitting), total=of)
        told = (
            gettext("{count} and more of {total} fit")
            if self.next_url
            else gettext("{count} of {total} fit")
        )
        return told.format(count=shown, total=of)
