"""How much the namespaces that share a quota may take together."""

from scheduler.structs.wire import Wire


class QuotaAmounts(Wire, frozen=True):
    """What is counted against a quota. As limits, 0 means without limit, less than 0 nothing."""

    #: MHz
    cpu: int = 0
    #: Whole cores that belong to one allocation alone.
    cores: int = 0
    memory_mb: int = 0
    #: What may be used beyond what is reserved counts here, and what is reserved where nothing is.
    memory_max_mb: int = 0
    disk_mb: int = 0
    allocations: int = 0


class NamespaceUse(Wire, frozen=True):
    """What a namespace's allocations take until their nodes are done with them."""

    namespace: str
    used: QuotaAmounts = QuotaAmounts()


class QuotaSpec(Wire, frozen=True):
    """A named set of limits; namespaces name it."""

    name: str = ""
    description: str = ""
    limits: QuotaAmounts = QuotaAmounts()
    create_index: int = 0
    modify_index: int = 0
