"""Parts of long lists straight from the tables: by prefix, namespace and cursor, without the rest.

In: what to list and where to begin. Out: structs in their natural order (http-api.md 2.3), or how
many there are. Rows nobody asked for are neither decoded nor, where an index helps, looked at.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import msgspec

from cluster.store.ports import Key, Listing, Value
from cluster.store.reader import DjangoStateReader
from cluster.store.statements import placeholders
from cluster.store.story_conditions import of_job, with_node, without_hidden
from cluster.store.timestamps import timestamp
from cluster.store.told_columns import (
    OF_NODE,
    SORTED,
    condition,
    counting,
    sorted_by,
    told_by,
)
from scheduler.state import nouns
from scheduler.state.noun import Noun, key_cells
from scheduler.state.scaling_nouns import SCALING_POLICIES
from scheduler.state.service_noun import SERVICES
from scheduler.state.story_nouns import STORIES
from scheduler.state.variable_nouns import VARIABLES
from scheduler.state.volume_nouns import HOST_VOLUMES


class _Order(NamedTuple):
    noun: Noun[Any, Any]
    columns: tuple[str, ...]
    prefixed: str
    #: Columns with an index of their own, of few rows for each value.
    selective: tuple[str, ...] = ()
    #: The first column of the index that rows are counted by: some of its values are rare.
    counted: str = ""

    @property
    def walked(self) -> tuple[str, ...]:
        """Columns whose conditions the index of the order can use."""
        return () if self.columns == _CREATION else self.columns


_CREATION = ("create_index", "id")
_ORDERS: dict[Noun[Any, Any], _Order] = {
    order.noun: order
    for order in (
        _Order(nouns.JOBS, ("namespace", "job_id"), "job_id", counted="status"),
        _Order(nouns.EVALUATIONS, _CREATION, "id", ("id", "previous_eval", "story_id"), "status"),
        _Order(nouns.EVALUATION_STUBS, _CREATION, "id", ("story_id",)),
        _Order(nouns.ALLOCATIONS, _CREATION, "id", ("id", "node_id", "eval_id"), "client_status"),
        _Order(nouns.DEPLOYMENTS, _CREATION, "id", counted="status"),
        _Order(nouns.NODES, ("id",), "id", counted="status"),
        _Order(SCALING_POLICIES, ("id",), "id", ("id",)),
        # The indexes of actor and kind hold the order as well.
        _Order(VARIABLES, ("namespace", "path"), "path"),
        _Order(HOST_VOLUMES, ("namespace", "name", "id"), "id", counted="state"),
        _Order(SERVICES, ("namespace", "service_name", "id"), "service_name"),
        _Order(STORIES, _CREATION, "id", ("id", "actor", "kind")),
    )
}
#: Of which the beginning of a name or of an id may be asked for.
_NAMED = (nouns.NODES, HOST_VOLUMES)
#: By which column people know a row.
_WORDED: dict[Noun[Any, Any], str] = {
    nouns.JOBS: "job_id", nouns.NODES: "name", VARIABLES: "path"
}  # fmt: skip
_OPEN_STATUSES = ("pending", "blocked")
#: As the index of open evaluations knows them.
_IS_OPEN = "status IN ('pending', 'blocked')"
#: So many rows of a namespace are fetched and sorted; of more, the order is walked instead.
_FEW = 1_000
#: Rows in one read of a walk.
_AT_ONCE = 1_000

_Condition = tuple[str, list[Any]]


def page(reader: DjangoStateReader, noun: Noun[Key, Value], listing: Listing) -> list[Value]:
    """Rows of one of the nouns of `_ORDERS`, at most `limit` + 1 of them.

    The one more says that another page follows, and where it begins.
    """
    order = _ORDERS[noun]
    if _is_empty(order, listing):
        return []
    conditions = _conditions(reader, order, listing, _leading(reader, order, listing))
    columns = _columns(order, listing)
    written = [sorted_by(noun, column) for column in columns]
    if listing.after:
        sign = "<=" if listing.reverse else ">="
        text = f"({', '.join(written)}) {sign} ({placeholders(len(columns))})"
        conditions.append((text, _cells(order, columns, listing.after)))
    direction = " DESC" if listing.reverse else ""
    ordering = ", ".join(f"{column}{direction}" for column in written)
    where, parameters = _joined(conditions)
    if listing.limit:
        ordering += " LIMIT %s"
        parameters.append(listing.limit + 1)
    return reader.select(noun, where, parameters, ordering)


def walk(reader: DjangoStateReader, noun: Noun[Key, Value], listing: Listing) -> Iterator[Value]:
    """All rows of the list, read as they are asked for; `limit` of them are read at first."""
    size = min(max(listing.limit, 2) if listing.limit else _AT_ONCE, _AT_ONCE)
    #: Rows of a read that were given before: cursors are inclusive.
    known = 0
    while True:
        rows = page(reader, noun, msgspec.structs.replace(listing, limit=size + known - 1))
        yield from rows[known:]
        if len(rows) < size + known:
            return
        listing = msgspec.structs.replace(listing, after=position(noun, listing, rows[-1]))
        known, size = 1, min(2 * size, _AT_ONCE)


def count(reader: DjangoStateReader, noun: Noun[Key, Value], listing: Listing) -> int:
    """How many rows the whole list has; none is decoded."""
    order = _ORDERS[noun]
    if _is_empty(order, listing):
        return 0
    found = reader.rows(*_plain(reader, "COUNT(*)", order, listing, order.noun.column_names))
    return int(found[0][0])


def facets(
    reader: DjangoStateReader,
    noun: Noun[Key, Value],
    columns: Sequence[str],
    listing: Listing,
    most: int = 0,
) -> dict[tuple[Any, ...], int]:
    """Rows of the whole list, counted by the values of these columns together.

    `most`: of so many values alone, those that most rows have; 0: of all.
    """
    order = _ORDERS[noun]
    known = {*noun.column_names, *told_by(noun)}
    assert set(columns) <= known, f"{noun.table} lacks some of {columns}"
    if _is_empty(order, listing):
        return {}
    # The index that holds all columns is gone through: neither the table, nor that of a node.
    shown = set(order.noun.column_names) - {"node_id"}
    where, parameters = _joined(_conditions(reader, order, listing, shown))
    statement = counting(noun, columns, f" WHERE {where}" if where else "")
    if most:
        statement += f" ORDER BY COUNT(*) DESC, {', '.join(columns)} LIMIT %s"
        parameters.append(most)
    found = reader.rows(statement, parameters)
    return {tuple(row[:-1]): int(row[-1]) for row in found}


def first_ids(reader: DjangoStateReader, noun: Noun[Key, Value], listing: Listing) -> list[str]:
    """The first ids of a list, in their own order; one more than `limit` if there are more."""
    order = _ORDERS[noun]
    if _is_empty(order, listing):
        return []
    statement, parameters = _plain(reader, order.prefixed, order, listing, order.walked)
    ordered = f"{statement} ORDER BY {order.prefixed} LIMIT %s"
    return [str(row[0]) for row in reader.rows(ordered, [*parameters, listing.limit + 1])]


def _is_empty(order: _Order, listing: Listing) -> bool:
    return (
        order.noun is not nouns.NODES and listing.namespaces is not None and not listing.namespaces
    )


def _columns(order: _Order, listing: Listing) -> tuple[str, ...]:
    if listing.sort:
        known = {*order.noun.column_names, *SORTED.get(order.noun, ())}
        assert set(listing.sort) <= known, f"no column: {listing.sort}"
        return tuple(dict.fromkeys((*listing.sort, *order.columns)))
    if listing.by_change:
        assert order.noun is nouns.JOBS, "only jobs have an index for it"
        return ("modify_index", *order.columns)
    if not listing.by_id:
        return order.columns
    # Jobs of several namespaces may have one id.
    return tuple(dict.fromkeys((order.prefixed, *order.noun.key_columns)))


def position(noun: Noun[Key, Value], listing: Listing, row: Value) -> tuple[Any, ...]:
    """Where a row stands in a list: what `after` takes to begin with it."""
    cells = _cell_makers(noun)
    return tuple(cells[column](row) for column in _columns(_ORDERS[noun], listing))


@cache
def _cell_makers(noun: Noun[Any, Any]) -> dict[str, Callable[[Any], Any]]:
    keys = {
        column: partial(_key_cell, noun, place) for place, column in enumerate(noun.key_columns)
    }
    told = {name: of for name, (_, of) in SORTED.get(noun, {}).items()}
    return {**noun.columns, **noun.instants, **keys, **told}


def _key_cell(noun: Noun[Any, Any], place: int, row: Any) -> Any:
    return key_cells(noun.key(row))[place]


def _cells(order: _Order, columns: Sequence[str], after: Sequence[Any]) -> list[Any]:
    """A position as a statement is given it."""
    instants = order.noun.instants
    return [
        timestamp(int(cell)) if column in instants else cell
        for column, cell in zip(columns, after, strict=True)
    ]


def _leading(reader: DjangoStateReader, order: _Order, listing: Listing) -> frozenset[str]:
    """The columns whose index leads to few rows; the order's own index serves all others."""
    if (order.walked or listing.prefix) and not (listing.by_change or listing.sort):
        return frozenset(order.walked)
    for column in order.selective:
        if column in listing.equals:
            return frozenset({column})
    if listing.namespaces is not None and "job_id" in listing.equals:
        return frozenset({"namespace", "job_id"})
    column = ""
    if order.noun is nouns.ALLOCATIONS and set(OF_NODE) & set(listing.equals):
        column = "node_id"
    elif order.counted in listing.equals:
        column = order.counted
    elif listing.namespaces is not None and order.noun is not nouns.NODES:
        column = "namespace"
    return (
        frozenset({column}) if column and _is_few(reader, order, listing, column) else frozenset()
    )


def _is_few(reader: DjangoStateReader, order: _Order, listing: Listing, column: str) -> bool:
    alone = Listing(
        namespaces=listing.namespaces if column == "namespace" else None,
        equals={
            name: value
            for name, value in listing.equals.items()
            if name == column or (column == "node_id" and name in OF_NODE)
        },
    )
    statement, parameters = _plain(reader, "1 AS one", order, alone, (column,))
    bounded = f"SELECT COUNT(*) FROM ({statement} LIMIT {_FEW + 1}) AS bounded"  # noqa: S608 - see `_plain`
    return int(reader.rows(bounded, parameters)[0][0]) <= _FEW


def _plain(
    reader: DjangoStateReader, what: str, order: _Order, listing: Listing, shown: Collection[str]
) -> tuple[str, list[Any]]:
    """A statement about the rows of a list in no order, with the indexes of `shown` columns."""
    where, parameters = _joined(_conditions(reader, order, listing, shown))
    clause = f" WHERE {where}" if where else ""
    return f"SELECT {what} FROM {order.noun.table}{clause}", parameters  # noqa: S608 - names of our own tables only


def _conditions(
    reader: DjangoStateReader, order: _Order, listing: Listing, leading: Collection[str]
) -> list[_Condition]:
    """What a row must fulfil.

    Columns that are not `leading` are hidden from SQLite's choice of an index: for one page it
    would rather read and sort a whole namespace than walk along the order.
    """
    conditions: list[_Condition] = []
    if listing.prefix:
        conditions.append(_prefixed(reader, order, listing.prefix))
    if listing.named:
        assert order.noun in _NAMED, "only these have a name beside their id"
        either = [reader.prefix_condition(column) for column in ("name", "id")]
        text = " OR ".join(either)
        conditions.append((f"({text})", [listing.named] * text.count("%s")))
    if listing.namespaces is not None and order.noun is not nouns.NODES:
        names = sorted(listing.namespaces)
        column = "namespace" if "namespace" in leading else reader.hidden("namespace")
        conditions.append((f"{column} IN ({placeholders(len(names))})", list(names)))
    if listing.words:
        column = _WORDED[order.noun]
        text = f"lower({column}) LIKE %s ESCAPE '!'"
        conditions += ((text, [f"%{_literally(word)}%"]) for word in listing.words)
    conditions += _of_stories(listing)
    for column, value in listing.equals.items():
        if column in told_by(order.noun):
            node_id = "node_id" if "node_id" in leading else reader.hidden("node_id")
            conditions.append(condition(order.noun, column, value, node_id))
            continue
        assert column in order.noun.column_names, f"{order.noun.table} has no column {column}"
        shown = column if column in leading else reader.hidden(column)
        conditions.append((f"{shown} = %s", [value]))
        if order.noun is nouns.EVALUATIONS and column in leading and value in _OPEN_STATUSES:
            conditions.append((_IS_OPEN, []))
    for column, values in listing.among.items():
        assert column in order.noun.column_names, f"{order.noun.table} has no column {column}"
        shown = column if column in leading else reader.hidden(column)
        conditions.append((f"{shown} IN ({placeholders(len(values))})", list(values)))
    return conditions


def _of_stories(listing: Listing) -> list[_Condition]:
    conditions: list[_Condition] = []
    if listing.hidden_kinds:
        conditions.append(without_hidden(listing.hidden_kinds))
    if listing.of_job is not None:
        spaces = listing.namespaces
        if spaces is not None and listing.of_job.namespace not in spaces:
            # Whose job may not be seen, of that no story tells: not even that there is one.
            return [("1 = 0", [])]
        conditions.append(of_job(listing.of_job))
    if listing.with_node:
        conditions.append(with_node(listing.with_node))
    if listing.since:
        conditions.append(("created_at >= %s", [timestamp(listing.since)]))
    return conditions


def _literally(word: str) -> str:
    """Without the meanings that signs have in a pattern."""
    return word.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def _prefixed(reader: DjangoStateReader, order: _Order, prefix: str) -> _Condition:
    # Policies are asked for by any text, not by the digits of an id alone.
    if order.prefixed == "id" and order.noun is not SCALING_POLICIES:
        # No digit of an id comes after `f`, in any collation.
        return "id >= %s AND id < %s", [prefix, f"{prefix}g"]
    text = reader.prefix_condition(order.prefixed)
    return text, [prefix] * text.count("%s")


def _joined(conditions: list[_Condition]) -> tuple[str, list[Any]]:
    parameters = [value for _, values in conditions for value in values]
    return " AND ".join(text for text, _ in conditions), parameters
