"""Variables: small maps of text at a path of a namespace, sealed, and locks on them."""

from scheduler.structs.wire import Duration, Nanoseconds, Wire, wire_names


class VariableLock(Wire, frozen=True, rename=wire_names(ttl="TTL")):
    """A claim on a variable; only who names its id may write the variable meanwhile."""

    id: str = ""
    ttl: Duration = 0
    #: How long nobody else may claim it once it ran out.
    lock_delay: Duration = 0


class SealedVariable(Wire, frozen=True):
    """What a path holds. Its items are sealed under a root key and nowhere in clear."""

    namespace: str = ""
    path: str = ""
    #: The root key that opens it.
    key_id: str = ""
    #: Never leaves the server.
    sealed: bytes = b""
    lock: VariableLock | None = None
    create_index: int = 0
    create_time: Nanoseconds = 0
    modify_index: int = 0
    modify_time: Nanoseconds = 0

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and path."""
        return self.namespace, self.path


class LockTimer(Wire, frozen=True):
    """When a lock runs out: a row of its own, because renewing leaves the variable alone."""

    namespace: str = ""
    path: str = ""
    lock_id: str = ""
    #: Until then it can be renewed.
    renewable_until: Nanoseconds = 0
    #: From then on the variable is free for others.
    ends_at: Nanoseconds = 0
