"""What the bearer of a token may do.

In: the token a request came with. Out: a `Caller` to ask; refusals in the reference's words. How
tokens are kept is `cluster.store.tokens`' business; which views ask what is theirs.
"""

import msgspec

from cluster.operations.errors import NotAllowed

DENIED = "Permission denied"


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks, and the namespaces it may read and change; None stands for every namespace."""

    accessor_id: str
    name: str = ""
    is_management: bool = False
    reads: frozenset[str] | None = frozenset()
    writes: frozenset[str] | None = frozenset()

    def sees(self, namespace: str) -> bool:
        """Whether objects of the namespace exist for this caller."""
        return self.reads is None or namespace in self.reads

    def changes(self, namespace: str) -> bool:
        """Whether the caller may change the namespace."""
        return self.writes is None or namespace in self.writes

    def require_namespace(self, namespace: str, *, writes: bool = False) -> None:
        """Refuse unless the caller may read (or change) the namespace."""
        if not self.sees(namespace) or (writes and not self.changes(namespace)):
            raise NotAllowed(DENIED)

    def require_every_namespace(self) -> None:
        """Refuse callers from whom some namespace is hidden."""
        if self.reads is not None:
            raise NotAllowed(DENIED)

    def require_cluster(self, *, writes: bool = False) -> None:
        """Refuse unless the caller may read (or change) what belongs to no namespace.

        Every token reads nodes and settings, because placements name them; only managers
        change them.
        """
        if writes:
            self.require_management()

    def require_management(self) -> None:
        """Refuse everyone but managers."""
        if not self.is_management:
            raise NotAllowed(DENIED)
