"""What stands in the cells of nodes x checks.

In: what stops a node first, and what it lacks. Out: words.
"""

from collections.abc import Sequence
from typing import NamedTuple

from dashboard.texts import gettext
from dashboard.wording import MINUS, NONE, amount, dimension_word, number, obstacle_word
from scheduler.structs.explanation import (
    NodeVerdict,
    VerdictKind,
)

UNITS = {"cpu": "MHz", "memory": "MiB", "disk": "MiB"}


#: Characters of a reason that has room in its check's cell.
_LONGEST_IN_CELL = 16


#: The band of those that lack all that is asked.
ALL_OF_IT = "all"


class Obstacle(NamedTuple):
    """What a row stands for."""

    kind: VerdictKind
    check: str = ""
    reason: str = ""
    #: How much of the ask is missing; or the id of the one node that lacks least.
    band: str = ""


def short_told(key: Obstacle, missing: Sequence[int]) -> str:
    """What stands in the cell of the check that failed."""
    if any(missing):
        if key.band == ALL_OF_IT:
            return gettext("all used")
        least, most = min(missing), max(missing)
        return gettext("short {least}").format(least=number(least)) + (
            gettext(" to {most}").format(most=number(most)) if most != least else ""
        )
    if key.check in {"pool", "datacenter"}:
        return gettext("another pool") if key.check == "pool" else gettext("another DC")
    # What is long stands beside it, under the first obstacle.
    return dimension_word(key.reason) if len(key.reason) <= _LONGEST_IN_CELL else ""


def obstacle(key: Obstacle, missing: Sequence[int]) -> str:
    """The first obstacle in words."""
    if key.kind is VerdictKind.ROOM:
        return "none"
    if not any(missing):
        return obstacle_word(key.reason)
    word, unit = dimension_word(key.check), UNITS.get(key.check, "")
    if key.band == ALL_OF_IT:
        return gettext("{word}: nothing free").format(word=word)
    upto = "" if max(missing) == min(missing) else gettext("up to ")
    return gettext("{word}: short by {upto}{missing}").format(
        word=word, upto=upto, missing=amount(max(missing), unit)
    )


def now_of_group(then: int, today: int) -> tuple[str, str]:
    """How many there are now, and what is different of it."""
    return number(today), "same" if today == then else _signed(today - then)


def now_of_node(verdict: NodeVerdict | None, key: Obstacle, missing: int) -> tuple[str, str]:
    """How a node is now, and what is different of it."""
    if verdict is None:
        return "gone", gettext("no longer a node")
    if verdict.kind is VerdictKind.ROOM:
        return gettext("has room"), "" if key.kind is VerdictKind.ROOM else gettext(
            "takes one more"
        )
    if verdict.kind is VerdictKind.EXHAUSTED and verdict.missing:
        word = "" if verdict.check == key.check else f"{dimension_word(verdict.check)}: "
        told = gettext("{word}short {missing}").format(word=word, missing=number(verdict.missing))
        if verdict.check != key.check:
            return told, ""
        if verdict.missing == missing:
            return told, "same"
        less = missing - verdict.missing
        return told, f"{number(abs(less))} {'less' if less > 0 else 'more'}"
    if (verdict.kind, verdict.check, verdict.reason) == (key.kind, key.check, key.reason):
        return "", "same"
    return obstacle_word(verdict.reason), ""


def _signed(value: int) -> str:
    return f"+{number(value)}" if value > 0 else f"{MINUS}{number(-value)}" if value else NONE
