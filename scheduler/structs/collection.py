"""Collection of what nobody needs any more: its core jobs, their times, and what they last did.

A core job is run by a `_core` evaluation, which is in the broker only and never in the record
(control-plane.md 4.1).
"""

from enum import StrEnum

import msgspec
from msgspec.structs import replace

from scheduler.structs.job import JobType
from scheduler.structs.wire import Nanoseconds, Wire

CORE_TYPE = "_core"
#: No namespace has this name.
CORE_NAMESPACE = "-"
#: Above that of any job.
CORE_PRIORITY = 32767

SECOND = 1_000_000_000
_MINUTE = 60.0
_HOUR = 3600.0


class CoreJob(StrEnum):
    """The JobID of core evaluations; a run that goes on carries its place behind a colon."""

    EVALUATIONS = "eval-gc"
    JOBS = "job-gc"
    NODES = "node-gc"
    DEPLOYMENTS = "deployment-gc"
    CSI_VOLUME_CLAIMS = "csi-volume-claim-gc"
    CSI_PLUGINS = "csi-plugin-gc"
    ONE_TIME_TOKENS = "one-time-token-gc"
    LOCAL_TOKENS = "local-token-expired-gc"
    GLOBAL_TOKENS = "global-token-expired-gc"
    ROOT_KEYS = "root-key-rotate-gc"
    VARIABLES = "variables-rekey"
    #: All that collect, one after the other, however young the rows are.
    FORCED = "force-gc"


#: Known by name, and without work: there are no CSI volumes or variables here, root keys stay
#: until somebody deletes them, and one-time tokens are forgotten with other secrets.
WITHOUT_WORK = frozenset(
    {
        CoreJob.CSI_VOLUME_CLAIMS,
        CoreJob.CSI_PLUGINS,
        CoreJob.ONE_TIME_TOKENS,
        CoreJob.ROOT_KEYS,
        CoreJob.VARIABLES,
    }
)
#: The order of a forced collection: nodes last, when their allocations are gone.
FORCED_ORDER = (
    CoreJob.JOBS,
    CoreJob.EVALUATIONS,
    CoreJob.DEPLOYMENTS,
    CoreJob.CSI_PLUGINS,
    CoreJob.CSI_VOLUME_CLAIMS,
    CoreJob.ONE_TIME_TOKENS,
    CoreJob.LOCAL_TOKENS,
    CoreJob.GLOBAL_TOKENS,
    CoreJob.ROOT_KEYS,
    CoreJob.NODES,
)


class CollectionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds: how often each core job runs, and how old rows must be for it."""

    evaluation_interval: float = 5 * _MINUTE
    evaluation_age: float = _HOUR
    batch_evaluation_age: float = 24 * _HOUR
    job_interval: float = 5 * _MINUTE
    job_age: float = 4 * _HOUR
    node_interval: float = 5 * _MINUTE
    node_age: float = 24 * _HOUR
    deployment_interval: float = 5 * _MINUTE
    deployment_age: float = _HOUR
    token_interval: float = 5 * _MINUTE
    #: Since they expired.
    token_age: float = _HOUR

    @property
    def intervals(self) -> dict[CoreJob, float]:
        """Of every core job that runs by time."""
        return {
            CoreJob.EVALUATIONS: self.evaluation_interval,
            CoreJob.JOBS: self.job_interval,
            CoreJob.NODES: self.node_interval,
            CoreJob.DEPLOYMENTS: self.deployment_interval,
            CoreJob.LOCAL_TOKENS: self.token_interval,
            CoreJob.GLOBAL_TOKENS: self.token_interval,
            CoreJob.CSI_VOLUME_CLAIMS: 5 * _MINUTE,
            CoreJob.CSI_PLUGINS: 5 * _MINUTE,
            CoreJob.ONE_TIME_TOKENS: 10 * _MINUTE,
            CoreJob.ROOT_KEYS: 10 * _MINUTE,
            CoreJob.VARIABLES: 10 * _MINUTE,
        }


#: The key of the one row of overrides.
OVERRIDES_KEY = "collection"
#: Seconds that an override may be, both ends allowed.
INTERVAL_BOUNDS = (10.0, 24 * _HOUR)
AGE_BOUNDS = (0.0, 10 * 365 * 24 * _HOUR)


class CollectionOverrides(Wire, frozen=True):
    """What managers have set in place of the settings of the environment.

    Fields are those of `CollectionSettings`; None leaves the environment's value.
    """

    evaluation_interval: float | None = None
    evaluation_age: float | None = None
    batch_evaluation_age: float | None = None
    job_interval: float | None = None
    job_age: float | None = None
    node_interval: float | None = None
    node_age: float | None = None
    deployment_interval: float | None = None
    deployment_age: float | None = None
    token_interval: float | None = None
    token_age: float | None = None
    create_index: int = 0
    modify_index: int = 0

    @property
    def values(self) -> dict[str, float]:
        """Those that stand in place of the environment's, by field."""
        names = CollectionSettings.__struct_fields__
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    @property
    def out_of_bounds(self) -> list[str]:
        """The fields whose values may not be."""
        bounds = {name: bounds_of(name) for name in self.values}
        return [
            name
            for name, value in self.values.items()
            if not bounds[name][0] <= value <= bounds[name][1]
        ]

    def over(self, settings: CollectionSettings) -> CollectionSettings:
        """What counts: these, and what the environment says where there is none."""
        return replace(settings, **self.values)


def bounds_of(field: str) -> tuple[float, float]:
    """The least and the most seconds that an override may be."""
    return INTERVAL_BOUNDS if field.endswith("_interval") else AGE_BOUNDS


class Cutoffs(Wire, frozen=True):
    """The instants up to which rows are old, of one run."""

    now: Nanoseconds
    job: Nanoseconds
    deployment: Nanoseconds
    node: Nanoseconds
    token: Nanoseconds
    evaluation: Nanoseconds
    batch_evaluation: Nanoseconds

    def of_evaluation(self, job_type: str) -> Nanoseconds:
        """For an evaluation of this type, and its allocations."""
        return self.batch_evaluation if job_type == JobType.BATCH else self.evaluation


def cutoffs(settings: CollectionSettings, now: int) -> Cutoffs:
    """What is old for a run that begins now."""
    return Cutoffs(
        now=now,
        job=now - round(settings.job_age * SECOND),
        deployment=now - round(settings.deployment_age * SECOND),
        node=now - round(settings.node_age * SECOND),
        token=now - round(settings.token_age * SECOND),
        evaluation=now - round(settings.evaluation_age * SECOND),
        batch_evaluation=now - round(settings.batch_evaluation_age * SECOND),
    )


def forced_cutoffs(now: int) -> Cutoffs:
    """Whatever is older than a millisecond is old."""
    lately = now - SECOND // 1000
    return Cutoffs(
        now=now,
        job=lately,
        deployment=lately,
        node=lately,
        token=lately,
        evaluation=lately,
        batch_evaluation=lately,
    )


class Collection(Wire, frozen=True):
    """What the newest run of a core job did; one row per core job that has work."""

    #: One of `CoreJob`.
    name: str
    #: When somebody last asked for it; of `force-gc` only.
    demanded_at: Nanoseconds = 0
    #: When its evaluation was put into the broker, and when its run had ended; 0 until then.
    started_at: Nanoseconds = 0
    ended_at: Nanoseconds = 0
    #: What the run deleted.
    allocations: int = 0
    evaluations: int = 0
    jobs: int = 0
    deployments: int = 0
    nodes: int = 0
    tokens: int = 0
    create_index: int = 0
    modify_index: int = 0

    @property
    def is_awaited(self) -> bool:
        """Somebody asked for it, and no run that began since has ended."""
        return self.demanded_at > 0 and (not self.ended_at or self.started_at < self.demanded_at)


def core_job_of(job_id: str) -> str:
    """The name in the JobID of a core evaluation, without the place behind the colon."""
    return job_id.partition(":")[0]
