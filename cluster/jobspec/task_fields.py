"""The fields of tasks in a request: what they run, hold, are given and may reach.

Out: lines that `request_shapes` reads; how they are written is said there.
"""

TASK_FIELDS = """
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
