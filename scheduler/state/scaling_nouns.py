"""The nouns of scaling: the bounds a group may be scaled within, and what was made of them.

In: their structs. Out: their declarations, which `nouns` takes into its list with all others.
"""

from scheduler.state.events import Topic
from scheduler.state.noun import Index, Noun, Owner
from scheduler.structs.identity import JobKey
from scheduler.structs.scaling import ScalingEvent
from scheduler.structs.task_group import ScalingPolicy

_OF_JOB = ("namespace", "job_id")

#: Of the current versions of jobs, by id. Written with a job, and only when one of them changed.
SCALING_POLICIES: Noun[str, ScalingPolicy] = Noun(
    struct=ScalingPolicy,
    topic="ScalingPolicy",
    table="scaling_policy",
    key=lambda policy: policy.id,
    key_columns=("id",),
    columns={
        "namespace": lambda policy: policy.job_key.namespace,
        "job_id": lambda policy: policy.job_key.job_id,
        "task_group": lambda policy: policy.task_group,
        "type": lambda policy: policy.type,
        "is_enabled": lambda policy: policy.enabled,
    },
    indexes={"job": Index(lambda policy: policy.job_key, _OF_JOB)},
    namespace=lambda policy: policy.job_key.namespace,
    table_index="scaling_policies",
)
#: By job and index: one write scales one group.
SCALING_EVENTS: Noun[tuple[JobKey, int], ScalingEvent] = Noun(
    struct=ScalingEvent,
    topic=Topic.SCALING_EVENT,
    table="scaling_event",
    key=lambda event: (event.job_key, event.create_index),
    key_columns=(*_OF_JOB, "create_index"),
    columns={"task_group": lambda event: event.task_group},
    instants={"happened_at": lambda event: event.time},
    indexes={"job": Index(lambda event: event.job_key, _OF_JOB)},
    namespace=lambda event: event.namespace,
    table_index="scaling_events",
    owner=Owner(Topic.JOB, "job"),
)
