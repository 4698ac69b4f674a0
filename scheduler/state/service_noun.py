"""The noun of registered services.

In: its struct. Out: its declaration, which `nouns` takes into its list with all others.
"""

from scheduler.state.noun import Index, Noun
from scheduler.structs.service_registration import ServiceRegistration

SERVICES: Noun[str, ServiceRegistration] = Noun(
    struct=ServiceRegistration,
    topic="Service",
    table="service_registration",
    key=lambda service: service.id,
    key_columns=("id",),
    columns={
        "namespace": lambda service: service.namespace,
        "service_name": lambda service: service.service_name,
        "job_id": lambda service: service.job_id,
        "alloc_id": lambda service: service.alloc_id,
        "node_id": lambda service: service.node_id,
    },
    indexes={
        "namespace": Index(lambda service: service.namespace, ("namespace",)),
        "name": Index(
            lambda service: (service.namespace, service.service_name),
            ("namespace", "service_name"),
        ),
        "job": Index(lambda service: (service.namespace, service.job_id), ("namespace", "job_id")),
        "alloc": Index(lambda service: service.alloc_id, ("alloc_id",)),
        "node": Index(lambda service: service.node_id, ("node_id",)),
    },
    namespace=lambda service: service.namespace,
    table_index="services",
)
