"""What rows are asked and counted by though no column of theirs says it.

In: a noun, columns, values. Out: conditions and statements, whose values are parameters. Of a
story whether it runs; of an allocation where its node stands, which a node may change any time.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cluster.store.story_conditions import RUNNING, runs
from scheduler.state import nouns
from scheduler.state.noun import Noun
from scheduler.state.story_nouns import STORIES
from scheduler.structs.allocation import Allocation

_Condition = tuple[str, list[Any]]
IS_RUNNING = "is_running"
#: Columns of the node of an allocation.
OF_NODE = ("datacenter", "node_pool")
TOLD: Mapping[Noun[Any, Any], tuple[str, ...]] = {
    STORIES: (IS_RUNNING,), nouns.ALLOCATIONS: OF_NODE
}  # fmt: skip


def _length(alloc: Allocation) -> int:
    return len(alloc.name)


#: With this before the name, `web.api[5]` stands before `web.api[10]`.
NAME_LENGTH = "name_length"
SORTED: Mapping[Noun[Any, Any], Mapping[str, tuple[str, Callable[[Any], Any]]]] = {
    nouns.ALLOCATIONS: {NAME_LENGTH: ("length(name)", _length)}
}


def sorted_by(noun: Noun[Any, Any], column: str) -> str:
    """A column that rows are sorted by, as a statement says it."""
    told = SORTED.get(noun, {}).get(column)
    return told[0] if told is not None else column


def told_by(noun: Noun[Any, Any]) -> tuple[str, ...]:
    """The names of what rows may be asked and counted by besides."""
    return TOLD.get(noun, ())


def condition(noun: Noun[Any, Any], name: str, value: Any, node_id: str) -> _Condition:
    """That something told has this value; `node_id`: how the column is written."""
    if noun is STORIES:
        return runs(is_running=bool(value)), []
    assert name in OF_NODE, f"allocations are not told by {name}"
    return f"{node_id} IN (SELECT id FROM node WHERE {name} = %s)", [value]  # noqa: S608 - a name of our own


def counting(noun: Noun[Any, Any], columns: Sequence[str], where: str) -> str:
    """The statement that counts rows by these columns together; `where` with its word or empty."""
    told = set(columns) & set(told_by(noun))
    names = ", ".join(columns)
    if noun is nouns.ALLOCATIONS and told:
        return _counting_places(columns, where)
    shown = [_TOLD_AS[name] if name in told else name for name in columns]
    return f"SELECT {', '.join(shown)}, COUNT(*) FROM {noun.table}{where} GROUP BY {names}"  # noqa: S608 - names of our own


_TOLD_AS = {IS_RUNNING: f"(id IN ({RUNNING})) AS {IS_RUNNING}"}


def _counting_places(columns: Sequence[str], where: str) -> str:
    """Counted by node first, along one index: each node is looked up once for many allocations."""
    own = ", ".join(name for name in columns if name not in OF_NODE)
    named: Callable[[str], str] = lambda name: (  # noqa: E731 - a name for one use
        f"node.{name}" if name in OF_NODE else f"counted.{name}"
    )
    shown = [
        f"COALESCE({named(name)}, '')" if name in OF_NODE else named(name) for name in columns
    ]
    return (
        f"SELECT {', '.join(shown)}, SUM(counted.held)"  # noqa: S608 - names of our own
        f" FROM (SELECT {own}, node_id, COUNT(*) AS held FROM allocation{where}"
        f" GROUP BY {own}, node_id) AS counted"
        f" LEFT JOIN node ON node.id = counted.node_id GROUP BY {', '.join(map(named, columns))}"
    )
