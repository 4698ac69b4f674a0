"""The noun of what managers have set about collection: one row, absent until somebody does.

In: its struct. Out: its declaration, which `nouns` takes into its list with all others.
"""

from scheduler.state.events import Topic
from scheduler.state.noun import Noun
from scheduler.structs.collection import OVERRIDES_KEY, CollectionOverrides

COLLECTION_OVERRIDES: Noun[str, CollectionOverrides] = Noun(
    struct=CollectionOverrides,
    topic=Topic.COLLECTION_OVERRIDES,
    table="collection_overrides",
    key=lambda _: OVERRIDES_KEY,
    table_index="collection_overrides",
)
