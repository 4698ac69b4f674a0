"""Which table of the record each kind of changed row belongs to, for the last index per table."""

from scheduler.state.events import Topic

#: Topics without an entry move no table's index: NodeUse is a sum, not a fact of its own.
TABLE_OF_TOPIC: dict[Topic, str] = {
    Topic.JOB: "jobs",
    Topic.JOB_VERSION: "jobs",
    Topic.JOB_SUBMISSION: "jobs",
    Topic.JOB_SUMMARY: "job_summaries",
    Topic.EVALUATION: "evaluations",
    Topic.ALLOCATION: "allocations",
    Topic.DEPLOYMENT: "deployments",
    Topic.NODE: "nodes",
    Topic.NODE_POOL: "node_pools",
    Topic.NAMESPACE: "namespaces",
    Topic.QUOTA: "quotas",
    Topic.SCHEDULER_SETTINGS: "scheduler_settings",
    Topic.LIFECYCLE: "lifecycle",
}
