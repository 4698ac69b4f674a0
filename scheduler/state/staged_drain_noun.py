"""The noun of staged drains.

In: its struct. Out: its declaration, which `nouns` takes into its list with all others.
"""

from scheduler.state.events import Topic
from scheduler.state.noun import Index, Noun
from scheduler.structs.staged_drain import StagedDrain

STAGED_DRAINS: Noun[str, StagedDrain] = Noun(
    struct=StagedDrain,
    topic=Topic.STAGED_DRAIN,
    table="staged_drain",
    key=lambda drain: drain.id,
    key_columns=("id",),
    columns={"status": lambda drain: drain.status.value},
    instants={
        "created_at": lambda drain: drain.create_time,
        "modified_at": lambda drain: drain.modify_time,
    },
    indexes={"status": Index(lambda drain: drain.status.value, ("status",))},
    table_index="staged_drains",
)
