"""What the record says of a caller: its token, and the names of its policies.

In: a reader and a caller. Out: rows. What the caller may do was compiled when it came in.
"""

from cluster.operations.acl_rights import policies_of
from cluster.operations.policy_rights import ANONYMOUS_POLICY
from scheduler.access.caller import ANONYMOUS, Caller, CallerKind
from scheduler.ports import StateReader
from scheduler.state.nouns import ACL_TOKENS
from scheduler.structs.acl_token import AclToken

TOKEN_NOT_FOUND = "ACL token not found"  # noqa: S105 - a sentence


def is_anonymous(caller: Caller) -> bool:
    """Whether it showed no token."""
    return caller.kind is CallerKind.TOKEN and caller.id == ANONYMOUS.id


def token_of(reader: StateReader, caller: Caller) -> AclToken | None:
    """Its token; None for those who have none."""
    return reader.get(ACL_TOKENS, caller.id) if caller.kind is CallerKind.TOKEN else None


def own_policies(reader: StateReader, caller: Caller) -> tuple[str, ...] | None:
    """The names of the policies that give it rights; None for managers, who need none."""
    if caller.access.is_management:
        return None
    if is_anonymous(caller):
        return (ANONYMOUS_POLICY,)
    token = token_of(reader, caller)
    return () if token is None else policies_of(reader, token)
