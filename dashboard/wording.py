"""How values are written: numbers, amounts, times, ids. Plain values in, plain text out.

Pages, live frames and graphs use the same functions, so that one value reads the same everywhere.
Knows neither templates nor the clock: `now` is passed in.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache

from dashboard.texts import gettext, gettext_noop, ngettext

NARROW_SPACE = "\N{NARROW NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
NONE = "\N{EN DASH}"
TIMES = "\N{MULTIPLICATION SIGN}"
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"

#: Dimensions as sentences name them.
_DIMENSIONS = {
    "cpu": gettext_noop("CPU"),
    "memory": gettext_noop("memory"),
    "disk": gettext_noop("disk"),
    "cores": gettext_noop("cores"),
    "devices": gettext_noop("devices"),
}
#: Nodes that were refused because one that no check can tell from them was.
_FILTERS = {"computed class ineligible": gettext_noop("what refused another node of their class")}
_CONSTRAINT = re.compile(
    r"\$\{([\w.\-]+)\} (=|==|is|!=|not|<|<=|>|>=|regexp|version|semver|set_contains|"
    r"set_contains_all|set_contains_any|is_set|is_not_set)(?: (.*))?",
    re.DOTALL,
)
_ASKED = {
    "is": gettext_noop("it asks for {name} = {value}"),
    "not": gettext_noop("it asks for {name} != {value}"),
    "regexp": gettext_noop("it asks for {name} that matches {value}"),
    "version": gettext_noop("it asks for a version of {name} that is {value}"),
    "semver": gettext_noop("it asks for a version of {name} that is {value}"),
    "set_contains": gettext_noop("it asks for {name} with {value} in it"),
    "set_contains_all": gettext_noop("it asks for {name} with all of {value} in it"),
    "set_contains_any": gettext_noop("it asks for {name} with any of {value} in it"),
    "is_set": gettext_noop("it asks for nodes that have {name}"),
    "is_not_set": gettext_noop("it asks for nodes without {name}"),
}
_APPEARED = re.compile(r"capacity of class v1:\d+ appeared meanwhile")
_OF_CLASS = re.compile(r"a node of class v1:\d+")
_DIGITS = re.compile(r"(\d+)")
_NS = 1_000_000_000
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def number(value: float) -> str:
    """`48396` becomes `48 396`, with a narrow no-break space; a true minus sign."""
    grouped = f"{abs(value):,}".replace(",", NARROW_SPACE)
    return f"{MINUS}{grouped}" if value < 0 else grouped


@lru_cache(maxsize=8192)
def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """Orders names as people count: `r2` before `r10`, `web[5]` before `web[10]`."""
    parts = _DIGITS.split(name)
    return tuple(
        (0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts if part
    )


def one_of(names: Sequence[str], word: str = "or") -> str:
    """`a`, `a or b`, `a, b or c`; `and` in the place of `or` where that is the word."""
    *first, last = names
    if not first:
        return last
    told = gettext("{names} and {last}") if word == "and" else gettext("{names} or {last}")
    return told.format(names=", ".join(first), last=last)


def short_id(value: str) -> str:
    """The first eight characters of an id."""
    return value[:8]


def short_actor(value: str) -> str:
    """Who took a step: of a worker's name only its last part, such as `worker f689866f`."""
    kind, _, name = value.partition(" ")
    return f"{kind} {name.rpartition('/')[2]}" if name else kind


def span(nanoseconds: int) -> str:
    """A duration: `173 ms`, `0.4 s`, `41 s`, `16 min 21 s`; two units at most."""
    if nanoseconds < 0:
        return MINUS + span(-nanoseconds)
    if nanoseconds < _NS // 4:
        milliseconds = nanoseconds / 1_000_000
        return f"{milliseconds:.1f} ms" if 0 < milliseconds < 1 else f"{milliseconds:.0f} ms"
    if nanoseconds < 10 * _NS:
        return f"{nanoseconds / _NS:.1f} s"
    return _two_units(nanoseconds // _NS)


def _two_units(seconds: int) -> str:
    for position, (size, unit) in enumerate(_UNITS):
        if seconds >= size:
            whole, rest = divmod(seconds, size)
            if position + 1 == len(_UNITS):
                return f"{whole} {unit}"
            next_size, next_unit = _UNITS[position + 1]
            part = rest // next_size
            return f"{whole} {unit} {part} {next_unit}" if part else f"{whole} {unit}"
    return "0 s"


def age(instant: int, now: int) -> str:
    """How long ago, or `in ...` for an instant ahead; the dash when unset."""
    if not instant:
        return NONE
    if instant <= now:
        return span(now - instant)
    return gettext("in {time}").format(time=span(instant - now))


def clock_time(instant: int, *, with_milliseconds: bool = False) -> str:
    """`14:18:31`, or `14:18:31.902` where order matters; UTC; the dash when unset."""
    if not instant:
        return NONE
    text = _moment(instant).strftime("%H:%M:%S")
    return f"{text}.{instant // 1_000_000 % 1000:03d}" if with_milliseconds else text


def full_time(instant: int) -> str:
    """`21 Nov 2026 14:18:31 UTC`, for titles."""
    moment = _moment(instant)
    return (
        f"{moment.day} {moment.strftime('%b %Y %H:%M:%S')} UTC" if instant else gettext("not set")
    )


def has_seconds(instant: int) -> bool:
    """Whether an instant is none of a full minute."""
    return bool(_moment(instant).second)


def due_time(instant: int, beside: int = 0, *, with_seconds: bool = False) -> str:
    """`03:00 UTC`, with seconds where it has any, or where those it is listed with have.

    With the date unless `beside` is of that day, with the year unless it is of that year.
    """
    moment, other = _moment(instant), _moment(beside)
    told = moment.strftime("%H:%M:%S" if with_seconds or moment.second else "%H:%M")
    if beside and other.date() == moment.date():
        return f"{told} UTC"
    year = "" if other.year == moment.year else f" {moment.year}"
    return f"{moment.day} {moment.strftime('%b')}{year} {told} UTC"


def machine_time(instant: int) -> str:
    """RFC 3339 with milliseconds, for `<time datetime>`."""
    return _moment(instant).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _moment(instant: int) -> datetime:
    return datetime.fromtimestamp(instant / _NS, UTC)


def amount(value: float, unit: str) -> str:
    """A number with its unit, kept together."""
    return f"{number(value)}\N{NO-BREAK SPACE}{unit}"


def data_size(size: int) -> str:
    """Bytes in the largest unit of which there is one: `1.5 MiB`, `812 B`."""
    value, unit = float(size), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    told = number(round(value)) if unit == "B" or value >= 100 else f"{value:.1f}"
    return f"{told}\N{NO-BREAK SPACE}{unit}"


def dimension_word(name: str) -> str:
    """A dimension of room as a sentence names it: `CPU` for `cpu`."""
    return gettext(_DIMENSIONS[name]) if name in _DIMENSIONS else name


def obstacle_word(reason: str) -> str:
    """What keeps work from a node, as a clause: `it asks for kernel.name = linux`, `CPU`."""
    if reason == "distinct_hosts":
        return gettext("another of its own runs there")
    found = _CONSTRAINT.fullmatch(reason.strip())
    if found is None:
        return dimension_word(reason)
    name, operand, value = found[1].removeprefix("attr."), found[2], found[3] or ""
    if operand not in _ASKED:
        asked = gettext("it asks for {name} {operand} {value}")
        return asked.format(name=name, operand=operand, value=value)
    return gettext(_ASKED[operand]).format(name=name, value=value)


def plain_reason(text: str) -> str:
    """The reason of a step without the numbers that stand for classes of nodes."""
    text = _APPEARED.sub(gettext("room appeared meanwhile on a node that may fit"), text)
    return _OF_CLASS.sub(gettext("a node that may fit"), text)


def is_constraint(reason: str) -> bool:
    """Whether a reason is a constraint as job files write it: `${meta.rack} = r3`."""
    return _CONSTRAINT.fullmatch(reason.strip()) is not None


def constraint_subject(text: str) -> str:
    """What a constraint is about: `kernel.name` of `${attr.kernel.name} = linux`."""
    found = _CONSTRAINT.fullmatch(text.strip())
    return found[1].removeprefix("attr.") if found is not None else text


def filter_word(name: str) -> str:
    """Why nodes were filtered: the name of the check, where that is not a word for people."""
    return gettext(_FILTERS[name]) if name in _FILTERS else name


def is_by_neighbours(reason: str) -> bool:
    """Whether nodes were filtered only because of what of the same job stands on them now."""
    return reason.startswith(("distinct_hosts", "distinct_property:"))


def refusal_told(reason: str) -> str:
    """For how long nodes that were filtered could not run it, by the reason."""
    if is_by_neighbours(reason):
        return gettext("not while others of it run there")
    return gettext("could never run it")


def count_of(count: int, one: str, many: str) -> str:
    """`1 node`, `12 nodes`, of `{count} node` and `{count} nodes` as the translation has them.

    `manage.py makemessages` finds both words where this is called with them.
    """
    return ngettext(one, many, count).format(count=number(count))


def clipped(text: str, limit: int) -> str:
    """At most `limit` characters, the last one an ellipsis; control characters become spaces."""
    clean = "".join(char if char.isprintable() else " " for char in text)
    return clean if len(clean) <= limit else clean[: max(limit - 1, 0)] + ELLIPSIS
