"""What the bearer of a token may do.

In: the token a request came with. Out: a `Caller` to ask; refusals in the reference's words. How
tokens are kept is `cluster.store.tokens`' business; which views ask what is theirs.
"""

from collections.abc import Iterable

import msgspec

from cluster.operations.errors import NotAllowed

DENIED = "Permission denied"


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks. `namespaces` None: every namespace."""

    accessor_id: str
    name: str = ""
    is_management: bool = False
    may_write: bool = True
    namespaces: frozenset[str] | None = None

    def sees(self, namespace: str) -> bool:
        """Whether objects of the namespace exist for this caller."""
        return self.namespaces is None or namespace in self.namespaces

    def visible(self, namespaces: Iterable[str]) -> list[str]:
        """Those of the namespaces the caller sees."""
        return [namespace for namespace in namespaces if self.sees(namespace)]

    def require_namespace(self, namespace: str, *, writes: bool = False) -> None:
        """Refuse unless the caller may read (or change) the namespace."""
        if not self.sees(namespace) or (writes and not self.may_write):
            raise NotAllowed(DENIED)

    def require_cluster(self, *, writes: bool = False) -> None:
        """Refuse unless the caller may read (or change) what belongs to no namespace: nodes.

        A token for some namespaces reads nodes, because placements name them, and changes none.
        """
        if writes and not (self.is_management and self.may_write):
            raise NotAllowed(DENIED)

    def require_management(self) -> None:
        """Refuse everyone but managers."""
        if not self.is_management:
            raise NotAllowed(DENIED)
