"""Host volumes that were made on demand, and the groups that stick to theirs."""

from django.db import models

from cluster.models.read_only import ReadOnlyQuerySet, ReadOnlyRow
from cluster.page_addresses import job_url
from scheduler.state.volume_nouns import HOST_VOLUMES, VOLUME_CLAIMS
from scheduler.structs.host_volume import DynamicVolume, VolumeClaim, VolumeState
from scheduler.structs.identity import JobKey

_MAKES = "cluster.operations.host_volumes.begin_volume"
_DELETES = "cluster.operations.host_volumes.forget_volume"


class HostVolumeRow(ReadOnlyRow):
    """A directory of one node, for groups of one namespace."""

    id = models.CharField(max_length=36, primary_key=True)
    namespace = models.TextField()
    name = models.TextField()
    node_id = models.CharField("node", max_length=36)
    node_pool = models.TextField()
    plugin_id = models.TextField("made by")
    state = models.TextField(choices=[(state.value, state.value) for state in VolumeState])
    create_index = models.BigIntegerField()
    modify_index = models.BigIntegerField()
    created_at = models.DateTimeField("created", null=True)
    modified_at = models.DateTimeField("modified", null=True)
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["HostVolumeRow"].as_manager()
    put_by = (
        _MAKES,
        "cluster.operations.host_volumes.note_made",
        "cluster.operations.nodes.register_node",
    )
    removed_by = (_DELETES,)

    class Meta:
        db_table = "host_volume"
        verbose_name = "host volume"
        indexes = [
            models.Index(fields=["node_id"], name="host_volume_of_node"),
            # What the list is sorted by; the last one holds all that it is counted by.
            models.Index(fields=["namespace", "name", "id"], name="host_volume_by_name"),
            models.Index(fields=["state", "namespace", "name", "id"], name="host_volume_by_state"),
            models.Index(
                fields=["plugin_id", "namespace", "name", "id"], name="host_volume_by_plugin"
            ),
            models.Index(
                fields=["create_index", "namespace", "name", "id"], name="host_volume_by_creation"
            ),
            models.Index(fields=["state", "plugin_id", "namespace"], name="host_volume_counted"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def value(self) -> DynamicVolume:
        """The whole volume, decoded anew at each call."""
        return HOST_VOLUMES.decode(self.body)


class VolumeClaimRow(ReadOnlyRow):
    """A group of a job, and the volume that its allocations must get again."""

    id = models.CharField(max_length=36, primary_key=True)
    namespace = models.TextField()
    job_id = models.TextField("job")
    task_group_name = models.TextField("group")
    volume_id = models.CharField("volume", max_length=36)
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["VolumeClaimRow"].as_manager()
    put_by = ("cluster.operations.jobs.register_job",)
    removed_by = ("cluster.operations.host_volumes.delete_claim", _DELETES)

    class Meta:
        db_table = "volume_claim"
        verbose_name = "volume claim"
        indexes = [
            models.Index(fields=["namespace", "job_id"], name="volume_claim_of_job"),
            models.Index(fields=["volume_id"], name="volume_claim_of_volume"),
        ]

    def __str__(self) -> str:
        return f"{self.job_id}.{self.task_group_name}"

    def get_absolute_url(self) -> str:
        """The page of the job."""
        return job_url(JobKey(self.namespace, self.job_id))

    @property
    def value(self) -> VolumeClaim:
        """The whole claim, decoded anew at each call."""
        return VOLUME_CLAIMS.decode(self.body)
