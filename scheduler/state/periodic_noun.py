"""The noun of launches: how far those of a periodic job are decided, and what became of the last.

In: its struct. Out: its declaration, which `nouns` takes into its list with all others.
"""

from scheduler.state.events import Topic
from scheduler.state.noun import Index, Noun, Owner
from scheduler.structs.identity import JobKey
from scheduler.structs.periodic_launch import PeriodicLaunch

_OF_JOB = ("namespace", "job_id")

#: One for each job that launches children by time.
PERIODIC_LAUNCHES: Noun[JobKey, PeriodicLaunch] = Noun(
    struct=PeriodicLaunch,
    topic=Topic.PERIODIC_LAUNCH,
    table="periodic_launch",
    key=lambda launches: launches.key,
    key_columns=_OF_JOB,
    columns={"launched": lambda launches: launches.launched},
    instants={"last_launch": lambda launches: launches.launch},
    indexes={"job": Index(lambda launches: launches.key, _OF_JOB)},
    namespace=lambda launches: launches.namespace,
    table_index="periodic_launches",
    owner=Owner(Topic.JOB, "job"),
)
