"""Lists in pages: prefix, filter, order, cursor (http-api.md 2.2-2.4).

In: the parameters of a list request, and a table or items. Out: one page and the cursor of the
next. A cursor names the first item of its page. Items behind the page are not read.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import msgspec
from django.http import QueryDict

from cluster.api.parameters import read_per_page
from cluster.operations.errors import OperationRefused
from cluster.operations.filter_columns import is_in_columns, known_columns
from cluster.operations.filter_expression import Filter, compile_filter
from cluster.store.ports import Listing, RecordReader
from scheduler.state import nouns
from scheduler.state.noun import Noun

Item = TypeVar("Item")
#: What items are ordered by, and what a cursor is read into.
Position = Any

_HEX = frozenset("0123456789abcdefABCDEF")
_MOST_HYPHENS = 4
_UUID_LENGTH = 36
#: Where the hyphens of an id stand: behind so many digits.
_HYPHENS = (8, 12, 16, 20)
#: What a column holds at most.
_LARGEST_INDEX = (1 << 63) - 1


class ListRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of a list request."""

    prefix: str = ""
    per_page: int = 0
    next_token: str = ""
    reverse: bool = False
    filter: Filter | None = None


class Page(NamedTuple):
    """One page of items, and the cursor of the next one ("" when this is the last)."""

    items: list[Any]
    next_token: str


class Order(NamedTuple):
    """How a list is ordered: an item's position, a cursor read back, a position as a cursor."""

    position: Callable[[Any], Position]
    read: Callable[[str], Position]
    write: Callable[[Position], str]


def read_listing(query: QueryDict) -> ListRequest:
    """The list parameters of a query."""
    text = query.get("filter", "")
    return ListRequest(
        prefix=query.get("prefix", ""),
        per_page=read_per_page(query),
        next_token=query.get("next_token", ""),
        reverse=query.get("reverse", "") == "true",
        filter=compile_filter(text) if text else None,
    )


def read_listing_by_uuid(query: QueryDict, head: str) -> ListRequest:
    """As `read_listing`, of things with UUIDs; `head` opens the errors of their prefix."""
    listing = read_listing(query)
    return msgspec.structs.replace(listing, prefix=uuid_prefix(listing.prefix, head))


class Rows(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of a noun that a caller may list."""

    noun: Noun[Any, Any]
    #: None: all of them.
    namespaces: Collection[str] | None = None
    #: Columns that must have these values.
    equals: Mapping[str, str] = {}
    #: In order of their last change, not in their natural one. Of jobs only.
    by_change: bool = False


def page_of_rows(
    reader: RecordReader,
    rows: Rows,
    listing: ListRequest,
    form: Callable[[Any], Any],
) -> Page:
    """The page a listing asks for, each of its rows in that form."""
    order = BY_CHANGE if rows.by_change else _order_of(rows.noun, listing)
    wanted = _wanted(rows, listing)
    if wanted is None:
        return Page([], "")
    if listing.next_token:
        position = order.read(listing.next_token)
        after = position if isinstance(position, tuple) else (position,)
        wanted = msgspec.structs.replace(wanted, after=after)
    return _cut(reader.walk(rows.noun, wanted), listing, order, form)


def count_of_rows(reader: RecordReader, rows: Rows, listing: ListRequest) -> int:
    """How many rows a listing has on all its pages."""
    wanted = _wanted(rows, listing)
    if wanted is None:
        return 0
    given = listing.filter
    if given is None or is_in_columns(rows.noun, given):
        return reader.count(rows.noun, wanted)
    everything = reader.walk(rows.noun, wanted)
    return sum(1 for item in everything if given.wants(item))


def page_of(items: Iterable[Item], listing: ListRequest, order: Order) -> Page:
    """The page a listing asks for, of items in any order."""
    ordered = sorted(items, key=order.position, reverse=listing.reverse)
    if listing.next_token:
        start = order.read(listing.next_token)
        ordered = [
            item for item in ordered if not _comes_before(order.position(item), start, listing)
        ]
    return _cut(ordered, listing, order, lambda item: item)


def _cut(
    ordered: Iterable[Item], listing: ListRequest, order: Order, form: Callable[[Item], Any]
) -> Page:
    """The first page of items that begin where it does."""
    chosen: list[Any] = []
    wants = listing.filter.wants if listing.filter is not None else None
    for item in ordered:
        if wants is not None and not wants(item):
            continue
        if listing.per_page and len(chosen) == listing.per_page:
            return Page(chosen, order.write(order.position(item)))
        chosen.append(form(item))
    return Page(chosen, "")


def _order_of(noun: Noun[Any, Any], listing: ListRequest) -> Order:
    if noun is nouns.JOBS:
        return BY_JOB
    return BY_ID if listing.prefix or noun is nouns.NODES else BY_CREATION


def _wanted(rows: Rows, listing: ListRequest) -> Listing | None:
    """What to ask of the table; None when nothing can be in the list."""
    equals = dict(rows.equals)
    for column, value in known_columns(rows.noun, listing.filter):
        if equals.setdefault(column, value) != value:
            return None
    return Listing(
        prefix=listing.prefix,
        namespaces=rows.namespaces,
        equals=equals,
        # The one more tells where the next page begins.
        limit=listing.per_page + 1 if listing.per_page else 0,
        reverse=listing.reverse,
        by_id=not rows.by_change and _order_of(rows.noun, listing) is BY_ID,
        by_change=rows.by_change,
    )


def _comes_before(position: Position, start: Position, listing: ListRequest) -> bool:
    return bool(position > start if listing.reverse else position < start)


def _read_job(token: str) -> tuple[str, str]:
    namespace, _, job_id = token.partition(".")
    return namespace, job_id


def _read_creation(token: str) -> tuple[int, str]:
    index, _, item_id = token.partition(".")
    if not index.isascii() or not index.isdigit() or len(index) > 20:
        # Readers of a prefix list are given plain ids; both forms are taken everywhere.
        return 0, token
    return min(int(index), _LARGEST_INDEX), item_id


def _read_change(token: str) -> tuple[int, str, str]:
    index, _, name = token.partition(".")
    namespace, _, job_id = name.partition(".")
    if not index.isascii() or not index.isdigit() or len(index) > 20:
        raise OperationRefused(f"failed to create result paginator: {index[:64]!r} is no index")
    return min(int(index), _LARGEST_INDEX), namespace, job_id


BY_JOB = Order(
    position=lambda job: (job.namespace, job.id),
    read=_read_job,
    write=lambda position: f"{position[0]}.{position[1]}",
)
#: A token of the reference is the index alone: whatever was written there and after it.
BY_CHANGE = Order(
    position=lambda job: (job.modify_index, job.namespace, job.id),
    read=_read_change,
    write=lambda position: ".".join(map(str, position)),
)
BY_CREATION = Order(
    position=lambda item: (item.create_index, item.id),
    read=_read_creation,
    write=lambda position: f"{position[0]}.{position[1]}",
)
BY_ID = Order(
    position=lambda item: item.id,
    read=lambda token: token.partition(".")[2] or token,
    write=str,
)
BY_NAME = Order(position=lambda item: item.name, read=str, write=str)


def uuid_prefix(prefix: str, head: str) -> str:
    """How ids that have this prefix begin, whatever hyphens it has.

    `head` opens the error texts: `eval lookup failed: `.
    """
    digits = prefix.replace("-", "")
    hyphens = len(prefix) - len(digits)
    problem = ""
    if len(prefix) > _UUID_LENGTH:
        problem = f"Invalid UUID length. UUID have 36 characters; got {len(prefix)}"
    elif hyphens > _MOST_HYPHENS:
        problem = f'UUID should have maximum of 4 "-"; got {hyphens}'
    elif len(digits) % 2:
        problem = "Input (without hyphens) must be even length"
    else:
        wrong = next((letter for letter in digits if letter not in _HEX), "")
        if wrong:
            problem = f"Invalid UUID: encoding/hex: invalid byte: U+{ord(wrong):04X} '{wrong}'"
    if problem:
        raise OperationRefused(f"{head}index error: {problem}")
    return id_beginning(digits)


def id_beginning(digits: str) -> str:
    """The first digits of an id, as ids are written."""
    edges = [0, *(edge for edge in _HYPHENS if edge < len(digits)), len(digits)]
    return "-".join(digits[start:end] for start, end in pairwise(edges)).lower()


def check_uuid(item_id: str, head: str) -> None:
    """Refuse an id that is not a whole UUID."""
    if len(item_id) != _UUID_LENGTH:
        raise OperationRefused(f"{head}index error: UUID must be 36 characters")
