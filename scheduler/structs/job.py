"""A job: what someone wants to run, in one version of its description."""

from enum import StrEnum

from scheduler.structs.constraint import Affinity, Constraint, Spread
from scheduler.structs.identity import DEFAULT_NAMESPACE, JobKey
from scheduler.structs.policies import UpdateStrategy
from scheduler.structs.task_group import TaskGroup
from scheduler.structs.wire import Nanoseconds, Wire


class JobType(StrEnum):
    """Which scheduler a job goes to."""

    SERVICE = "service"
    BATCH = "batch"
    SYSTEM = "system"
    SYSBATCH = "sysbatch"


class JobStatus(StrEnum):
    """What has become of a job (control-plane.md 13.1)."""

    PENDING = "pending"
    RUNNING = "running"
    DEAD = "dead"


class Periodic(Wire, frozen=True):
    """Launch a child of this job at the times of a cron expression."""

    enabled: bool = True
    spec: str = ""
    specs: tuple[str, ...] = ()
    spec_type: str = "cron"
    prohibit_overlap: bool = False
    time_zone: str = "UTC"


class ParameterizedJob(Wire, frozen=True):
    """A job that only runs as children dispatched with a payload and metadata."""

    payload: str = "optional"
    meta_required: tuple[str, ...] = ()
    meta_optional: tuple[str, ...] = ()


class JobLink(Wire, frozen=True):
    """A link shown on the job's page."""

    label: str = ""
    url: str = ""


class JobUI(Wire, frozen=True):
    """What the author says of the job to people."""

    description: str = ""
    links: tuple[JobLink, ...] = ()


class VersionTag(Wire, frozen=True):
    """A name for one version of a job; tagged versions are kept."""

    name: str = ""
    description: str = ""
    tagged_time: Nanoseconds = 0


class Job(Wire, frozen=True):
    """One version of a job. `type` and other words of the author are free text until validated."""

    stop: bool = False
    region: str = "global"
    namespace: str = DEFAULT_NAMESPACE
    id: str = ""
    parent_id: str = ""
    name: str = ""
    type: str = JobType.SERVICE.value
    priority: int = 50
    all_at_once: bool = False
    datacenters: tuple[str, ...] = ("*",)
    node_pool: str = "default"
    constraints: tuple[Constraint, ...] = ()
    affinities: tuple[Affinity, ...] = ()
    spreads: tuple[Spread, ...] = ()
    task_groups: tuple[TaskGroup, ...] = ()
    update: UpdateStrategy = UpdateStrategy()
    multiregion: dict[str, object] | None = None
    periodic: Periodic | None = None
    parameterized_job: ParameterizedJob | None = None
    dispatched: bool = False
    dispatch_idempotency_token: str = ""
    #: base64 text
    payload: str = ""
    meta: dict[str, str] = {}
    consul_namespace: str = ""
    vault_namespace: str = ""
    nomad_token_id: str = ""
    status: str = ""
    status_description: str = ""
    stable: bool = False
    version: int = 0
    submit_time: Nanoseconds = 0
    create_index: int = 0
    modify_index: int = 0
    job_modify_index: int = 0
    ui: JobUI | None = None
    version_tag: VersionTag | None = None

    @property
    def key(self) -> JobKey:
        """Namespace and id."""
        return JobKey(self.namespace, self.id)

    @property
    def is_periodic(self) -> bool:
        """Whether it launches children by time instead of running itself."""
        return self.periodic is not None

    @property
    def launches_by_time(self) -> bool:
        """Whether children of it are to be launched when its schedule says so."""
        return (
            self.periodic is not None
            and self.periodic.enabled
            and not self.stop
            and not self.is_parameterized
        )

    @property
    def is_parameterized(self) -> bool:
        """Whether it only runs as dispatched children; a dispatched child itself is not."""
        return self.parameterized_job is not None and not self.dispatched

    def task_group(self, name: str) -> TaskGroup | None:
        """The group of that name."""
        return next((group for group in self.task_groups if group.name == name), None)


class TaskGroupSummary(Wire, frozen=True):
    """How many allocations of a group are in each client state; `starting` is client pending."""

    queued: int = 0
    complete: int = 0
    failed: int = 0
    running: int = 0
    starting: int = 0
    lost: int = 0
    unknown: int = 0


class JobChildrenSummary(Wire, frozen=True):
    """How many children of a periodic or parameterized job are in each status."""

    pending: int = 0
    running: int = 0
    dead: int = 0


class JobSummary(Wire, frozen=True):
    """Counts kept beside a job, moved by other writes (control-plane.md 13.3)."""

    job_id: str = ""
    namespace: str = DEFAULT_NAMESPACE
    summary: dict[str, TaskGroupSummary] = {}
    children: JobChildrenSummary = JobChildrenSummary()
    create_index: int = 0
    modify_index: int = 0


class JobSubmission(Wire, frozen=True):
    """The text a job version was submitted as."""

    source: str = ""
    #: hcl2 or json
    format: str = ""
    variable_flags: dict[str, str] = {}
    variables: str = ""
    namespace: str = ""
    job_id: str = ""
    version: int = 0
    job_modify_index: int = 0


class NamespaceCapabilities(Wire, frozen=True):
    """Task drivers and network modes that jobs of a namespace may use.

    What is disabled is forbidden; where anything is enabled, everything else is forbidden too.
    """

    enabled_task_drivers: tuple[str, ...] | None = None
    disabled_task_drivers: tuple[str, ...] | None = None
    enabled_network_modes: tuple[str, ...] | None = None
    disabled_network_modes: tuple[str, ...] | None = None


class NamespacePoolRules(Wire, frozen=True):
    """Which node pools jobs of a namespace may name; `*` in a name stands for any text."""

    #: For jobs that name none; "": the built-in `default`.
    default: str = ""
    #: None: every pool; the default one belongs to them.
    allowed: tuple[str, ...] | None = None
    denied: tuple[str, ...] | None = None


class Namespace(Wire, frozen=True):
    """A room for jobs, with its own rights and limits."""

    name: str = ""
    description: str = ""
    quota: str = ""
    #: None: every driver and mode.
    capabilities: NamespaceCapabilities | None = None
    #: None: every pool.
    node_pool_configuration: NamespacePoolRules | None = None
    #: Claims that identities of its tasks would carry, by name; kept for clients to read.
    required_extra_claims: dict[str, str] | None = None
    optional_extra_claims: dict[str, str] | None = None
    meta: dict[str, str] = {}
    create_index: int = 0
    modify_index: int = 0
