"""Which evaluations have ended since one looked last, from the indexes of their table.

In: a place. Out: ids, and their stories. Nothing of the event log is unpacked for it, which holds
all that plans wrote beside, and no evaluation is decoded.
"""

from typing import NamedTuple

from django.db import connections

from cluster.store.plain_cursor import plain_cursor
from cluster.store.transactions import dropping_a_broken
from cluster.store.writer import DjangoStateStore

_IS_OPEN = "status IN ('pending', 'blocked')"
_MADE = (
    "SELECT create_index, id, story_id, status FROM evaluation"
    " WHERE (create_index, id) > (%s, %s) ORDER BY create_index, id LIMIT %s"
)
_OPEN = f"SELECT id, story_id FROM evaluation WHERE {_IS_OPEN}"  # noqa: S608 - our own text
#: No index leads to them: asked once, when a process begins.
_CHANGED = (
    "SELECT id, story_id FROM evaluation"  # noqa: S608 - our own text
    f" WHERE modify_index > %s AND NOT {_IS_OPEN}"
)


class SeenUpTo(NamedTuple):
    """The evaluation that was made last of those that were seen."""

    create_index: int = 0
    id: str = "~"  # Behind all ids of an index.


class NewEvaluation(NamedTuple):
    """An evaluation that was not seen before."""

    place: SeenUpTo
    story_id: str
    is_open: bool


def made_behind(store: DjangoStateStore, place: SeenUpTo, limit: int) -> list[NewEvaluation]:
    """Those that were made after it, in order."""
    rows = _rows(store, _MADE, (*place, limit))
    return [
        NewEvaluation(SeenUpTo(index, eval_id), story_id, status in ("pending", "blocked"))
        for index, eval_id, story_id, status in rows
    ]


def open_now(store: DjangoStateStore) -> dict[str, str]:
    """The stories of those that are open, by their ids."""
    return dict(_rows(store, _OPEN, ()))


def ended_after(store: DjangoStateStore, index: int) -> dict[str, str]:
    """The stories of those that have ended, and changed after that index, by their ids."""
    return dict(_rows(store, _CHANGED, (index,)))


def _rows(store: DjangoStateStore, statement: str, parameters: tuple[object, ...]) -> list[tuple]:  # type: ignore[type-arg] # as statements have them
    connection = connections[store.alias]
    with dropping_a_broken(connection), plain_cursor(connection) as cursor:
        cursor.execute(statement, parameters)
        rows: list[tuple[object, ...]] = cursor.fetchall()
    return rows
