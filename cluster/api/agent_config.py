"""The configuration of the reference's agent, field by field, as nothing here is configured by it.

In: nothing. Out: a fresh object with every field of `GET /v1/agent/self` (http-api.md 5.7), each
empty: what this server does have, `server_facts` fills in.
"""

from copy import deepcopy
from typing import Any


def unset(
    *,
    texts: str = "",
    numbers: str = "",
    flags: str = "",
    nothings: str = "",
    lists: str = "",
    maps: str = "",
    **objects: dict[str, Any],
) -> dict[str, Any]:
    """An object whose fields, named by words, have the empty value of their type."""
    return {
        **dict.fromkeys(texts.split(), ""),
        **dict.fromkeys(numbers.split(), 0),
        **dict.fromkeys(flags.split(), False),
        **dict.fromkeys(nothings.split()),
        **{name: [] for name in lists.split()},
        **{name: {} for name in maps.split()},
        **objects,
    }


_EMPTY = unset(
    texts=(
        "BindAddr DataDir Datacenter LogFile LogLevel LogRotateDuration NodeName PluginDir "
        "Region SyslogFacility"
    ),
    numbers="LogRotateBytes LogRotateMaxFiles",
    flags=(
        "DevMode DisableAnonymousSignature DisableUpdateCheck EnableDebug EnableSyslog "
        "LeaveOnInt LeaveOnTerm LogIncludeLocation LogJson"
    ),
    nothings="KEKProviders",
    lists="ConfigPaths Consuls Files Plugins Vaults",
    maps="HTTPAPIResponseHeaders",
    ACL=unset(
        texts="ReplicationToken",
        numbers="PolicyTTL RoleTTL TokenMaxExpirationTTL TokenMinExpirationTTL TokenTTL",
        flags="Enabled",
    ),
    Addresses=unset(
        texts="HTTP RPC Serf",
    ),
    AdvertiseAddrs=unset(
        texts="HTTP RPC Serf",
    ),
    Audit=unset(
        nothings="Enabled Filters Sinks",
    ),
    Autopilot=unset(
        numbers="LastContactThreshold MaxTrailingLogs MinQuorum ServerStabilizationTime",
        nothings=(
            "CleanupDeadServers DisableUpgradeMigration EnableCustomUpgrades EnableRedundancyZones"
        ),
    ),
    Client=unset(
        texts=(
            "AllocDir AllocMountsDir BridgeNetworkName BridgeNetworkSubnet "
            "BridgeNetworkSubnetIPv6 CNIConfigDir CNIPath CgroupParent CommonPluginDir "
            "HostVolumePluginDir HostVolumesDir IntroToken LogFile MaxKillTimeout "
            "NetworkInterface NodeClass NodePool PreferredAddressFamily ReservableCores "
            "StateDir"
        ),
        numbers=(
            "ClientMaxPort ClientMinPort CpuCompute DiskFreeMB DiskTotalMB "
            "GCDiskUsageThreshold GCInodeUsageThreshold GCInterval GCMaxAllocs "
            "GCParallelDestroys MaxDynamicPort MemoryMB MinDynamicPort NetworkSpeed "
            "NodeMaxAllocs"
        ),
        flags=(
            "BindWildcardDefaultHostNetwork BridgeNetworkHairpinMode CpuDisableDmidecode "
            "DefaultIneligible DisableRemoteExec Enabled GCVolumesOnNodeGC NoHostUUID "
            "NomadServiceDiscovery"
        ),
        nothings="Drain HostNetworks",
        lists="Fingerprinters HostVolumes Servers",
        maps="ChrootEnv Meta Options",
        Artifact=unset(
            texts=(
                "DecompressionSizeLimit GCSTimeout GitTimeout HTTPMaxSize HTTPReadTimeout "
                "HgTimeout S3Timeout SetEnvironmentVariables"
            ),
            numbers="DecompressionFileCountLimit",
            flags="DisableArtifactInspection DisableFilesystemIsolation",
            nothings="FilesystemIsolationExtraPaths",
        ),
        Reserved=unset(
            texts="Cores ReservedPorts",
            numbers="CPU DiskMB MemoryMB",
        ),
        ServerJoin=unset(
            numbers="RetryInterval RetryMaxAttempts",
            nothings="StartJoin",
            lists="RetryJoin",
        ),
        TemplateConfig=unset(
            texts="BlockQueryWaitTimeHCL MaxStaleHCL VaultDefaultLeaseDurationHCL",
            numbers="BlockQueryWaitTime MaxStale VaultDefaultLeaseDuration",
            flags="DisableSandbox UseClientConsulToken",
            nothings="FunctionBlacklist WaitBounds",
            lists="FunctionDenylist",
            ConsulRetry=unset(
                texts="BackoffHCL MaxBackoffHCL",
                numbers="Attempts Backoff MaxBackoff",
            ),
            NomadRetry=unset(
                texts="BackoffHCL MaxBackoffHCL",
                numbers="Attempts Backoff MaxBackoff",
            ),
            VaultRetry=unset(
                texts="BackoffHCL MaxBackoffHCL",
                numbers="Attempts Backoff MaxBackoff",
            ),
            Wait=unset(
                texts="MaxHCL MinHCL",
                numbers="Max Min",
            ),
        ),
        Users=unset(
            numbers="MaxDynamicUser MinDynamicUser",
        ),
    ),
    Eventlog=unset(
        texts="Level",
        flags="Enabled",
    ),
    Limits=unset(
        texts="HTTPSHandshakeTimeout RPCHandshakeTimeout",
        numbers="HTTPMaxConnsPerClient RPCMaxConnsPerClient",
    ),
    Ports=unset(
        numbers="HTTP RPC Serf",
    ),
    RPC=unset(
        texts=(
            "ConnectionWriteTimeoutHCL DialTimeoutHCL KeepAliveIntervalHCL "
            "StreamCloseTimeoutHCL StreamOpenTimeoutHCL"
        ),
        numbers=(
            "AcceptBacklog ConnectionWriteTimeout DialTimeout KeepAliveInterval "
            "StreamCloseTimeout StreamOpenTimeout"
        ),
    ),
    Reporting=unset(
        texts="SnapshotRetentionTimeHCL",
        numbers="ExportInterval SnapshotRetentionTime",
        flags="NonProduction",
        nothings="DisableUsageReporting",
        License=unset(
            nothings="Enabled",
        ),
    ),
    Sentinel=unset(
        nothings="AdditionalEnabledModules Imports",
    ),
    Server=unset(
        texts=(
            "ACLTokenGCThreshold AuthoritativeRegion BatchEvalGCThreshold "
            "CSIPluginGCThreshold CSIVolumeClaimGCInterval CSIVolumeClaimGCThreshold "
            "DataDir DeploymentGCThreshold EvalGCThreshold JobGCInterval JobGCThreshold "
            "JobMaxSourceSize LicenseEnv LicensePath LogFile NodeGCThreshold OIDCIssuer "
            "RedundancyZone RootKeyGCInterval RootKeyGCThreshold RootKeyRotationThreshold "
            "StartTimeout UpgradeVersion"
        ),
        numbers=(
            "BootstrapExpect DeploymentQueryRateLimit EventBufferSize FailoverHeartbeatTTL "
            "HeartbeatGrace JobTrackedVersions MaxHeartbeatsPerSecond MinHeartbeatTTL "
            "PlanApplyPipeline RaftProtocol RetryInterval RetryMaxAttempts"
        ),
        flags="EnableEventBroker Enabled NonProduction NonVotingServer RejoinAfterLeave",
        nothings=(
            "DefaultSchedulerConfig EnabledSchedulers JobDefaultPriority JobMaxCount "
            "JobMaxPriority NumSchedulers RaftBoltConfig RaftLogStoreConfig RaftMultiplier "
            "RaftSnapshotInterval RaftSnapshotThreshold RaftTrailingLogs"
        ),
        lists="RetryJoin StartJoin",
        ClientIntroduction=unset(
            texts="Enforcement",
            numbers="DefaultIdentityTTL MaxIdentityTTL",
        ),
        PlanRejectionTracker=unset(
            numbers="NodeThreshold NodeWindow",
            flags="Enabled",
        ),
        Search=unset(
            numbers="LimitQuery LimitResults MinTermLength",
            flags="FuzzyEnabled",
        ),
        ServerJoin=unset(
            numbers="RetryInterval RetryMaxAttempts",
            nothings="StartJoin",
            lists="RetryJoin",
        ),
    ),
    TLSConfig=unset(
        texts="CAFile CertFile Checksum KeyFile TLSCipherSuites TLSMinVersion",
        flags="EnableHTTP EnableRPC RPCUpgradeMode VerifyHTTPSClient VerifyServerHostname",
        maps="KeyLoader",
    ),
    Telemetry=unset(
        texts=(
            "CirconusAPIApp CirconusAPIToken CirconusAPIURL CirconusBrokerID "
            "CirconusBrokerSelectTag CirconusCheckDisplayName "
            "CirconusCheckForceMetricActivation CirconusCheckID CirconusCheckInstanceID "
            "CirconusCheckSearchTag CirconusCheckSubmissionURL CirconusCheckTags "
            "CirconusSubmissionInterval CollectionInterval DataDogAddr "
            "InMemoryCollectionInterval InMemoryRetentionPeriod StatsdAddr StatsiteAddr"
        ),
        flags=(
            "DisableAllocationHookMetrics DisableDispatchedJobSummaryMetrics "
            "DisableHostname DisableQuotaUtilizationMetrics DisableRPCRateMetricsLabels "
            "IncludeAllocMetadataInMetrics PrometheusMetrics PublishAllocationMetrics "
            "PublishNodeMetrics UseNodeName"
        ),
        nothings="AllowedMetadataKeysInMetrics DataDogTags FilterDefault PrefixFilter",
    ),
    UI=unset(
        flags="Enabled ShowCLIHints",
        Consul=unset(
            texts="BaseUIURL",
        ),
        ContentSecurityPolicy=unset(
            lists="ConnectSrc DefaultSrc FormAction FrameAncestors ImgSrc ScriptSrc StyleSrc",
        ),
        Label=unset(
            texts="BackgroundColor Text TextColor",
        ),
        Vault=unset(
            texts="BaseUIURL",
        ),
    ),
    Version=unset(
        texts="Revision Version VersionMetadata VersionPrerelease",
        nothings="BuildDate",
    ),
)


def empty_config() -> dict[str, Any]:
    """Every field, empty; to be filled in."""
    return deepcopy(_EMPTY)
