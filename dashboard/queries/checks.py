"""What the checks of an allocation's services found last, as its page tells it.

In: the answer of its agent to `alloc.checks` (None: it did not answer). Out: lines, those that
fail first, and the sentence above them. The record holds no result of a check.
"""

from collections.abc import Iterable
from typing import Any

import msgspec
from django.utils.translation import gettext

from dashboard.wording import clipped, number

_SECOND = 1_000_000_000
_LONGEST = 80
_RANKS = ("failure", "pending", "success")


class ToldCheck(msgspec.Struct, frozen=True, rename="pascal"):
    """One check as its agent tells it; what it tells beyond is not needed here."""

    check: str
    service: str
    status: str
    output: str = ""
    #: When it was asked last, s.
    timestamp: int = 0
    #: Of an HTTP answer; 0: there was none.
    status_code: int = 0
    task: str = ""
    #: healthiness: it has to pass before the allocation counts as healthy; readiness: not.
    mode: str = ""


class AnsweredCheck(msgspec.Struct, frozen=True):
    """One row of the table."""

    told: ToldCheck
    status: str
    answer: str
    #: When it was asked last, ns; 0: not yet.
    asked_at: int


def check_context(told: object) -> dict[str, Any]:
    """`checks` and `checks_told`; empty where there are none, or an agent tells other things."""
    lines = answered_checks(told)
    if not lines:
        return {}
    return {"checks": lines, "checks_told": _sentence([line.told for line in lines])}


def answered_checks(told: object) -> list[AnsweredCheck]:
    """Those of one allocation, what fails first; none where an agent tells other things."""
    try:
        found = msgspec.convert(told or {}, dict[str, ToldCheck]).values()
    except msgspec.ValidationError:
        return []
    return sorted(map(_line, found), key=_order)


def _line(told: ToldCheck) -> AnsweredCheck:
    is_known = told.status in _RANKS
    is_waiting = told.status == "pending"
    return AnsweredCheck(
        told=told,
        status=told.status if is_known else "pending",
        answer="" if is_waiting else _answer(told),
        asked_at=0 if is_waiting else told.timestamp * _SECOND,
    )


def _answer(told: ToldCheck) -> str:
    """The code of an HTTP answer, else the first line of what came back."""
    if told.status_code:
        return gettext("answered {code}").format(code=told.status_code)
    lines = told.output.strip().splitlines()
    return clipped(lines[0], _LONGEST) if lines else ""


def _order(line: AnsweredCheck) -> tuple[int, str, str]:
    return _RANKS.index(line.status), line.told.service, line.told.check


def _sentence(found: Iterable[ToldCheck]) -> str:
    statuses = [each.status for each in found]
    return gettext("{passing} of {count} pass").format(
        passing=number(statuses.count("success")), count=number(len(statuses))
    )
