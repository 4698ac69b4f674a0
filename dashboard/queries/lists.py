"""One page of any list: rows in the order asked for, counts of its facets, where it goes on.

In: a reader, a ListKind, a ListWish, the namespaces that may be seen. Out: a ListPage. The order
is the database's, as are facets; an expression that columns cannot answer is put to rows as they
are walked, `MOST_LOOKED_AT` of them at most.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from cluster.operations.errors import OperationRefused
from cluster.operations.filter_columns import is_in_columns
from cluster.operations.filter_expression import Filter
from cluster.store.ports import Listing, RecordReader
from dashboard.queries.facets import FacetCounts
from dashboard.queries.list_expression import compiled, problem_of
from dashboard.queries.list_kind import (
    CLUSTER,
    BesideFound,
    Folded,
    ListKind,
    RowContexts,
)
from dashboard.queries.list_order import Placed, parts_of, place_of
from dashboard.queries.list_page import ListPage
from dashboard.queries.list_wish import ListWish, place_text
from dashboard.rights import ListedPaths
from dashboard.wording import count_of

#: Rows that one page puts an expression to. The next page goes on behind them.
MOST_LOOKED_AT = 20_000


class _Read(NamedTuple):
    placed: Sequence[Placed]
    #: The first row of the next page.
    follows: Placed | None = None
    #: Rows that were decoded, and whether their number ended the page.
    looked_at: int = 0
    is_cut: bool = False

    @property
    def rows(self) -> list[Any]:
        return [row for _, row in self.placed]

    def first(self, taken: int) -> "_Read":
        """Of these the first ones: the page ends behind them."""
        if taken >= len(self.placed):
            return self
        return self._replace(placed=self.placed[:taken], follows=self.placed[taken], is_cut=False)


class _Put(NamedTuple):
    """What rows are put to one by one: an expression, and the paths that may be listed."""

    given: Filter | None
    paths: ListedPaths | None


def read_list(
    reader: RecordReader, kind: ListKind, wish: ListWish, namespaces: Collection[str] | None,
    now: int, paths: ListedPaths | None = None,
) -> ListPage:  # fmt: skip
    """One page of a list, in a fixed number of reads, for whoever may see these namespaces.

    `paths`: and of a list that is `is_by_path` only rows with these; then rows are walked until
    the page is full, and keys are read to count, for no column says who may list a path.
    """
    beside = _beside(reader, kind, wish, namespaces, now)
    listing = _listing(kind, wish, namespaces, now)
    problem, given, read = None, None, _Read(())
    try:
        given = compiled(kind, wish.filter)
        parts = parts_of(kind, wish, listing, given)
        read = _rows(reader, kind, wish, parts, beside, _Put(given, paths))
    except OperationRefused as refusal:
        problem = problem_of(wish.filter, refusal)
    told = _told(kind, wish, kind.rows_of(reader, read.rows, now, namespaces))
    read = read.first(told.taken)
    every = _tally(reader, kind, _listing(kind, kind.whole(wish), namespaces, now), paths)
    tally = every
    apart = [field.name for field in kind.fields]
    apart += [choice.name for choice in kind.choices]
    apart += [facet.name for facet in kind.facets if facet.is_beside]
    if any(wish.of(name) for name in apart):
        others = [facet.name for facet in kind.facets if not facet.is_beside]
        of_fields = wish.changed(filter="", **dict.fromkeys(others, ""))
        tally = _tally(reader, kind, _listing(kind, of_fields, namespaces, now), paths)
    counted = FacetCounts(kind, wish, tally, beside)
    states = FacetCounts(kind, wish, every, beside).within_namespace()
    place = place_of(reader, kind, wish, listing, read.follows)
    return ListPage(
        kind=kind,
        wish=wish,
        rows=told.rows,
        facets=counted.shown(),
        problem=problem,
        total=states.total(),
        sentence=kind.sentence(states, states.total())
        if kind.sentence is not None
        else f"{count_of(states.total(), *kind.counts)}.",
        fitting=None if given is not None or problem is not None else counted.fitting(),
        next_url=kind.address(wish.changed(after=place_text(place))) if place else "",
        first_url=kind.address(wish.changed()) if wish.after else "",
        looked_at=read.looked_at if read.is_cut else 0,
        cost=read.looked_at,
        shown=told.taken,
        folded_told=told.told,
    )


def _beside(
    reader: RecordReader,
    kind: ListKind,
    wish: ListWish,
    namespaces: Collection[str] | None,
    now: int,
) -> BesideFound:
    if kind.beside is None:
        return BesideFound({})
    besides = [facet.name for facet in kind.facets if facet.is_beside]
    return kind.beside(reader, wish, _listing(kind, wish.without(besides), namespaces, now))


def _tally(
    reader: RecordReader, kind: ListKind, listing: Listing, paths: ListedPaths | None
) -> Mapping[tuple[Any, ...], int]:
    """Rows that may be seen, counted by the columns of the facets together."""
    if paths is None:
        return reader.facets(kind.noun, kind.counted, listing)
    columns = tuple(dict.fromkeys((*kind.noun.key_columns, *kind.counted)))
    places = [columns.index(column) for column in kind.counted]
    of_key = len(kind.noun.key_columns)
    found = Counter[tuple[Any, ...]]()
    for cells, count in reader.facets(kind.noun, columns, listing).items():
        if paths.lists(*cells[:of_key]):
            found[tuple(cells[place] for place in places)] += count
    return found


def _listing(
    kind: ListKind, wish: ListWish, namespaces: Collection[str] | None, now: int
) -> Listing:
    """All that columns can answer."""
    name, is_down = kind.order_of(wish)
    told: dict[str, Any] = {}
    equals: dict[str, str | bool] = {}
    conditions = [
        *({"equals": facet.equals(wish.of(facet.name))} for facet in kind.facets
          if wish.of(facet.name)),
        *(field.listed(wish.of(field.name)) for field in kind.fields if wish.of(field.name)),
        *(each.listed(wish.of(each.name), now) for each in kind.choices if wish.of(each.name)),
    ]  # fmt: skip
    if kind.tab:
        conditions.append(_of_job(kind, wish))
    for condition in conditions:
        equals |= condition.get("equals", {})
        told |= {key: value for key, value in condition.items() if key != "equals"}
    seen = namespaces if kind.has_namespaces else None
    space = equals.pop("namespace", "")
    if space:
        seen = _one_of(kind, str(space), seen)
    return Listing(
        namespaces=seen,
        equals=equals,
        among=kind.among,
        hidden_kinds=kind.hidden_kinds,
        limit=kind.reads(wish),
        reverse=is_down,
        sort=kind.orders[name].columns,
        **told,
    )


def _of_job(kind: ListKind, wish: ListWish) -> Mapping[str, Any]:
    """That a row is of the job whose page the list is a part of."""
    key = kind.job_of(wish)
    if kind.has_cluster_rows:
        # What it set going, and what of the cluster it had part in.
        return {"of_job": key, "equals": {"namespace": key.namespace}}
    return {"equals": {"namespace": key.namespace, "job_id": key.job_id}}


def _one_of(kind: ListKind, space: str, seen: Collection[str] | None) -> Collection[str]:
    """One of the namespaces that may be seen, and what is of none."""
    wanted = {space, CLUSTER} if kind.has_cluster_rows else {space}
    return wanted if seen is None else wanted.intersection(seen)


def _told(kind: ListKind, wish: ListWish, rows: RowContexts) -> Folded:
    return kind.folding.fold(rows, wish) if kind.folding is not None else Folded(rows, len(rows))


def _rows(
    reader: RecordReader, kind: ListKind, wish: ListWish, parts: Sequence[tuple[int, Listing]],
    beside: BesideFound, put: _Put,
) -> _Read:  # fmt: skip
    given, paths = put
    noun = beside.noun or kind.noun
    size = kind.reads(wish)
    if beside.rows is not None:
        rows = beside.rows
        found = (
            (number, row) for number, part in parts for row in _sorted(reader, kind, part, rows)
        )
        return _page_of(found, size, given)
    is_told = given is None or is_in_columns(noun, given)
    ask = reader.page if is_told and paths is None else reader.walk
    # A part is asked for only where those before it do not fill the page. Hidden rows are left out
    # before anything is counted, put to an expression or named as the place where it goes on.
    placed = (
        (number, row)
        for number, part in parts
        for row in ask(noun, part)
        if kind.shows(row, paths)
    )
    return _page_of(placed, size, None if is_told else given)


def _page_of(placed: Iterable[Placed], size: int, given: Filter | None) -> _Read:
    found: list[Placed] = []
    looked_at = 0
    for looked_at, each in enumerate(placed):
        if given is not None and looked_at >= MOST_LOOKED_AT:
            return _Read(found, each, looked_at, is_cut=True)
        if given is None or given.wants(each[1]):
            if len(found) >= size:
                return _Read(found, each, looked_at)
            found.append(each)
    return _Read(found, None, looked_at)


def _sorted(
    reader: RecordReader, kind: ListKind, listing: Listing, rows: Sequence[Any]
) -> list[Any]:
    """The few of these that belong to the listing, in its order."""
    fitting = []
    for row in rows:
        cells = dict(zip(kind.noun.column_names, kind.noun.row(row, str), strict=True))
        place = reader.place_in(kind.noun, listing, row)
        is_behind = not listing.after or (
            place <= listing.after if listing.reverse else place >= listing.after
        )
        is_seen = listing.namespaces is None or row.namespace in listing.namespaces
        is_equal = all(cells[column] == value for column, value in listing.equals.items())
        if is_behind and is_seen and is_equal and row.id.startswith(listing.prefix):
            fitting.append((place, row))
    fitting.sort(key=lambda pair: pair[0], reverse=listing.reverse)
    return [row for _, row in fitting]
