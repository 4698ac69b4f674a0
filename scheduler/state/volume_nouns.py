"""The nouns of host volumes made on demand: the volumes, and the claims of sticky groups.

In: their structs. Out: their declarations, which `nouns` takes into its list with all others.
"""

from scheduler.state.noun import Index, Noun
from scheduler.structs.host_volume import DynamicVolume, VolumeClaim

HOST_VOLUMES: Noun[str, DynamicVolume] = Noun(
    struct=DynamicVolume,
    topic="HostVolume",
    table="host_volume",
    key=lambda volume: volume.id,
    key_columns=("id",),
    columns={
        "namespace": lambda volume: volume.namespace,
        "name": lambda volume: volume.name,
        "node_id": lambda volume: volume.node_id,
        "node_pool": lambda volume: volume.node_pool,
        "plugin_id": lambda volume: volume.plugin_id,
        "state": lambda volume: volume.state.value,
        "create_index": lambda volume: volume.create_index,
        "modify_index": lambda volume: volume.modify_index,
    },
    instants={
        "created_at": lambda volume: volume.create_time,
        "modified_at": lambda volume: volume.modify_time,
    },
    indexes={
        "namespace": Index(lambda volume: volume.namespace, ("namespace",)),
        "node": Index(lambda volume: volume.node_id, ("node_id",)),
    },
    namespace=lambda volume: volume.namespace,
    table_index="host_volumes",
)
VOLUME_CLAIMS: Noun[str, VolumeClaim] = Noun(
    struct=VolumeClaim,
    topic="VolumeClaim",
    table="volume_claim",
    key=lambda claim: claim.id,
    key_columns=("id",),
    columns={
        "namespace": lambda claim: claim.namespace,
        "job_id": lambda claim: claim.job_id,
        "task_group_name": lambda claim: claim.task_group_name,
        "volume_id": lambda claim: claim.volume_id,
    },
    indexes={
        "namespace": Index(lambda claim: claim.namespace, ("namespace",)),
        "job": Index(lambda claim: (claim.namespace, claim.job_id), ("namespace", "job_id")),
        "volume": Index(lambda claim: claim.volume_id, ("volume_id",)),
    },
    namespace=lambda claim: claim.namespace,
    table_index="task_group_host_volume_claims",
)
