"""The noun of root keys: a handful of rows, of which one signs.

In: its struct. Out: its declaration, which `nouns` takes into its list with all others.
"""

from scheduler.state.noun import Noun
from scheduler.structs.root_key import RootKey

ROOT_KEYS: Noun[str, RootKey] = Noun(
    struct=RootKey,
    topic="RootKey",
    table="root_key",
    key=lambda key: key.key_id,
    key_columns=("key_id",),
    columns={"state": lambda key: key.state},
    instants={
        "created_at": lambda key: key.create_time,
        "published_at": lambda key: key.publish_time,
    },
    table_index="root_keys",
)
