"""The facets of a list: how many rows have which value, of those that the other facets leave.

In: rows counted by all their facets together. Out: choices with counts, which add up.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

import msgspec
from django.utils.translation import gettext

from dashboard.queries.list_kind import CLUSTER, BesideFound, Facet, ListKind
from dashboard.queries.list_wish import ALL, NAMESPACE, ListWish
from dashboard.wording import number

#: Of every row, in a facet that is counted beside the others.
_BESIDE = ""
#: Values of a facet that are listed, the most frequent ones.
MOST_VALUES = 20


class FacetChoice(msgspec.Struct, frozen=True, kw_only=True):
    """One value of a facet, or all of them."""

    #: As addresses and expressions have it; "" for all.
    value: str
    word: str
    count: int
    url: str
    is_current: bool
    #: The name of the count, as tests and scripts find it.
    fact: str = ""
    icon: str = ""

    @property
    def text(self) -> str:
        """The count; nothing for none."""
        return number(self.count) if self.count else ""


class FacetShown(msgspec.Struct, frozen=True, kw_only=True):
    """A facet with the values that there are."""

    name: str
    word: str
    choices: tuple[FacetChoice, ...]
    #: The word of what is chosen; "" for all.
    chosen: str
    is_open: bool
    #: Values that are not listed.
    hidden: int = 0
    #: Whether there are more that nobody counted.
    has_further: bool = False


class FacetCounts:
    """The counts of one list, under what is asked for."""

    def __init__(
        self,
        kind: ListKind,
        wish: ListWish,
        tally: Mapping[tuple[Any, ...], int],
        beside: BesideFound,
    ) -> None:
        """`tally` counts rows by `kind.counted`."""
        self._kind, self._wish, self._beside = kind, wish, beside
        self._rows = Counter[tuple[str, ...]]()
        for cells, count in tally.items():
            named = dict(zip(kind.counted, cells, strict=True))
            values = (_BESIDE if each.is_beside else each.value_of(named) for each in kind.facets)
            self._rows[tuple(values)] += count

    def shown(self) -> tuple[FacetShown, ...]:
        """Every facet that could narrow the list, or does."""
        told = (self._shown(place, facet) for place, facet in enumerate(self._kind.facets))
        return tuple(each for each in told if each.is_open or each.chosen or len(each.choices) > 2)

    def within_namespace(self) -> Counter[str]:
        """All rows by their first facet, of one namespace if one is asked for."""
        counts = Counter[str]()
        for values, count in self._rows.items():
            if self._fits(values, (NAMESPACE,)):
                counts[values[0]] += count
        return counts

    def fitting(self) -> int | None:
        """How many all facets leave; None where no column says it."""
        asked = [
            facet.name
            for facet in self._kind.facets
            if self._wish.of(facet.name) and not facet.is_beside
        ]
        besides = [
            self._beside.counts[name, self._wish.of(name)]
            for name in asked
            if (name, self._wish.of(name)) in self._beside.counts
        ]
        if besides:
            narrowing = self._wish.without(self._kind.fixed).asked
            return besides[0] if len(narrowing) == 1 else None
        return sum(count for values, count in self._rows.items() if self._fits(values, asked))

    def _fits(self, values: tuple[str, ...], names: Collection[str]) -> bool:
        return all(
            value == self._wish.of(facet.name) or self._is_of_all(facet, value)
            for facet, value in zip(self._kind.facets, values, strict=True)
            if facet.name in names and self._wish.of(facet.name) and not facet.is_beside
        )

    def _is_of_all(self, facet: Facet, value: str) -> bool:
        """Whether it is the cluster's, and so is shown beside those of any namespace."""
        return self._kind.has_cluster_rows and facet.name == NAMESPACE and value == CLUSTER

    def _shown(self, place: int, facet: Facet) -> FacetShown:
        others = [each.name for each in self._kind.facets if each is not facet]
        counts = Counter[str]()
        for cells, count in self._rows.items():
            if self._fits(cells, others):
                counts[cells[place]] += count
        total = sum(counts.values())
        if facet.is_beside:
            counts, total = Counter[str](), self._beside.counts.get((facet.name, ""), 0)
        counts.update(
            {
                value: count
                for (name, value), count in self._beside.counts.items()
                if name == facet.name and value
            }
        )
        chosen = self._wish.of(facet.name)
        values = self._listed(facet, counts, chosen)
        has_further = facet.name in self._beside.further
        every = FacetChoice(
            value="",
            word=gettext("all"),
            count=total,
            url=self._url(facet, ""),
            is_current=not chosen,
            fact=f"{self._kind.name}-{facet.name}-all" if facet.is_open else "",
        )
        told = tuple(
            FacetChoice(
                value=value, word=self._word(facet, value), count=counts[value],
                url=self._url(facet, value), is_current=value == chosen,
                fact=f"{self._kind.name}-{value}" if facet.is_open else "",
                icon=facet.icons.get(value, ""),
            )
            for value in values[:MOST_VALUES]
        )  # fmt: skip
        return FacetShown(
            name=facet.name, word=facet.word, choices=(every, *told),
            chosen=self._word(facet, chosen), is_open=facet.is_open,
            hidden=0 if has_further else max(len(values) - MOST_VALUES, 0),
            has_further=has_further,
        )  # fmt: skip

    def _word(self, facet: Facet, value: str) -> str:
        told = self._beside.words.get((facet.name, value))
        # Names that people gave are told as they are.
        return told or (gettext(facet.words[value]) if value in facet.words else value)

    @staticmethod
    def _listed(facet: Facet, counts: Counter[str], chosen: str) -> list[str]:
        if facet.is_open and facet.hides_empty:
            return [value for value in facet.words if counts[value] or value == chosen]
        if facet.is_open:
            # All of them, so that nothing moves when one comes or goes.
            others = {*counts, *([chosen] if chosen else [])} - {*facet.words, ""}
            return [*facet.words, *sorted(others)]
        there = {value for value, count in counts.items() if count and value}
        frequent = sorted(there, key=lambda value: (-counts[value], value))
        return [chosen, *(each for each in frequent if each != chosen)] if chosen else frequent

    def _url(self, facet: Facet, value: str) -> str:
        if facet.name == NAMESPACE and not value:
            # Said, or what one has chosen for all pages would narrow it again.
            value = ALL
        return self._kind.address(self._wish.changed(**{facet.name: value}))
