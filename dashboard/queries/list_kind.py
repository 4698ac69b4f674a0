"""What a list of the pages is made of: orders, facets, columns, rows. No list is named here.

In: nothing. Out: the types that `list_kinds` declares lists with and `lists` reads them by.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from cluster.operations.story_rights import hidden_kinds
from cluster.page_addresses import job_url
from cluster.store.ports import Listing, Namespaces, RecordReader
from dashboard.queries.list_wish import NAMESPACE, ListWish
from dashboard.rights import NODE_READ, ListedPaths
from scheduler.state.noun import Noun
from scheduler.structs.identity import JobKey
from scheduler.structs.story import StoryKind

#: Contexts of the row's template, by the rows' keys.
RowContexts = Mapping[str, Mapping[str, Any]]
#: Rows in the order of the values, as of an instant.
RowsOf = Callable[[RecordReader, Sequence[Any], int], RowContexts]
#: The same, of what may be told of these namespaces.
RowsWithin = Callable[[RecordReader, Sequence[Any], int, Namespaces], RowContexts]
#: Values of a facet in their order, with the words for people.
Words = Mapping[str, str]


#: The namespace of what concerns the cluster.
CLUSTER = ""
#: What the address of a part of a job's page says before anything else: which job.
JOB = "job"


def of_all(rows_of: RowsOf) -> RowsWithin:
    """Rows that say the same to everybody who may see them."""
    return lambda reader, values, now, _namespaces: rows_of(reader, values, now)


class ListOrder(NamedTuple):
    """Something that rows are sorted by."""

    word: str
    #: Columns before those of the natural order; none: the natural order itself.
    columns: tuple[str, ...] = ()
    #: Whether the largest is first when nothing is said: the newest, the most urgent.
    is_down: bool = False
    #: What rows are equal to in each of its parts, which follow each other.
    parts: tuple[Mapping[str, str | bool], ...] = ({},)


class ListColumn(NamedTuple):
    """One column of the table. What stands in it is said by the row's template."""

    word: str
    #: How wide it is, as `table.css` knows: it keeps that width whatever comes.
    width: str = ""
    order: str = ""
    is_number: bool = False
    is_hidden: bool = False


class Facet(NamedTuple):
    """Something that rows are counted and narrowed by."""

    name: str
    word: str
    #: The value of a row, from the counted columns by their names.
    value_of: Callable[[Mapping[str, Any]], str]
    #: What the columns of the rows with a value are equal to; nothing where no column says it.
    equals: Callable[[str], Mapping[str, str | bool]]
    #: How values are told, those that are named first; others are told as they are.
    words: Words = {}
    #: As chips in sight; others are folded behind their word.
    is_open: bool = False
    #: The one column that it is; "" when it is told from several.
    column: str = ""
    #: Of its values.
    icons: Mapping[str, str] = {}
    #: Whether values that no row has are not shown; else all are, so that nothing moves.
    hides_empty: bool = False
    #: Whether only those who may see nodes are shown it.
    is_of_nodes: bool = False
    #: Whether its values are too many to be counted with the others: `beside` counts the first.
    is_beside: bool = False


def column_facet(
    name: str, word: str, column: str = "", words: Words | None = None, *, is_open: bool = False
) -> Facet:
    """A facet that is a column."""
    column = column or name
    return Facet(
        name,
        word,
        lambda cells: str(cells[column]),
        lambda value: {column: value},
        words or {},
        is_open,
        column,
    )


class ListField(NamedTuple):
    """A text that rows are narrowed by, beside the expression."""

    name: str
    word: str
    #: What of a Listing it says.
    listed: Callable[[str], Mapping[str, Any]]
    #: What somebody must be able to open for it to be of use; "": nothing.
    opens: str = ""


class ListChoice(NamedTuple):
    """One of a few values that rows are narrowed by, beside the expression; "" is for all."""

    name: str
    word: str
    #: Values in their order, with the words for people.
    words: Words
    #: What of a Listing a value says at an instant, ns.
    listed: Callable[[str, int], Mapping[str, Any]]


class BesideFound(NamedTuple):
    """What a list shows that its table does not hold so, and how many of it there are."""

    #: By facet and value, beside what is counted in columns.
    counts: Mapping[tuple[str, str], int]
    #: How such values are told, where that is not by themselves.
    words: Mapping[tuple[str, str], str] = {}
    #: Facets that have more values than were counted.
    further: Collection[str] = ()
    #: Among these few rows alone; None: in the table.
    rows: Sequence[Any] | None = None
    #: In this noun's table instead of the list's own.
    noun: Noun[Any, Any] | None = None


#: From what is asked for and the listing of what columns say of it, facets that are beside apart.
Beside = Callable[[RecordReader, ListWish, Listing], BesideFound]


class Folded(NamedTuple):
    """Rows of a page of which some stand for several alike ones."""

    rows: RowContexts
    #: How many rows of the record they stand for: the page ends behind these.
    taken: int
    #: What is said of it; "" when nothing is folded.
    told: str = ""


class Folding(NamedTuple):
    """How a list folds alike rows."""

    #: How many rows are read for a page that is asked for so; the page's own size where none fold.
    reads: Callable[[ListWish], int]
    fold: Callable[[RowContexts, ListWish], Folded]


class Expressed(NamedTuple):
    """What of a row an expression may ask for: as much as is told of it, and no more."""

    struct: type[msgspec.Struct]
    of: Callable[[Any], msgspec.Struct]


class ListKind(msgspec.Struct, frozen=True, kw_only=True):
    """One list: everything that is not the same for all of them."""

    #: As the topic and the address call it.
    name: str
    one: str
    #: So many of them, for `count_of`.
    counts: tuple[str, str]
    noun: Noun[Any, Any]
    #: What must be granted in a namespace for its rows to be seen.
    capability: str = "read-job"
    #: Whether each row is asked for by itself, by namespace and path, which are its key.
    is_by_path: bool = False
    #: What an expression is put to, where that is not the whole row.
    expressed: "Expressed | None" = None
    #: Whose changes may change a row.
    topics: frozenset[str]
    #: By name; the first one is the list's own.
    orders: Mapping[str, ListOrder]
    columns: tuple[ListColumn, ...]
    facets: tuple[Facet, ...]
    #: The columns that facets are counted by: an index holds them all.
    counted: tuple[str, ...]
    fields: tuple[ListField, ...] = ()
    #: Values that every row of the list has one of.
    among: Mapping[str, tuple[str, ...]] = {}
    rows_of: RowsWithin
    #: The same for those who may not see nodes, where it differs.
    rows_without_nodes: RowsWithin | None = None
    folding: Folding | None = None
    choices: tuple[ListChoice, ...] = ()
    #: What an address may say besides, as a box of the form that is ticked or not: with its words.
    flags: Words = {}
    template: str
    #: The id of the table's body, and what the ids of its rows begin with.
    container: str
    #: What is said first, from the counts of its first facet and how many there are in all.
    sentence: Callable[[Mapping[str, int], int], str] | None = None
    has_namespaces: bool = True
    #: Whether rows of the cluster have the namespace "": for whoever may see nodes.
    has_cluster_rows: bool = False
    #: Of those: the kinds that are not shown.
    hidden_kinds: frozenset[StoryKind] = frozenset()
    #: Of the table, beside what all lists have.
    table_class: str = ""
    page_size: int = 50
    beside: Beside | None = None
    #: An expression that means something here.
    example: str = ""
    #: What is said, and offered, where there is nothing at all.
    empty: tuple[str, ...] = ()
    #: The part of a job's page that it is, of that job alone; "" for a page of its own.
    tab: str = ""

    @property
    def path(self) -> str:
        """Where its page lives, if it has one of its own."""
        return f"/{self.name}/"

    @property
    def fixed(self) -> tuple[str, ...]:
        """What every view of it asks for and nobody can take away."""
        return (NAMESPACE, JOB) if self.tab else ()

    def job_of(self, wish: ListWish) -> JobKey:
        """Of a part of a job's page: whose."""
        asked = dict(wish.asked)
        return JobKey(asked.get(NAMESPACE, ""), asked.get(JOB, ""))

    def address(self, wish: ListWish) -> str:
        """Where this view of it is shown."""
        if not self.tab:
            return wish.address(self.path)
        url, rest = job_url(self.job_of(wish), tab=self.tab), wish.without(self.fixed).key
        return f"{url}&{rest}" if rest else url

    def whole(self, wish: ListWish) -> ListWish:
        """The same list, not narrowed and in its own order."""
        return ListWish(asked=tuple(each for each in wish.asked if each[0] in self.fixed))

    def narrows(self, wish: ListWish) -> bool:
        """Whether rows of the list may be left out, other than those of pages before."""
        return wish.without(self.fixed).narrows

    @property
    def facet_names(self) -> tuple[str, ...]:
        """Of its facets."""
        return tuple(facet.name for facet in self.facets)

    @property
    def names(self) -> tuple[str, ...]:
        """What an address may ask for beside order, expression and place."""
        own = (*self.facet_names, *self.typed)
        return (*own, *self.fixed)

    @property
    def typed(self) -> tuple[str, ...]:
        """What the form of the list asks for beside the expression."""
        fields = (field.name for field in self.fields)
        return (*fields, *(choice.name for choice in self.choices), *self.flags)

    def seen_by(self, namespaces: Namespaces) -> Namespaces:
        """The namespaces whose rows are shown to somebody."""
        if namespaces is None or not self.has_cluster_rows:
            return namespaces
        return frozenset({*namespaces, CLUSTER})

    def shows(self, row: Any, paths: ListedPaths | None) -> bool:
        """Whether a row may be seen by somebody who may list these paths."""
        return paths is None or paths.lists(*self.noun.key(row))

    def as_seen(self, levels: Collection[str]) -> "ListKind":
        """Without what asks for a right that is not among these (`story_rights`)."""
        if self.has_cluster_rows:
            return msgspec.structs.replace(self, hidden_kinds=hidden_kinds(levels))
        reads_nodes = NODE_READ in levels
        hidden = {facet.name for facet in self.facets if facet.is_of_nodes}
        if reads_nodes or not hidden:
            return self
        columns = {facet.column for facet in self.facets if facet.name in hidden}
        return msgspec.structs.replace(
            self,
            facets=tuple(facet for facet in self.facets if facet.name not in hidden),
            counted=tuple(column for column in self.counted if column not in columns),
            beside=None,
            rows_of=self.rows_without_nodes or self.rows_of,
        )

    def reads(self, wish: ListWish) -> int:
        """How many rows a page is made of."""
        return self.folding.reads(wish) if self.folding is not None else self.page_size

    def wish(self, query: Mapping[str, str]) -> ListWish:
        """What an address asks for; a value that a facet cannot have is as good as none."""
        wish = ListWish.from_query(query, self.names)
        if self.tab:
            # Letter by letter: an id may be longer than a field takes, or end in a space.
            given = ((name, query.get(name, "")) for name in self.fixed)
            kept = wish.without(self.fixed).asked
            wish = msgspec.structs.replace(wish, asked=tuple(sorted((*kept, *given))))
        known = [(facet.name, facet.words) for facet in self.facets if facet.words]
        known += [(choice.name, choice.words) for choice in self.choices]
        unknown = [name for name, words in known if wish.of(name) not in {"", *words}]
        return wish.without(unknown) if unknown else wish

    def order_of(self, wish: ListWish) -> tuple[str, bool]:
        """The order's name, and whether the largest is first; the list's own for any other."""
        name = wish.sort.removeprefix("-")
        if name in self.orders:
            return name, wish.sort.startswith("-")
        own, order = next(iter(self.orders.items()))
        return own, order.is_down
