"""What a blocking read waits for: the tables its index comes from, or single rows."""

from cluster.store.blocking import Watch
from scheduler.state.events import Topic
from scheduler.state.nouns import NOUNS
from scheduler.structs.identity import JobKey

#: Of nouns that share a table's index, the first one stands for it.
_TOPICS = {noun.table_index: noun.topic for noun in reversed(NOUNS) if noun.table_index}


def watch_table(table: str) -> Watch:
    """Any change of a table."""
    return Watch(_TOPICS[table])


def watch_row(table: str, key: str) -> Watch:
    """A change of one row."""
    return Watch(_TOPICS[table], key)


def watch_job(key: JobKey) -> Watch:
    """A change of one job; one of that id in another namespace wakes too, and costs a look."""
    return Watch(Topic.JOB, key.job_id)


def watch_versions(key: JobKey) -> tuple[Watch, ...]:
    """A change of any version of a job; the current one is the job's own row."""
    return watch_job(key), Watch(Topic.JOB_VERSION, key.job_id)


JOB_TABLES = (watch_table("jobs"), watch_table("job_summaries"))
