"""The fields of services in a request, Consul's mesh and gateways included.

Out: lines that `request_shapes` reads; how they are written is said there.
"""

SERVICE_FIELDS = """
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
"""
