"""Where a page of a list begins and goes on: the parts of an order, and places in it.

In: a ListKind, a ListWish, what columns can answer. Out: Listings that follow each other, places.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from cluster.operations.filter_columns import known_columns
from cluster.operations.filter_expression import Filter
from cluster.store.ports import Listing, RecordReader
from dashboard.queries.list_kind import ListKind
from dashboard.queries.list_wish import ListWish
from scheduler.state import nouns
from scheduler.state.noun import Noun
from scheduler.state.service_noun import SERVICES
from scheduler.state.variable_nouns import VARIABLES
from scheduler.state.volume_nouns import HOST_VOLUMES

_NUMBERS = frozenset(
    {
        "create_index",
        "modify_index",
        "priority",
        "cpu_mhz",
        "memory_mb",
        "submitted_at",
        "name_length",
    }
)
_BY_CREATION = ("create_index", "id")
_NATURAL: Mapping[Noun[Any, Any], tuple[str, ...]] = {
    nouns.JOBS: ("namespace", "job_id"),
    nouns.NODES: ("id",),
    HOST_VOLUMES: ("namespace", "name", "id"),
    SERVICES: ("namespace", "service_name", "id"),
    VARIABLES: ("namespace", "path"),
}
#: A row, and in which part of the order it stands.
Placed = tuple[int, Any]


def parts_of(
    kind: ListKind, wish: ListWish, listing: Listing, given: Filter | None
) -> list[tuple[int, Listing]]:
    """The parts of the order from where the page begins, with what an expression says of columns.

    One in which no row can be is left out.
    """
    name, is_down = kind.order_of(wish)
    order = kind.orders[name]
    parts = list(enumerate(order.parts))
    if is_down != order.is_down:
        parts.reverse()
    columns = dict.fromkeys((*listing.sort, *_NATURAL.get(kind.noun, _BY_CREATION)))
    like = [int if column in _NUMBERS else str for column in columns]
    has_parts = len(parts) > 1
    place = wish.place([int, *like] if has_parts else like)
    start, after = (place[0], place[1:]) if has_parts and place else (parts[0][0], place)
    numbers = [number for number, _ in parts]
    parts = parts[numbers.index(start) :] if start in numbers else []
    said = list(known_columns(kind.noun, given))
    found = []
    for number, equal in parts:
        told = msgspec.structs.replace(listing, after=after if number == start else ())
        narrowed = _narrowed(told, [*equal.items(), *said])
        if narrowed is not None:
            found.append((number, narrowed))
    return found


def _narrowed(listing: Listing, said: Iterable[tuple[str, str | bool]]) -> Listing | None:
    """With what else columns must be; None where nothing can be both."""
    equals = dict(listing.equals)
    for column, value in said:
        if equals.setdefault(column, value) != value:
            return None
    return msgspec.structs.replace(listing, equals=equals)


def place_of(
    reader: RecordReader, kind: ListKind, wish: ListWish, listing: Listing,
    follows: Placed | None,
) -> tuple[Any, ...]:  # fmt: skip
    """Where the next page begins; () for nowhere."""
    if follows is None:
        return ()
    part, row = follows
    place = reader.place_in(kind.noun, listing, row)
    return (part, *place) if len(kind.orders[kind.order_of(wish)[0]].parts) > 1 else place
