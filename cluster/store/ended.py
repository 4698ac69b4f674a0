"""Evaluations by when they ended: how many in a span, and how long they took.

In: instants, ns. Out: counts and pairs of instants, from indexes alone unless namespaces narrow
them. Collected evaluations are counted by what is left of them.
"""

from cluster.store.ports import Namespaces, Pair, Spans
from cluster.store.reader import DjangoStateReader
from cluster.store.tallies import within
from cluster.store.timestamps import instant, timestamp

_TABLES = ("evaluation", "evaluation_stub")
_ENDED = "modified_at >= %s AND modified_at < %s AND status IN ('complete', 'failed')"


def counts(reader: DjangoStateReader, spans: Spans, namespaces: Namespaces) -> list[int]:
    """How many ended in each of these spans, from the first instant to before the last."""
    where, spaces = within(namespaces, _ENDED)
    one = " + ".join(f"(SELECT COUNT(*) FROM {table}{where})" for table in _TABLES)  # noqa: S608 - names of our own tables only
    parameters = [
        value
        for since, until in spans
        for _ in _TABLES
        for value in (timestamp(since), timestamp(until), *spaces)
    ]
    (row,) = reader.rows(f"SELECT {', '.join([one] * len(spans))}", parameters)
    return [int(count) for count in row]


def pairs(
    reader: DjangoStateReader, span: Pair, namespaces: Namespaces, at_most: int
) -> list[Pair]:
    """When each was made and when it ended, the newest first."""
    where, spaces = within(namespaces, _ENDED)
    since, until = span
    found: list[Pair] = []
    instants = ", ".join(map(reader.as_stored, ("created_at", "modified_at")))
    for table in _TABLES:
        rows = reader.rows(
            f"SELECT {instants} FROM {table}{where}"  # noqa: S608 - names of our own tables only
            " ORDER BY modified_at DESC LIMIT %s",
            [timestamp(since), timestamp(until), *spaces, at_most],
        )
        found += ((instant(made), instant(ended)) for made, ended in rows if made)
    return sorted(found, key=lambda pair: pair[1], reverse=True)[:at_most]
