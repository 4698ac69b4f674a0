"""The facet of nodes: those that most rows of a list are on.

In: a noun whose rows have a `node_id`, what is asked for. Out: counts and names of nodes.
"""

from typing import Any

import msgspec

from cluster.store.ports import Listing, RecordReader
from dashboard.queries.facets import MOST_VALUES
from dashboard.queries.list_kind import Beside, BesideFound, Facet, column_facet
from dashboard.queries.list_wish import ListWish
from scheduler.state.noun import Noun

NODE: Facet = column_facet("node", "Node", "node_id")._replace(is_of_nodes=True, is_beside=True)


def nodes_beside(noun: Noun[Any, Any]) -> Beside:
    """What counts the nodes that most of these rows are on, and how many are on any."""

    def beside(reader: RecordReader, wish: ListWish, listing: Listing) -> BesideFound:
        counts = reader.facets(noun, ("node_id",), listing, MOST_VALUES + 1)
        chosen = wish.of(NODE.name)
        ids = [str(node_id) for (node_id,) in counts if node_id]
        if chosen and chosen not in ids:
            on_it = msgspec.structs.replace(listing, equals={**listing.equals, "node_id": chosen})
            counts = {**counts, (chosen,): reader.count(noun, on_it)}
        every = [*ids[:MOST_VALUES], *([chosen] if chosen else [])]
        reader.preload(nodes=every)
        named = {key: node.name for key in every if (node := reader.node(key)) is not None}
        return BesideFound(
            {(NODE.name, str(key)): count for (key,), count in counts.items() if key}
            | {(NODE.name, ""): reader.count(noun, listing)},
            words={(NODE.name, key): name for key, name in named.items()},
            further={NODE.name} if len(ids) > MOST_VALUES else (),
        )

    return beside
