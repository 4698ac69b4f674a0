"""Pages of long lists straight from the tables: by prefix, namespace and cursor, without the rest.

In: what to list and where to begin. Out: structs in their natural order (http-api.md 2.3), one
more than asked for, so that the caller knows the next cursor. Filters are the caller's.
"""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import msgspec

from cluster.store import codec
from cluster.store.codec import Noun
from cluster.store.reader import DjangoStateReader
from cluster.store.statements import placeholders


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows. `after` is inclusive: the position of the first row of the page."""

    prefix: str = ""
    #: None: all of them.
    namespaces: Collection[str] | None = None
    after: tuple[Any, ...] = ()
    #: Columns of the table that must have these values.
    equals: Mapping[str, str] = {}
    #: 0: all.
    limit: int = 0
    reverse: bool = False


class _Order(NamedTuple):
    noun: Noun[Any]
    columns: tuple[str, ...]
    prefixed: str


_ORDERS = {
    "jobs": _Order(codec.JOB, ("namespace", "job_id"), "job_id"),
    "evaluations": _Order(codec.EVALUATION, ("create_index", "id"), "id"),
    "evaluation_stubs": _Order(codec.EVALUATION_STUB, ("create_index", "id"), "id"),
    "allocations": _Order(codec.ALLOCATION, ("create_index", "id"), "id"),
    "deployments": _Order(codec.DEPLOYMENT, ("create_index", "id"), "id"),
    "nodes": _Order(codec.NODE, ("id",), "id"),
}


def page(reader: DjangoStateReader, table: str, listing: Listing) -> list[Any]:
    """Rows of one of the tables of `_ORDERS`, at most `limit` + 1 of them."""
    order = _ORDERS[table]
    conditions: list[str] = []
    parameters: list[Any] = []
    if listing.prefix:
        conditions.append(reader.prefix_condition(order.prefixed))
        parameters += [listing.prefix] * conditions[-1].count("%s")
    if listing.namespaces is not None and order.noun is not codec.NODE:
        if not listing.namespaces:
            return []
        conditions.append(f"namespace IN ({placeholders(len(listing.namespaces))})")
        parameters += sorted(listing.namespaces)
    for column, value in listing.equals.items():
        assert column in order.noun.columns, f"{table} has no column {column}"
        conditions.append(f"{column} = %s")
        parameters.append(value)
    if listing.after:
        columns = ", ".join(order.columns)
        sign = "<=" if listing.reverse else ">="
        conditions.append(f"({columns}) {sign} ({placeholders(len(order.columns))})")
        parameters += listing.after
    direction = " DESC" if listing.reverse else ""
    ordering = ", ".join(f"{column}{direction}" for column in order.columns)
    if listing.limit:
        ordering += f" LIMIT {int(listing.limit) + 1}"
    return reader.select(order.noun, " AND ".join(conditions), parameters, ordering)
