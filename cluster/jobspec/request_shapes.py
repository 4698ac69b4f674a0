"""The fields of a job as requests write it: names, kinds, and which may be left open.

Out: `SHAPES`, one `Shape` per object. A field that may be left open (`?`) stays None when it is
not given, so that defaults can tell "absent" from "zero"; every other field has a zero value.
Knows no defaults.
"""

from dataclasses import dataclass

#: Object name, then lines of `kind: names`. Kinds: a scalar (`str bool int int8 uint8 uint64 dur
#: bytes any`), an object's name, `[kind]` a list, `{kind}` a map by text. Lists and maps are None
#: when not given. `?` after a scalar or object: None when not given. `~`: as `?`, and left out of
#: output when None.
_TABLE = """
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
Service
  str: Name PortLabel AddressMode Address TaskName OnUpdate Provider Cluster Kind
  bool: EnableTagOverride
  [str]: Tags CanaryTags
  {str}: Meta CanaryMeta TaggedAddresses
  [ServiceCheck]: Checks
  CheckRestart?: CheckRestart
  ConsulConnect?: Connect
  ServiceWeights?: Weights
  WorkloadIdentity?: Identity
ServiceWeights
  int: Passing Warning
ServiceCheck
  str: Name Type Command Path Protocol PortLabel AddressMode Advertise InitialStatus Notes
  str: TLSServerName Method GRPCService TaskName Body OnUpdate
  [str]: Args
  {[str]}: Header
  bool: Expose TLSSkipVerify GRPCUseTLS
  dur: Interval Timeout
  int: SuccessBeforePassing FailuresBeforeCritical FailuresBeforeWarning
  CheckRestart?: CheckRestart
CheckRestart
  int: Limit
  dur?: Grace
  bool: IgnoreWarnings
ConsulConnect
  bool: Native
  ConsulGateway?: Gateway
  ConsulSidecarService?: SidecarService
  SidecarTask?: SidecarTask
ConsulSidecarService
  bool: DisableDefaultTCPCheck
  str: Port
  [str]: Tags
  {str}: Meta
  ConsulProxy?: Proxy
ConsulProxy
  str: LocalServiceAddress
  int: LocalServicePort
  ConsulExposeConfig?: Expose ExposeConfig
  ConsulTransparentProxy?: TransparentProxy
  [ConsulUpstream]: Upstreams
  {any}: Config
ConsulExposeConfig
  [ConsulExposePath]: Path Paths
ConsulExposePath
  str: Path Protocol ListenerPort
  int: LocalPathPort
ConsulTransparentProxy
  str: UID
  int?: OutboundPort
  [str]: ExcludeInboundPorts ExcludeOutboundCIDRs ExcludeUIDs
  [int]: ExcludeOutboundPorts
  bool: NoDNS
ConsulUpstream
  str: DestinationName DestinationNamespace DestinationPeer DestinationPartition DestinationType
  str: LocalBindAddress LocalBindSocketPath LocalBindSocketMode Datacenter
  int: LocalBindPort
  ConsulMeshGateway?: MeshGateway
  {any}: Config
ConsulMeshGateway
  str: Mode
ConsulGateway
  ConsulGatewayProxy?: Proxy
  ConsulIngressConfigEntry?: Ingress
  ConsulTerminatingConfigEntry?: Terminating
  any?: Mesh
ConsulGatewayProxy
  dur?: ConnectTimeout
  bool: EnvoyGatewayBindTaggedAddresses EnvoyGatewayNoDefaultBind
  {ConsulGatewayBindAddress}: EnvoyGatewayBindAddresses
  str: EnvoyDNSDiscoveryType
  {any}: Config
ConsulGatewayBindAddress
  str: Name Address
  int: Port
ConsulGatewayTLSConfig
  bool: Enabled
  str: TLSMinVersion TLSMaxVersion
  [str]: CipherSuites
  any?: SDS
ConsulIngressConfigEntry
  ConsulGatewayTLSConfig?: TLS
  [ConsulIngressListener]: Listeners
ConsulIngressListener
  int: Port
  str: Protocol
  [ConsulIngressService]: Services
ConsulIngressService
  str: Name
  [str]: Hosts
  ConsulGatewayTLSConfig?: TLS
  any?: RequestHeaders ResponseHeaders
  uint32?: MaxConnections MaxPendingRequests MaxConcurrentRequests
ConsulTerminatingConfigEntry
  [ConsulLinkedService]: Services
ConsulLinkedService
  str: Name CAFile CertFile KeyFile SNI
SidecarTask
  str: Name Driver User KillSignal
  {any}: Config
  {str}: Env Meta
  Resources?: Resources
  dur?: KillTimeout ShutdownDelay
  LogConfig?: LogConfig
  [VolumeMount]: VolumeMounts
  [WorkloadIdentity]: Identities
Task
  str: Name Driver User KillSignal Kind
  {any}: Config
  {str}: Env Meta
  bool: Leader
  dur: ShutdownDelay
  dur?: KillTimeout
  [Constraint]: Constraints
  [Affinity]: Affinities
  [Service]: Services
  Resources?: Resources
  RestartPolicy?: RestartPolicy
  LogConfig?: LogConfig
  [TaskArtifact]: Artifacts
  Vault?: Vault
  Consul?: Consul
  [Secret]: Secrets
  [Template]: Templates
  DispatchPayloadConfig?: DispatchPayload
  TaskLifecycle?: Lifecycle
  [VolumeMount]: VolumeMounts
  [ScalingPolicy]: ScalingPolicies
  TaskCSIPluginConfig~: CSIPluginConfig
  WorkloadIdentity?: Identity
  [WorkloadIdentity]: Identities
  [Action]: Actions
  TaskSchedule?: Schedule
Resources
  int?: CPU Cores MemoryMB MemoryMaxMB DiskMB IOPS SecretsMB
  [NetworkResource]: Networks
  [RequestedDevice]: Devices
  NUMAResource?: NUMA
RequestedDevice
  str: Name
  uint64?: Count
  [Constraint]: Constraints
  [Affinity]: Affinities
NUMAResource
  str: Affinity
  [str]: Devices
LogConfig
  int?: MaxFiles MaxFileSizeMB
  bool?: Disabled Enabled
TaskArtifact
  str?: GetterSource GetterMode RelativeDest
  {str}: GetterOptions GetterHeaders
  bool?: GetterInsecure
  bool: Chown
Vault
  [str]: Policies
  str: Role Cluster
  str?: Namespace ChangeMode ChangeSignal
  bool?: Env DisableFile AllowTokenExpiration
Secret
  str: Name Provider Path
  {any}: Config
  {str}: Env
Template
  str?: SourcePath DestPath EmbeddedTmpl ChangeMode ChangeSignal Perms LeftDelim RightDelim
  ChangeScript?: ChangeScript
  dur?: Splay VaultGrace
  bool?: Once Envvars ErrMissingKey
  int?: Uid Gid
  WaitConfig?: Wait
ChangeScript
  str?: Command
  [str]: Args
  dur?: Timeout
  bool?: FailOnError
  bool: RunOnFirstRender
WaitConfig
  dur?: Min Max
DispatchPayloadConfig
  str: File
TaskLifecycle
  str: Hook
  bool: Sidecar
VolumeMount
  str?: Volume Destination PropagationMode SELinuxLabel
  bool?: ReadOnly
TaskCSIPluginConfig
  str: ID Type MountDir StagePublishBaseDir
  dur: HealthTimeout
WorkloadIdentity
  str: Name ChangeMode ChangeSignal Filepath ServiceName
  [str]: Audience
  bool: Env File
  dur: TTL
  {any}: ExtraClaims
Action
  str: Name Command
  [str]: Args
TaskSchedule
  TaskScheduleCron?: Cron
TaskScheduleCron
  str: Start End Timezone
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


def _shapes(table: str) -> dict[str, Shape]:
    shapes: dict[str, Shape] = {}
    current: dict[str, Field] = {}
    for line in table.strip().splitlines():
        kind, colon, names = line.strip().partition(":")
        if not colon:
            current = {}
            shapes[kind] = Shape(kind, current)
        for name in names.split():
            current[name.casefold()] = _field(name, kind)
    return shapes


#: By name.
SHAPES = _shapes(_TABLE)
