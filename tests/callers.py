"""Callers that tests act as: a manager, and whoever has just these rights."""

from cluster.policies.read import read_policy
from scheduler.access.access import MANAGEMENT, access_of
from scheduler.access.caller import Caller, CallerKind

MANAGER = Caller(
    kind=CallerKind.TOKEN, id="manager", name="a manager", address="192.0.2.1", access=MANAGEMENT
)


def caller_with(*policies: str) -> Caller:
    """Somebody whose rights are those of the policies, written as operators write them."""
    access = access_of(read_policy(text) for text in policies)
    return Caller(kind=CallerKind.TOKEN, id="somebody", name="somebody", access=access)
