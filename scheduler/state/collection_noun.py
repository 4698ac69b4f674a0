"""The nouns of collection: its newest runs, and what managers have set about it.

In: their structs. Out: their declarations, which `nouns` takes into its list with all others.
"""

from scheduler.state.events import Topic
from scheduler.state.noun import Noun
from scheduler.structs.collection import OVERRIDES_KEY, Collection, CollectionOverrides

#: One row, absent until somebody sets anything.
COLLECTION_OVERRIDES: Noun[str, CollectionOverrides] = Noun(
    struct=CollectionOverrides,
    topic=Topic.COLLECTION_OVERRIDES,
    table="collection_overrides",
    key=lambda _: OVERRIDES_KEY,
    table_index="collection_overrides",
)
#: By core job: its newest run.
COLLECTIONS: Noun[str, Collection] = Noun(
    struct=Collection,
    topic=Topic.COLLECTION,
    table="collection",
    key=lambda collection: collection.name,
    table_index="collections",
)
