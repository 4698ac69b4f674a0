"""Which blocks and attributes a job file may hold, and which field of the request each one fills.

Out: `SCHEMAS`, one `Schema` per kind of block. Kinds of values come from the shapes of the
request; what a table cannot say is done by `finish`.
"""

from dataclasses import dataclass, field

from cluster.jobspec.request_shapes import SHAPES
from scheduler.structs.wire import wire_name

#: `block shape [label=Field]`, then lines of entries. An entry is `name`, `name=Field` or
#: `name=Field:block`; `name=@note/kind` keeps a value for `finish`. Lines: `args`, `need`
#: (required), `map` (block or attribute), `mapblock` (block only), `free` (a block of anything),
#: `one` and `many` blocks, `named` (many, as a map).
_TABLE = """
job Job label=@label
  args region namespace id name type priority all_at_once datacenters node_pool
  args consul_namespace vault_namespace consul_token vault_token
  map meta
  one update=Update:update periodic parameterized=ParameterizedJob reschedule=Reschedule migrate
  one multiregion ui vault=@vault
  many constraint=Constraints affinity=Affinities spread=Spreads group=TaskGroups task=@tasks
  many secret=@secrets
update UpdateStrategy
  args stagger max_parallel health_check min_healthy_time healthy_deadline progress_deadline
  args auto_revert auto_promote canary strategy
periodic PeriodicConfig
  args cron=Spec crons=Specs prohibit_overlap time_zone enabled
parameterized ParameterizedJobConfig
  args payload meta_required meta_optional
reschedule ReschedulePolicy
  args attempts interval delay delay_function max_delay unlimited
migrate MigrateStrategy
  args max_parallel health_check min_healthy_time healthy_deadline
restart RestartPolicy
  args attempts interval delay mode render_templates
disconnect DisconnectStrategy
  args lost_after replace reconcile stop_on_client_after
multiregion Multiregion
  one strategy
  many region=Regions
strategy MultiregionStrategy
  args max_parallel on_failure
region MultiregionRegion label=Name
  args count datacenters node_pool
  map meta
ui JobUIConfig
  args description
  many link=Links
link JobUILink
  args label url=URL
constraint Constraint
  args attribute=LTarget value=RTarget operator=Operand
  args version=@version/str semver=@semver/str regexp=@regexp/str set_contains=@set_contains/str
  args distinct_hosts=@distinct_hosts/bool distinct_property=@distinct_property/str
  args set_contains_any=@unused/any set_contains_all=@unused/any
  args is_set=@unused/any is_not_set=@unused/any
affinity Affinity
  args attribute=LTarget value=RTarget operator=Operand weight=@weight/int
  args version=@version/str semver=@semver/str regexp=@regexp/str set_contains=@set_contains/str
  args set_contains_any=@set_contains_any/str set_contains_all=@set_contains_all/str
spread Spread
  args attribute weight=@weight/int
  many target=SpreadTarget
target SpreadTarget label=Value
  args percent
group TaskGroup label=Name
  args count shutdown_delay max_run_duration stop_after_client_disconnect max_client_disconnect
  args prevent_reschedule_on_lost
  map meta
  one update migrate reschedule=ReschedulePolicy restart=RestartPolicy disconnect ephemeral_disk
  one consul scaling vault=@vault
  many constraint=Constraints affinity=Affinities spread=Spreads network=Networks service=Services
  many task=Tasks secret=@secrets
  named volume=Volumes
ephemeral_disk EphemeralDisk
  args size=SizeMB sticky migrate
consul Consul
  args namespace cluster partition
scaling ScalingPolicy
  args enabled min type
  need max
  free policy
task_scaling ScalingPolicy label=Type
  args enabled min max type=@type/str
  free policy
volume VolumeRequest label=Name
  args type source read_only sticky per_alloc access_mode attachment_mode
  one mount_options
mount_options CSIMountOptions
  args fs_type=FSType mount_flags
network NetworkResource
  args mode hostname mbits=MBits
  many port=@ports
  one dns cni
port Port label=Label
  args static=Value to host_network ignore_collision
dns DNSConfig
  args servers searches options
cni CNIConfig
  map args
service Service
  args name tags canary_tags port=PortLabel
  args provider address_mode address enable_tag_override on_update
  args task=TaskName cluster kind
  mapblock meta canary_meta tagged_addresses
  one weights identity check_restart connect
  many check=Checks
weights ServiceWeights
  args passing warning
check ServiceCheck
  args type name path method body port=PortLabel protocol interval timeout address_mode on_update
  args initial_status task=TaskName command args tls_server_name=TLSServerName
  args tls_skip_verify=TLSSkipVerify grpc_service=GRPCService
  args grpc_use_tls=GRPCUseTLS advertise notes
  args success_before_passing failures_before_critical failures_before_warning expose
  mapblock header
  one check_restart
check_restart CheckRestart
  args limit grace ignore_warnings
connect ConsulConnect
  args native
  one gateway sidecar_service sidecar_task
sidecar_service ConsulSidecarService
  args tags port disable_default_tcp_check=DisableDefaultTCPCheck
  mapblock meta
  one proxy
proxy ConsulProxy
  args local_service_address local_service_port
  many upstreams
  one expose transparent_proxy
  free config
expose ConsulExposeConfig
  many path=Paths:expose_path
expose_path ConsulExposePath
  args path protocol local_path_port listener_port
transparent_proxy ConsulTransparentProxy
  args uid=UID outbound_port exclude_inbound_ports exclude_outbound_ports
  args exclude_outbound_cidrs=ExcludeOutboundCIDRs exclude_uids=ExcludeUIDs no_dns=NoDNS
upstreams ConsulUpstream
  args destination_name destination_namespace
  args destination_peer destination_partition destination_type
  args local_bind_address local_bind_port local_bind_socket_path local_bind_socket_mode datacenter
  one mesh_gateway
  free config
mesh_gateway ConsulMeshGateway
  args mode
gateway ConsulGateway
  one proxy=Proxy:gateway_proxy ingress terminating mesh=Mesh:gateway_mesh
gateway_mesh ConsulMeshGateway
gateway_proxy ConsulGatewayProxy
  args connect_timeout envoy_gateway_bind_tagged_addresses envoy_gateway_no_default_bind
  args envoy_dns_discovery_type=EnvoyDNSDiscoveryType
  named envoy_gateway_bind_addresses
  free config
envoy_gateway_bind_addresses ConsulGatewayBindAddress label=@name
  args address port name
ingress ConsulIngressConfigEntry
  one tls=TLS
  many listener=Listeners
tls ConsulGatewayTLSConfig
  args enabled tls_min_version=TLSMinVersion tls_max_version=TLSMaxVersion cipher_suites
listener ConsulIngressListener
  args port protocol
  many service=Services:ingress_service
ingress_service ConsulIngressService
  args name hosts max_connections max_pending_requests max_concurrent_requests
  one tls=TLS
terminating ConsulTerminatingConfigEntry
  many service=Services:linked_service
linked_service ConsulLinkedService
  args name ca_file=CAFile cert_file key_file sni=SNI
sidecar_task SidecarTask
  args name driver user kill_timeout kill_signal shutdown_delay
  free config
  map env meta
  one resources logs=LogConfig
  many volume_mount=VolumeMounts identity=Identities
task Task label=Name
  args driver user leader kill_timeout kill_signal shutdown_delay kind
  free config
  map env meta
  one resources lifecycle logs=LogConfig restart=RestartPolicy dispatch_payload vault consul
  one csi_plugin=CSIPluginConfig schedule
  many constraint=Constraints affinity=Affinities
  many service=Services template=Templates artifact=Artifacts
  many volume_mount=VolumeMounts identity=@identities scaling=ScalingPolicies:task_scaling
  many action=Actions secret=Secrets
resources Resources
  args cpu=CPU cores memory=MemoryMB memory_max=MemoryMaxMB disk=DiskMB secrets=SecretsMB iops=IOPS
  many device=Devices network=Networks
  one numa=NUMA
device RequestedDevice label=Name
  args count
  many constraint=Constraints affinity=Affinities
numa NUMAResource
  args affinity devices
lifecycle TaskLifecycle
  need hook
  args sidecar
logs LogConfig
  args max_files max_file_size=MaxFileSizeMB disabled enabled
template Template
  args data=EmbeddedTmpl source=SourcePath destination=DestPath
  args change_mode change_signal env=Envvars perms
  args uid=Uid gid=Gid splay left_delimiter=LeftDelim right_delimiter=RightDelim
  args error_on_missing_key=ErrMissingKey once vault_grace
  one change_script wait
change_script ChangeScript
  args command args timeout fail_on_error run_on_first_render
wait WaitConfig
  args min max
artifact TaskArtifact
  args source=GetterSource destination=RelativeDest mode=GetterMode insecure=GetterInsecure chown
  mapblock options=GetterOptions headers=GetterHeaders
dispatch_payload DispatchPayloadConfig
  args file
volume_mount VolumeMount
  args volume destination read_only propagation_mode selinux_label=SELinuxLabel
vault Vault
  args role policies namespace cluster
  args env disable_file change_mode change_signal allow_token_expiration
identity WorkloadIdentity
  args name aud=Audience env file filepath ttl=TTL change_mode change_signal service_name
  args extra_claims=@extra_claims/[str]
action Action label=Name
  args command args
secret Secret label=Name
  args provider path
  free config
  map env
csi_plugin TaskCSIPluginConfig
  args id type mount_dir stage_publish_base_dir health_timeout
schedule TaskSchedule
  one cron
cron TaskScheduleCron
  args start end timezone
"""


@dataclass(frozen=True, slots=True)
class SchemaEntry:
    """One attribute or block: its name in the file and the field it fills."""

    name: str
    field: str
    #: Of an attribute: the kind of its value. Of a block: the name of its schema.
    kind: str


@dataclass(slots=True)
class Schema:
    """What one kind of block may hold."""

    name: str
    shape: str
    #: The field a label fills; empty if the block takes none.
    label_field: str = ""
    arguments: dict[str, SchemaEntry] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)
    #: Maps of text; those in `arguments` too may also be given as an attribute.
    maps: dict[str, SchemaEntry] = field(default_factory=dict)
    free: dict[str, SchemaEntry] = field(default_factory=dict)
    single: dict[str, SchemaEntry] = field(default_factory=dict)
    many: dict[str, SchemaEntry] = field(default_factory=dict)
    named: dict[str, SchemaEntry] = field(default_factory=dict)

    def block_entry(self, name: str) -> SchemaEntry | None:
        """The entry of a block of that type."""
        for table in (self.single, self.many, self.named, self.maps, self.free):
            if name in table:
                return table[name]
        return None

    @property
    def block_names(self) -> list[str]:
        """Every type of block that may stand here."""
        return [*self.single, *self.many, *self.named, *self.maps, *self.free]


def _entry(text: str, shape: str, *, is_block: bool) -> SchemaEntry:
    name, _, rest = text.partition("=")
    target, _, schema = rest.partition(":")
    target, _, kind = target.partition("/")
    target = target or wire_name(name)
    if is_block:
        return SchemaEntry(name, target, schema or name)
    if not kind:
        kind = SHAPES[shape].fields[target.casefold()].kind
    return SchemaEntry(name, target, kind)


def _schemas(table: str) -> dict[str, Schema]:
    schemas: dict[str, Schema] = {}
    schema = Schema("", "")
    for line in table.strip().splitlines():
        word, *rest = line.split()
        if not line.startswith(" "):
            label = rest[1].partition("=")[2] if len(rest) > 1 else ""
            schema = schemas[word] = Schema(word, rest[0], label)
            continue
        _add_line(schema, word, rest)
    return schemas


def _add_line(schema: Schema, word: str, texts: list[str]) -> None:
    blocks = {"one": schema.single, "many": schema.many, "named": schema.named}
    for text in texts:
        entry = _entry(text, schema.shape, is_block=word in blocks)
        if word in blocks:
            blocks[word][entry.name] = entry
        elif word == "free":
            schema.free[entry.name] = entry
        elif word == "mapblock":
            schema.maps[entry.name] = entry
        elif word == "map":
            schema.maps[entry.name] = schema.arguments[entry.name] = entry
        else:
            schema.arguments[entry.name] = entry
            if word == "need":
                schema.required.add(entry.name)


#: Every kind of block by its schema's name.
SCHEMAS = _schemas(_TABLE)
