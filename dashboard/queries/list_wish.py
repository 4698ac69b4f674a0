"""What the address of a list asks for: order, facets, an expression, a place to begin.

In: the query of an address, or the key of a topic. Out: a ListWish, and addresses that change one
thing of it. Knows no list: what a facet or an order is called is said by `list_kinds`.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

import msgspec

#: Characters of an expression on a page, of another field, of a place.
LONGEST_FILTER, LONGEST_FIELD, LONGEST_PLACE = 500, 300, 600
#: What every list of things with namespaces can be narrowed to.
NAMESPACE = "namespace"
#: Whatever a person has chosen for all pages.
ALL = "*"
_OWN = frozenset({"sort", "filter", "after"})
_LARGEST = 1 << 63


class ListWish(msgspec.Struct, frozen=True, kw_only=True):
    """One view of a list. Equal wishes are one view, whose viewers share what they are told."""

    #: The name of an order; with "-" before it the largest is first. "": the list's own.
    sort: str = ""
    #: As `/v1` takes it.
    filter: str = ""
    #: Where the page begins: a place in the order, as JSON.
    after: str = ""
    #: What facets and fields ask for, by their names; nothing empty.
    asked: tuple[tuple[str, str], ...] = ()

    @classmethod
    def from_query(cls, query: Mapping[str, str], names: Collection[str]) -> "ListWish":
        """From an address, which may ask for these names; others are not looked at."""
        asked = {
            name: value for name in names if (value := query.get(name, "").strip()[:LONGEST_FIELD])
        }
        return cls(
            sort=query.get("sort", "")[:40],
            filter=query.get("filter", "").strip()[: LONGEST_FILTER + 1],
            after=query.get("after", "")[:LONGEST_PLACE],
            asked=tuple(sorted(asked.items())),
        )

    @property
    def key(self) -> str:
        """As an address has it behind its "?", and a topic as its key."""
        own = {name: getattr(self, name) for name in sorted(_OWN)}
        return urlencode({name: value for name, value in (*own.items(), *self.asked) if value})

    def of(self, name: str) -> str:
        """What a facet or a field is asked for; "" for anything."""
        value = dict(self.asked).get(name, "")
        return "" if value == ALL else value

    @property
    def narrows(self) -> bool:
        """Whether rows may be left out, other than those of pages before."""
        return bool(self.filter) or any(value != ALL for _, value in self.asked)

    def without(self, names: Collection[str]) -> "ListWish":
        """The same page of the same list, not asked for these."""
        kept = tuple((name, value) for name, value in self.asked if name not in names)
        return msgspec.structs.replace(self, asked=kept)

    def changed(self, **changes: str) -> "ListWish":
        """From the first page on, with these changed; "" takes one away."""
        own = {name: changes.pop(name) for name in list(changes) if name in _OWN}
        asked = {**dict(self.asked), **changes}
        kept = tuple(sorted((name, value) for name, value in asked.items() if value))
        return msgspec.structs.replace(self, **{"after": "", **own, "asked": kept})

    def address(self, path: str) -> str:
        """Where it is shown."""
        return f"{path}?{self.key}" if self.key else path

    def fields(self, without: Iterable[str]) -> list[tuple[str, str]]:
        """What a form must carry along that asks for the others anew."""
        left_out = {*without, "after"}
        own = (("sort", self.sort), ("filter", self.filter))
        return [
            (name, value) for name, value in (*own, *self.asked) if value and name not in left_out
        ]

    def place(self, like: Iterable[type]) -> tuple[Any, ...]:
        """Where the page begins; () for the first one, and for what is no such place."""
        try:
            cells = msgspec.json.decode(self.after.encode(), type=list[str | int | bool])
        except (msgspec.DecodeError, UnicodeEncodeError):
            return ()
        kinds = list(like)
        fits = len(cells) == len(kinds) and all(
            type(cell) is kind for cell, kind in zip(cells, kinds, strict=False)
        )
        in_range = all(abs(cell) < _LARGEST for cell in cells if isinstance(cell, int))
        printable = all(cell.isprintable() for cell in cells if isinstance(cell, str))
        return tuple(cells) if fits and in_range and printable else ()


def place_text(place: Iterable[Any]) -> str:
    """A place as an address holds it."""
    return msgspec.json.encode(list(place)).decode()


def narrowed(namespaces: frozenset[str] | None, asked: str) -> frozenset[str] | None:
    """To one namespace, if it may be seen; "" narrows nothing."""
    if not asked:
        return namespaces
    return frozenset({asked}) if namespaces is None or asked in namespaces else frozenset()


def key_fields(key: str) -> dict[str, str]:
    """The query of an address from the key of a topic."""
    return dict(parse_qsl(key))


def space_of(key: str) -> str:
    """The namespace that the key of a topic narrows its list to; "" for none."""
    space = key_fields(key).get(NAMESPACE, "")
    return "" if space == ALL else space
