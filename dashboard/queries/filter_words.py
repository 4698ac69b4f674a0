"""What may stand in the expression of a list: fields, operators, and values that are known.

In: a list as it is shown. Out: words for suggestions, by field. The fields are those of the
struct that `/v1` gives out, so that an expression means the same there.
"""

import enum
from collections.abc import Iterator, Mapping
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin

import msgspec

from cluster.operations.filter_columns import columns_of
from dashboard.queries.job_lists import LISTS
from dashboard.queries.list_page import ListPage

#: How far fields of fields are named.
_DEEPEST = 2
#: What may stand behind a field of a kind.
OPERATORS: Mapping[str, tuple[str, ...]] = {
    "text": ("==", "!=", "contains", "matches", "is empty", "is not empty"),
    "number": ("==", "!="),
    "truth": ("==", "!="),
    "many": ("contains", "not contains", "is empty", "is not empty"),
    "one": ("is nil", "is not nil"),
}
_TRUTH = ("true", "false")


def filter_words(page: ListPage) -> dict[str, Any]:
    """Of each field its kind and values, as the page's script takes them."""
    kind = page.kind
    known = {
        facet.column: [choice.value for choice in shown.choices if choice.value]
        for facet in kind.facets
        for shown in page.facets
        if shown.name == facet.name and facet.column
    }
    columns = columns_of(kind.noun)
    fields = {
        name: [kind_of, *(values or known.get(columns.get(name, ""), ()))]
        for name, (kind_of, values) in _fields(kind.name).items()
    }
    return {"fields": fields, "operators": OPERATORS}


@cache
def _fields(name: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    kind = LISTS[name]
    struct = kind.expressed.struct if kind.expressed is not None else kind.noun.struct
    return dict(_walked(struct, "", 1))


def _walked(
    struct: type[msgspec.Struct], before: str, depth: int
) -> Iterator[tuple[str, tuple[str, tuple[str, ...]]]]:
    for field in msgspec.structs.fields(struct):
        name = f"{before}{field.encode_name}"
        told = _plain(field.type)
        if isinstance(told, type) and issubclass(told, msgspec.Struct):
            yield name, ("one", ())
            if depth < _DEEPEST:
                yield from _walked(told, f"{name}.", depth + 1)
        else:
            yield name, _kind_of(told)


def _plain(told: Any) -> Any:
    """Without the None it may be."""
    if get_origin(told) in (Union, UnionType):
        left = [each for each in get_args(told) if each is not type(None)]
        return left[0] if len(left) == 1 else told
    return told


def _kind_of(told: Any) -> tuple[str, tuple[str, ...]]:
    if told is bool:
        return "truth", _TRUTH
    if isinstance(told, type) and issubclass(told, enum.Enum):
        return "text", tuple(str(each.value) for each in told)
    if told in (int, float):
        return "number", ()
    if get_origin(told) in (dict, list, tuple, frozenset) or told in (dict, list, tuple):
        return "many", ()
    return "text", ()
