"""The fields of a job as requests write it: names, kinds, and which may be left open.

Out: `SHAPES`, one `Shape` per object. A field that may be left open (`?`) stays None when it is
not given, so that defaults can tell "absent" from "zero"; every other field has a zero value.
Knows no defaults. Services and tasks are listed in files of their own, in the same writing.
"""

from dataclasses import dataclass

from cluster.jobspec.service_fields import SERVICE_FIELDS
from cluster.jobspec.task_fields import TASK_FIELDS

#: Object name, then lines of `kind: names`. Kinds: a scalar (`str bool int int8 uint8 uint64 dur
#: bytes any`), an object's name, `[kind]` a list, `{kind}` a map by text. Lists and maps are None
#: when not given. `?` after a scalar or object: None when not given. `~`: as `?`, and left out of
#: output when None.
_JOB_FIELDS = """
Job
  str?: Region Namespace ID Name Type NodePool ParentID ConsulNamespace VaultNamespace
  str?: NomadTokenID Status StatusDescription DispatchIdempotencyToken
  int?: Priority SubmitTime
  bool?: AllAtOnce Stop Stable
  bool: Dispatched
  [str]: Datacenters
  bytes?: Payload
  {str}: Meta
  uint64?: Version CreateIndex ModifyIndex JobModifyIndex
  [Constraint]: Constraints
  [Affinity]: Affinities
  [Spread]: Spreads
  [TaskGroup]: TaskGroups
  UpdateStrategy?: Update
  Multiregion?: Multiregion
  PeriodicConfig?: Periodic
  ParameterizedJobConfig?: ParameterizedJob
  ReschedulePolicy?: Reschedule
  MigrateStrategy?: Migrate
  JobUIConfig?: UI
  JobVersionTag?: VersionTag
  str~: ConsulToken VaultToken
UpdateStrategy
  dur?: Stagger MinHealthyTime HealthyDeadline ProgressDeadline
  int?: MaxParallel Canary
  str?: HealthCheck
  bool?: AutoRevert AutoPromote
  str~: Strategy
PeriodicConfig
  bool?: Enabled ProhibitOverlap
  str?: Spec SpecType TimeZone
  [str]: Specs
ParameterizedJobConfig
  str: Payload
  [str]: MetaRequired MetaOptional
JobUIConfig
  str: Description
  [JobUILink]: Links
JobUILink
  str: Label URL
JobVersionTag
  str: Name Description
  int64: TaggedTime
Multiregion
  MultiregionStrategy?: Strategy
  [MultiregionRegion]: Regions
MultiregionStrategy
  int?: MaxParallel
  str?: OnFailure
MultiregionRegion
  str: Name NodePool
  int?: Count
  [str]: Datacenters
  {str}: Meta
Constraint
  str: LTarget RTarget Operand
Affinity
  str: LTarget RTarget Operand
  int8?: Weight
Spread
  str: Attribute
  int8?: Weight
  [SpreadTarget]: SpreadTarget
SpreadTarget
  str: Value
  uint8: Percent
TaskGroup
  str?: Name
  int?: Count
  bool?: PreventRescheduleOnLost
  dur?: ShutdownDelay MaxRunDuration StopAfterClientDisconnect MaxClientDisconnect
  {str}: Meta
  UpdateStrategy?: Update
  MigrateStrategy?: Migrate
  [Constraint]: Constraints
  [Affinity]: Affinities
  [Spread]: Spreads
  ScalingPolicy?: Scaling
  RestartPolicy?: RestartPolicy
  DisconnectStrategy?: Disconnect
  [Task]: Tasks
  EphemeralDisk?: EphemeralDisk
  ReschedulePolicy?: ReschedulePolicy
  [NetworkResource]: Networks
  Consul?: Consul
  [Service]: Services
  {VolumeRequest}: Volumes
MigrateStrategy
  int?: MaxParallel
  str?: HealthCheck
  dur?: MinHealthyTime HealthyDeadline
RestartPolicy
  dur?: Interval Delay
  int?: Attempts
  str?: Mode
  bool?: RenderTemplates
ReschedulePolicy
  int?: Attempts
  dur?: Interval Delay MaxDelay
  str?: DelayFunction
  bool?: Unlimited
DisconnectStrategy
  dur?: LostAfter StopOnClientAfter
  bool?: Replace
  str?: Reconcile
EphemeralDisk
  bool?: Sticky Migrate
  int?: SizeMB
ScalingPolicy
  str: ID Namespace Type
  {str}: Target
  {any}: Policy
  int64?: Min Max
  bool?: Enabled
  uint64: CreateIndex ModifyIndex
Consul
  str: Namespace Cluster Partition
VolumeRequest
  str: Name Type Source AccessMode AttachmentMode
  bool: ReadOnly Sticky PerAlloc
  CSIMountOptions?: MountOptions
CSIMountOptions
  str: FSType
  [str]: MountFlags
NetworkResource
  str: Mode Device CIDR IP Hostname
  int?: MBits
  DNSConfig?: DNS
  [Port]: ReservedPorts DynamicPorts
  CNIConfig?: CNI
DNSConfig
  [str]: Servers Searches Options
CNIConfig
  {str}: Args
Port
  str: Label HostNetwork
  int: Value To
  bool: IgnoreCollision
"""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a shape."""

    name: str
    kind: str
    #: None when not given.
    is_open: bool
    #: Left out of output while it is None.
    is_hidden: bool


@dataclass(frozen=True, slots=True)
class Shape:
    """One object: its name in decoder messages and its fields by folded name."""

    name: str
    fields: dict[str, Field]


def _field(name: str, kind: str) -> Field:
    bare = kind.rstrip("?~")
    is_open = kind != bare or bare[0] in "[{"
    return Field(name=name, kind=bare, is_open=is_open, is_hidden=kind.endswith("~"))


def _shapes(*tables: str) -> dict[str, Shape]:
    shapes: dict[str, Shape] = {}
    current: dict[str, Field] = {}
    for line in (line for table in tables for line in table.strip().splitlines()):
        kind, colon, names = line.strip().partition(":")
        if not colon:
            current = {}
            shapes[kind] = Shape(kind, current)
        for name in names.split():
            current[name.casefold()] = _field(name, kind)
    return shapes


#: By name.
SHAPES = _shapes(_JOB_FIELDS, SERVICE_FIELDS, TASK_FIELDS)
