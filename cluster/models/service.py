"""Where services of allocations listen."""

from django.db import models

from cluster.models.read_only import ReadOnlyQuerySet, ReadOnlyRow
from cluster.page_addresses import job_url
from scheduler.state.service_noun import SERVICES
from scheduler.structs.identity import JobKey
from scheduler.structs.service_registration import ServiceRegistration


class ServiceRow(ReadOnlyRow):
    """One address of a service, as the agent of its allocation registered it."""

    id = models.TextField(primary_key=True)
    namespace = models.TextField()
    service_name = models.TextField("service")
    job_id = models.TextField("job")
    alloc_id = models.CharField("allocation", max_length=36)
    node_id = models.CharField("node", max_length=36)
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["ServiceRow"].as_manager()
    put_by = ("cluster.operations.services.report_services",)
    removed_by = (
        "cluster.operations.services.report_services",
        "cluster.operations.services.delete_service",
        "cluster.operations.allocations.report_from_client",
    )

    class Meta:
        db_table = "service_registration"
        verbose_name = "service"
        indexes = [
            models.Index(fields=["namespace", "service_name", "id"], name="service_by_name"),
            models.Index(
                fields=["namespace", "job_id", "service_name", "id"], name="service_by_job"
            ),
            models.Index(fields=["alloc_id"], name="service_of_allocation"),
            models.Index(fields=["node_id"], name="service_of_node"),
        ]

    def __str__(self) -> str:
        return self.id

    def get_absolute_url(self) -> str:
        """The page of the job."""
        return job_url(JobKey(self.namespace, self.job_id))

    @property
    def value(self) -> ServiceRegistration:
        """The whole registration, decoded anew at each call."""
        return SERVICES.decode(self.body)
