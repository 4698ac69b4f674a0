"""Who asks for something, and what they may do: the value that every operation is given.

In: facts that a door has checked (a token, a signed-in person, a node's secret). Out: the name
for the record, the `Access` to ask. No secret is ever part of it.
"""

from enum import StrEnum

import msgspec

from scheduler.access.access import MANAGEMENT, NOBODY, Access


class CallerKind(StrEnum):
    """What a caller is."""

    TOKEN = "token"  # noqa: S105 - a word
    PERSON = "person"
    #: The agent of a node: its right is the node's secret or a join token, never its access.
    AGENT = "agent"
    #: A running task that showed its identity; its id is that of its allocation.
    WORKLOAD = "workload"
    #: Whoever has a shell on the server, by `manage.py`.
    COMMAND = "command"
    #: The leader, its watchers, the applier, collection.
    CLUSTER = "cluster"


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks, and their rights at that moment."""

    kind: CallerKind
    #: Accessor of a token, key of a person's account, id of a node; empty for the others.
    id: str = ""
    #: What people call it.
    name: str = ""
    #: Network address the request came from; empty when it came from no network.
    address: str = ""
    #: How they came in (`api`, `page`, `admin`, ...); empty: as others of their kind do.
    door: str = ""
    access: Access = NOBODY


#: Acts of the cluster itself.
CLUSTER = Caller(kind=CallerKind.CLUSTER, name="cluster", access=MANAGEMENT)
#: Whoever shows no token, while no policy says what such callers may do.
ANONYMOUS = Caller(kind=CallerKind.TOKEN, id="anonymous", name="Anonymous Token")
#: Several agents at once: each one's right is asked by its own secret.
AGENTS = Caller(kind=CallerKind.AGENT, name="agents")
