"""Lists in pages: prefix, filter, order, cursor (http-api.md 2.2-2.4).

In: the parameters of a list request and the items in their natural order. Out: one page and the
cursor of the next. A cursor names the first item of its page.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import msgspec
from django.http import QueryDict

from cluster.api.filter_expression import compile_filter
from cluster.api.parameters import read_per_page
from cluster.operations.errors import OperationRefused

Item = TypeVar("Item")
#: What items are ordered by, and what a cursor is read into.
Position = Any

_HEX = frozenset("0123456789abcdefABCDEF")
_MOST_HYPHENS = 4
_UUID_LENGTH = 36


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of a list request."""

    prefix: str = ""
    per_page: int = 0
    next_token: str = ""
    reverse: bool = False
    predicate: Callable[[Any], bool] | None = None


class Page(NamedTuple):
    """One page of items, and the cursor of the next one ("" when this is the last)."""

    items: list[Any]
    next_token: str


class Order(NamedTuple):
    """How a list is ordered: an item's position, a cursor read back, a position as a cursor."""

    position: Callable[[Any], Position]
    read: Callable[[str], Position]
    write: Callable[[Position], str]


def read_listing(query: QueryDict) -> Listing:
    """The list parameters of a query."""
    text = query.get("filter", "")
    return Listing(
        prefix=query.get("prefix", ""),
        per_page=read_per_page(query),
        next_token=query.get("next_token", ""),
        reverse=query.get("reverse", "") == "true",
        predicate=compile_filter(text) if text else None,
    )


def page_of(items: Iterable[Item], listing: Listing, order: Order) -> Page:
    """The page a listing asks for, of items in any order."""
    start = order.read(listing.next_token) if listing.next_token else None
    ordered = sorted(items, key=order.position, reverse=listing.reverse)
    chosen: list[Item] = []
    for item in ordered:
        if start is not None and _comes_before(order.position(item), start, listing):
            continue
        if listing.predicate is not None and not listing.predicate(item):
            continue
        if listing.per_page and len(chosen) == listing.per_page:
            return Page(chosen, order.write(order.position(item)))
        chosen.append(item)
    return Page(chosen, "")


def _comes_before(position: Position, start: Position, listing: Listing) -> bool:
    return bool(position > start if listing.reverse else position < start)


def _read_job(token: str) -> tuple[str, str]:
    namespace, _, job_id = token.partition(".")
    return namespace, job_id


def _read_creation(token: str) -> tuple[int, str]:
    index, _, item_id = token.partition(".")
    if not index.isascii() or not index.isdigit() or len(index) > 20:
        # Readers of a prefix list are given plain ids; both forms are taken everywhere.
        return 0, token
    return int(index), item_id


BY_JOB = Order(
    position=lambda job: (job.namespace, job.id),
    read=_read_job,
    write=lambda position: f"{position[0]}.{position[1]}",
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


def uuid_prefix(prefix: str, head: str) -> Callable[[str], bool]:
    """Whether an id begins with the prefix, whatever hyphens either has.

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
    wanted = digits.lower()
    return lambda item_id: item_id.replace("-", "").startswith(wanted)


def candidates(
    prefix: str, one: Callable[[str], Item | None], every: Callable[[], Iterable[Item]]
) -> Iterable[Item]:
    """The rows a UUID prefix has to be compared with: a whole id names one, which is looked up."""
    if len(prefix) < _UUID_LENGTH:
        return every()
    item = one(prefix.lower())
    return () if item is None else (item,)


def check_uuid(item_id: str, head: str) -> None:
    """Refuse an id that is not a whole UUID."""
    if len(item_id) != _UUID_LENGTH:
        raise OperationRefused(f"{head}index error: UUID must be 36 characters")
