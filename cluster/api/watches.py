"""What a blocking read waits for: the tables its index comes from, or single rows."""

from cluster.store.blocking import Watch
from scheduler.state.events import Topic
from scheduler.structs.identity import JobKey

_TOPICS = {
    "jobs": Topic.JOB,
    "job_summaries": Topic.JOB_SUMMARY,
    "nodes": Topic.NODE,
    "allocations": Topic.ALLOCATION,
    "evaluations": Topic.EVALUATION,
    "deployments": Topic.DEPLOYMENT,
    "namespaces": Topic.NAMESPACE,
    "quotas": Topic.QUOTA,
    "node_pools": Topic.NODE_POOL,
    "scheduler_settings": Topic.SCHEDULER_SETTINGS,
    "lifecycle": Topic.LIFECYCLE,
}


def watch_table(table: str) -> Watch:
    """Any change of a table."""
    return Watch(_TOPICS[table])


def watch_row(table: str, key: str) -> Watch:
    """A change of one row."""
    return Watch(_TOPICS[table], key)


def watch_job(key: JobKey) -> Watch:
    """A change of one job; one of that id in another namespace wakes too, and costs a look."""
    return Watch(Topic.JOB, key.job_id)


JOB_TABLES = (watch_table("jobs"), watch_table("job_summaries"))
