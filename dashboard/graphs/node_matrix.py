"""Nodes by checks: who would not take one more of a group, at which check, then and now.

In: what one run found (GroupExplanation), what is found now (verdicts), names of nodes. Out: rows
in sections; on each side their counts add up to all nodes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from dashboard.graphs.matrix_words import (
    ALL_OF_IT,
    Obstacle,
    now_of_group,
    now_of_node,
    obstacle,
    short_told,
)
from dashboard.texts import gettext, gettext_noop
from dashboard.wording import number, short_id
from scheduler.structs.explanation import (
    AskedAmounts,
    GroupExplanation,
    NodeVerdict,
    VerdictKind,
)

#: Nodes named in one row; the rest is counted.
MOST_NAMED = 60
#: More nodes than this are grouped unless each is asked for; then so many rows are shown.
GROUPED_ABOVE = 200
MOST_ROWS = 500
#: Fewer rows that say the same stay apart.
_LEAST_FOLDED = 3
#: A column, and the checks it stands for.
_COLUMNS = (
    (gettext_noop("DC, pool"), ("pool", "datacenter")),
    (gettext_noop("Ready"), ("ready",)),
    (gettext_noop("Constraints"), ("job constraints", "constraints")),
    (gettext_noop("Driver"), ("drivers", "secrets providers")),
    (gettext_noop("Devices"), ("devices",)),
    (
        gettext_noop("Network, volumes"),
        ("networks", "host volumes", "CSI volumes"),
    ),
    (gettext_noop("Others there"), ("distinct", "max allocation exceeded")),
    ("CPU", ("cpu",)),
    (gettext_noop("Memory"), ("memory",)),
    (gettext_noop("Disk"), ("disk",)),
)
#: The order of the engine. What it does not name comes after the checks, before the amounts.
_ORDER = (
    "pool", "datacenter", "ready", "job constraints", "drivers", "constraints", "devices",
    "networks", "secrets providers", "host volumes", "CSI volumes", "distinct", "",
    "max allocation exceeded", "cpu", "memory", "disk",
)  # fmt: skip
_SECTIONS = (
    (
        VerdictKind.EXHAUSTED,
        gettext_noop("No room now"),
        gettext_noop("asks again when some is free"),
    ),
    (
        VerdictKind.REFUSED,
        gettext_noop("Could never run it"),
        gettext_noop("as it asks, and as they are"),
    ),
    (VerdictKind.NOT_ASKED, gettext_noop("Not asked"), gettext_noop("no candidates")),
    (VerdictKind.ROOM, gettext_noop("Room for one more"), gettext_noop("they would take it")),
)
#: For runs that kept reasons without the names of checks.
_CHECK_OF_REASON = {
    "missing drivers": "drivers",
    "missing devices": "devices",
    "missing network": "networks",
    "missing secrets provider": "secrets providers",
    "distinct_hosts": "distinct",
}
_HALF, _PART = "half", "part"


class MatrixNode(NamedTuple):
    """A node in a row."""

    id: str
    name: str


class Cell(NamedTuple):
    """One check: `pass`, `fail`, `skip`, or `room` with what is free."""

    kind: str
    text: str = ""


class MatrixRow(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes with the same first obstacle."""

    kind: VerdictKind
    count: int
    nodes: tuple[MatrixNode, ...]
    cells: tuple[Cell, ...]
    obstacle: str
    is_best: bool = False
    #: How it is now, and what is different; "" where now was not asked.
    now: str = ""
    delta: str = ""

    @property
    def more(self) -> int:
        """Nodes that are counted and not named."""
        return max(self.count - len(self.nodes), 0)


class Section(NamedTuple):
    """Rows of one kind."""

    title: str
    nodes: int
    told: str
    rows: tuple[MatrixRow, ...]


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """The table, ready to be written."""

    columns: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]
    total: int
    is_grouped: bool
    has_now: bool
    #: Of many nodes one by one: how many are not shown.
    hidden: int

    @property
    def sum_told(self) -> str:
        """`800 + 182 + 18`."""
        return " + ".join(number(section.nodes) for section in self.sections if section.nodes)


class _Held:
    """The nodes of one obstacle on one side, and what each lacks; not all need be listed."""

    def __init__(self) -> None:
        self.count = 0
        self.listed: list[tuple[str, int]] = []

    def add(self, node_id: str, missing: int) -> None:
        self.count += 1
        self.listed.append((node_id, missing))

    @property
    def missing(self) -> tuple[int, ...]:
        return tuple(missing for _, missing in self.listed)


_Side = dict[Obstacle, _Held]
_NONE_HELD = _Held()


def grouped_matrix(
    found: GroupExplanation, now: Sequence[NodeVerdict] | None, names: Mapping[str, str]
) -> Matrix:
    """Equal nodes together, the nearest one by itself."""
    best = nearest_node(found)
    then, today = _side_then(found, best), _side_now(now or (), found.asks, best)
    verdict_of = {verdict.node_id: verdict for verdict in now or ()}
    rows = []
    for key in sorted({*then, *today}, key=_place):
        held = then.get(key, _NONE_HELD)
        row = _row(key, held, held.listed or today.get(key, _NONE_HELD).listed, names)
        if now is None:
            rows.append(row)
            continue
        if best and key.band == best:
            told = now_of_node(verdict_of.get(best), key, held.missing[0])
        else:
            told = now_of_group(held.count, today.get(key, _NONE_HELD).count)
        rows.append(msgspec.structs.replace(row, now=told[0], delta=told[1]))
    return _matrix(rows, found.asks, is_grouped=True, has_now=now is not None)


def node_matrix(
    found: GroupExplanation, now: Sequence[NodeVerdict] | None, names: Mapping[str, str]
) -> Matrix:
    """One row per node; those that the run counted without listing stay together."""
    best = nearest_node(found)
    verdict_of = {verdict.node_id: verdict for verdict in now or ()}
    rows = []
    for key, held in sorted(_side_then(found, best).items(), key=lambda item: _place(item[0])):
        for node_id, missing in held.listed:
            one = _Held()
            one.add(node_id, missing)
            row = _row(key, one, one.listed, names, verdict_of.get(node_id))
            if now is not None:
                told, delta = now_of_node(verdict_of.get(node_id), key, missing)
                row = msgspec.structs.replace(row, now=told, delta=delta)
            rows.append(row)
        if held.count > len(held.listed):
            rest = _Held()
            rest.count = held.count - len(held.listed)
            rows.append(_row(key, rest, [], names))
    return _matrix(rows, found.asks, is_grouped=False, has_now=now is not None)


def folded_matrix(matrix: Matrix) -> Matrix:
    """The same with rows that say the same as one, where that saves more than one row."""
    sections = tuple(
        section._replace(rows=tuple(_folded(section.rows))) for section in matrix.sections
    )
    return msgspec.structs.replace(matrix, sections=sections)


def _folded(rows: Iterable[MatrixRow]) -> Iterator[MatrixRow]:
    alike: dict[tuple[object, ...], list[MatrixRow]] = {}
    for row in rows:
        key = row.is_best, row.cells, row.obstacle, row.now, row.delta
        alike.setdefault(key, []).append(row)
    for same in alike.values():
        if len(same) < _LEAST_FOLDED:
            yield from same
            continue
        nodes = tuple(node for row in same for node in row.nodes)[:MOST_NAMED]
        count = sum(row.count for row in same)
        yield msgspec.structs.replace(same[0], count=count, nodes=nodes)


def nearest_node(found: GroupExplanation) -> str:
    """Of those that lack what most do, the one that lacks least; "" where it is the only one."""
    short = next((item for item in found.exhausted if item.missing), None)
    return short.node_ids[0] if short is not None and short.count > 1 else ""


def _side_then(found: GroupExplanation, best: str) -> _Side:
    side: _Side = {}
    for short in found.exhausted:
        missing = short.missing or (0,) * len(short.node_ids)
        key = _short_of(short.dimension, 0, found.asks)
        for node_id, lacks in zip(short.node_ids, missing, strict=True):
            key = _short_of(short.dimension, lacks, found.asks, best if node_id == best else "")
            side.setdefault(key, _Held()).add(node_id, lacks)
        # The nearest are listed: those that are not lack at least as much as the last one.
        side.setdefault(key, _Held()).count += short.count - len(short.node_ids)
    for kind, refusals in (
        (VerdictKind.REFUSED, found.refused),
        (VerdictKind.NOT_ASKED, found.not_asked),
    ):
        for refused in refusals:
            check = refused.check or _CHECK_OF_REASON.get(refused.reason, "constraints")
            held = side.setdefault(Obstacle(kind, check, refused.reason.rstrip()), _Held())
            held.count += refused.count
            held.listed += [(node_id, 0) for node_id in refused.node_ids]
    if found.with_room:
        side.setdefault(Obstacle(VerdictKind.ROOM), _Held()).count = found.with_room
    return side


def _side_now(verdicts: Iterable[NodeVerdict], asks: AskedAmounts, best: str) -> _Side:
    side: _Side = {}
    for verdict in verdicts:
        if best and verdict.node_id == best:
            # It has a row of its own, whatever keeps it out now.
            continue
        if verdict.kind is VerdictKind.EXHAUSTED:
            key = _short_of(verdict.check, verdict.missing, asks)
        else:
            key = Obstacle(verdict.kind, verdict.check, verdict.reason)
        side.setdefault(key, _Held()).add(verdict.node_id, verdict.missing)
    return side


def _short_of(dimension: str, missing: int, asks: AskedAmounts, best: str = "") -> Obstacle:
    asked = {"cpu": asks.cpu, "memory": asks.memory_mb, "disk": asks.disk_mb}.get(dimension, 0)
    band = ""
    if missing and asked:
        band = ALL_OF_IT if missing >= asked else _PART if missing * 2 > asked else _HALF
    return Obstacle(VerdictKind.EXHAUSTED, dimension, dimension, best or band)


def _place(key: Obstacle) -> tuple[object, ...]:
    section = [kind for kind, _, _ in _SECTIONS].index(key.kind)
    bands = {_HALF: 1, _PART: 2, ALL_OF_IT: 3, "": 4}
    return section, bands.get(key.band, 0), -_rank(key.check), key.reason


def _rank(check: str) -> int:
    return _ORDER.index(check if check in _ORDER else "")


def _column_of(check: str) -> str:
    named = next((name for name, checks in _COLUMNS if check in checks), "")
    if named:
        return named
    kind = check.partition(":")[0].split(" ")[0]
    return {
        "network": "Network, volumes",
        "reserved": "Network, volumes",
        "dynamic": "Network, volumes",
        "devices": "Devices",
        "cores": "CPU",
    }.get(kind, "Others there")


def _row(
    key: Obstacle,
    held: _Held,
    listed: Sequence[tuple[str, int]],
    names: Mapping[str, str],
    verdict: NodeVerdict | None = None,
) -> MatrixRow:
    nodes = [
        MatrixNode(node_id, names.get(node_id) or short_id(node_id))
        for node_id, _ in listed[:MOST_NAMED]
    ]
    missing = tuple(lacks for _, lacks in listed)
    return MatrixRow(
        kind=key.kind,
        count=held.count,
        nodes=tuple(nodes),
        cells=_cells(key, missing, verdict),
        obstacle=obstacle(key, missing),
        is_best=key.band not in {"", _HALF, _PART, ALL_OF_IT},
    )


def _cells(key: Obstacle, missing: Sequence[int], verdict: NodeVerdict | None) -> tuple[Cell, ...]:
    has_failed = key.kind is not VerdictKind.ROOM
    failed = _rank(key.check) if has_failed else len(_ORDER)
    where = _column_of(key.check) if has_failed else ""
    cells = []
    for name, checks in _COLUMNS:
        if name == where:
            cells.append(Cell("fail", short_told(key, missing)))
        elif all(_rank(check) < failed for check in checks):
            free = _free_told(name, verdict)
            cells.append(Cell("room", free) if free else Cell("pass"))
        else:
            cells.append(Cell("skip"))
    return tuple(cells)


def _free_told(column: str, verdict: NodeVerdict | None) -> str:
    if verdict is None:
        return ""
    free = verdict.free
    amounts = {"CPU": free.cpu, "Memory": free.memory_mb, "Disk": free.disk_mb}
    return number(amounts[column]) if column in amounts else ""


def _matrix(
    rows: Sequence[MatrixRow], asks: AskedAmounts, *, is_grouped: bool, has_now: bool
) -> Matrix:
    shown = rows[:MOST_ROWS]
    sections = [
        Section(
            gettext(title),
            sum(row.count for row in rows if row.kind is kind),
            gettext(told),
            tuple(row for row in shown if row.kind is kind),
        )
        for kind, title, told in _SECTIONS
    ]
    asked = {"CPU": asks.cpu, "Memory": asks.memory_mb, "Disk": asks.disk_mb}
    return Matrix(
        columns=tuple(
            (
                gettext(name),
                gettext("asks {asked}").format(asked=number(asked[name]))
                if asked.get(name)
                else "",
            )
            for name, _ in _COLUMNS
        ),
        sections=tuple(section for section in sections if section.rows),
        total=sum(row.count for row in rows),
        is_grouped=is_grouped,
        has_now=has_now,
        hidden=sum(row.count for row in rows[MOST_ROWS:]),
    )
