"""The noun of rehearsals.

In: its struct. Out: its declaration, which `nouns` takes into its list with all others.
"""

from scheduler.state.noun import Index, Noun
from scheduler.structs.rehearsal import StoredRehearsal

REHEARSALS: Noun[str, StoredRehearsal] = Noun(
    struct=StoredRehearsal,
    topic="Rehearsal",
    table="rehearsal",
    key=lambda row: row.id,
    key_columns=("id",),
    columns={"status": lambda row: row.status.value},
    instants={"asked_at": lambda row: row.asked_at},
    indexes={"status": Index(lambda row: row.status.value, ("status",))},
    table_index="rehearsals",
)
