"""A service of an allocation as others find it: where it listens, under which name and tags."""

from scheduler.structs.wire import Wire


class ServiceRegistration(Wire, frozen=True):
    """One address of one service; it goes with its allocation and with its node."""

    id: str = ""
    service_name: str = ""
    namespace: str = ""
    node_id: str = ""
    datacenter: str = ""
    job_id: str = ""
    alloc_id: str = ""
    tags: tuple[str, ...] = ()
    address: str = ""
    port: int = 0
    create_index: int = 0
    modify_index: int = 0
