"""What changed, at which index: the frames of the event log that every reader follows.

One committed write is one frame. A frame lists every changed row with its full new value, so that
a mirror can be rolled forward from frames alone.
"""

from enum import StrEnum

import msgspec

from scheduler.structs.wire import Nanoseconds, Wire


class Topic(StrEnum):
    """What kind of row changed. Names are those of the public event stream, where it has one."""

    JOB = "Job"
    JOB_VERSION = "JobVersion"
    JOB_SUMMARY = "JobSummary"
    JOB_SUBMISSION = "JobSubmission"
    PERIODIC_LAUNCH = "PeriodicLaunch"
    SCALING_EVENT = "ScalingEvent"
    EVALUATION = "Evaluation"
    STORY = "Story"
    STORY_NODE = "StoryNode"
    ALLOCATION = "Allocation"
    DEPLOYMENT = "Deployment"
    NODE = "Node"
    NODE_USE = "NodeUse"
    STAGED_DRAIN = "StagedDrain"
    NODE_POOL = "NodePool"
    NAMESPACE = "Namespace"
    NAMESPACE_USE = "NamespaceUse"
    QUOTA = "Quota"
    SCHEDULER_SETTINGS = "SchedulerSettings"
    LIFECYCLE = "Lifecycle"
    EXPLANATION = "Explanation"
    COLLECTION = "Collection"
    COLLECTION_OVERRIDES = "CollectionOverrides"


class WriteKind(StrEnum):
    """Which write made a frame (http-api.md 6, `Type`); it names the write, not the row.

    Writes that put or delete one row of a plain noun are named by the noun (`QUOTAS.upserted`).
    """

    JOB_REGISTERED = "JobRegistered"
    #: To the public stream both are registrations.
    JOB_DISPATCHED = "JobDispatched"
    JOB_REVERTED = "JobReverted"
    #: A launch of a periodic job: made, skipped or missed; to the public stream a registration.
    JOB_LAUNCH_DECIDED = "JobLaunchDecided"
    JOB_DEREGISTERED = "JobDeregistered"
    EVALUATION_UPDATED = "EvaluationUpdated"
    ALLOCATION_UPDATED = "AllocationUpdated"
    ALLOCATION_UPDATE_DESIRED_STATUS = "AllocationUpdateDesiredStatus"
    DEPLOYMENT_STATUS_UPDATE = "DeploymentStatusUpdate"
    DEPLOYMENT_PROMOTION = "DeploymentPromotion"
    DEPLOYMENT_ALLOC_HEALTH = "DeploymentAllocHealth"
    PLAN_RESULT = "PlanResult"
    NODE_REGISTRATION = "NodeRegistration"
    NODE_DEREGISTRATION = "NodeDeregistration"
    NODE_ELIGIBILITY = "NodeEligibility"
    NODE_DRAIN = "NodeDrain"
    NODE_STREAM_EVENT = "NodeStreamEvent"
    #: Writes the public stream does not name.
    JOB_STABILITY_SET = "JobStabilitySet"
    JOB_VERSION_TAGGED = "JobVersionTagged"
    SCHEDULER_SETTINGS_UPDATED = "SchedulerSettingsUpdated"
    LIFECYCLE_RECORDED = "LifecycleRecorded"
    COLLECTED = "Collected"
    COLLECTION_DEMANDED = "CollectionDemanded"
    COLLECTION_OVERRIDDEN = "CollectionOverridden"
    ROOT_KEY_ROTATED = "RootKeyRotated"
    SUMMARIES_RECONCILED = "SummariesReconciled"


class StateEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One changed row."""

    #: Of the noun; one of `Topic` where someone asks for it by name.
    topic: str
    #: Job id, evaluation id, "eval_id/number" of a lifecycle step, ...
    key: str
    namespace: str = ""
    #: The row as it stands after the write; as it stood before when `deleted`.
    value: Wire
    deleted: bool = False


class EventFrame(msgspec.Struct, frozen=True, kw_only=True):
    """Everything one committed write changed, in the order it was put."""

    index: int
    #: One of `WriteKind`, or what the noun calls its putting or deleting.
    kind: str
    at: Nanoseconds
    events: tuple[StateEvent, ...]
