"""The expression of a list: read once, and what is wrong with one that cannot be read.

In: the text of an address. Out: a Filter over rows of the list, or a FilterProblem.
"""

import re

import msgspec
from django.utils.translation import gettext

from cluster.operations.errors import OperationRefused
from cluster.operations.filter_expression import READ_FAILED, Filter, compile_filter
from dashboard.queries.list_kind import ListKind
from dashboard.queries.list_wish import LONGEST_FILTER

_PLACE = re.compile(r"^\d+:\d+ \((\d+)\): (.*)$", re.DOTALL)
_RESULT = "failed to read result page: "


class FilterProblem(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with an expression, and where: the text before, and from there on."""

    told: str
    before: str = ""
    rest: str = ""
    #: Whether the place is known.
    is_placed: bool = False

    @property
    def column(self) -> int:
        """As people count."""
        return len(self.before) + 1


def compiled(kind: ListKind, text: str) -> Filter | None:
    """What an expression says of rows; None without one. Raises OperationRefused."""
    if len(text) > LONGEST_FILTER:
        raise OperationRefused(
            gettext("pages take expressions of {longest_filter} characters at most").format(
                longest_filter=LONGEST_FILTER
            )
        )
    if not text:
        return None
    given, expressed = compile_filter(text), kind.expressed
    if expressed is None:
        return given
    return given._replace(wants=lambda row: given.wants(expressed.of(row)))


def problem_of(text: str, refusal: OperationRefused) -> FilterProblem:
    """What was refused, with its place in the text where that is known."""
    told = str(refusal).removeprefix(_RESULT)
    if not told.startswith(READ_FAILED):
        return FilterProblem(told=told)
    placed = _PLACE.match(told.removeprefix(READ_FAILED))
    if placed is None:
        return FilterProblem(told=told.removeprefix(READ_FAILED))
    at, what = int(placed[1]), placed[2].removeprefix("no match found, ")
    return FilterProblem(told=what, before=text[:at], rest=text[at:], is_placed=True)
