"""The messages that agents and servers exchange under `/v1/fleet/`; both ends import this file.

Bodies are JSON or msgpack by their content type. Every call names its node in a header and proves
it with the node's secret or the identity it was given; a registration takes the secret alone, and
a node's first one a join token or an introduction as well.
"""

from typing import TypeVar

import msgspec

from scheduler.structs.allocation import (
    Allocation,
    DeploymentHealth,
    NetworkStatus,
    TaskState,
)
from scheduler.structs.job import Job
from scheduler.structs.node import Node, NodeEvent
from scheduler.structs.service_registration import ServiceRegistration
from scheduler.structs.wire import Duration, Nanoseconds, Wire, wire_names

NODE_HEADER = "X-Bivouac-Node"
JOIN_HEADER = "X-Bivouac-Join-Token"
MSGPACK = "application/msgpack"
JSON = "application/json"

#: Bytes of one request body: a report of several thousand allocations, or one node.
MAX_BODY = 8 * 1024 * 1024
#: Allocations per fetch and per report; an agent with more sends several.
MAX_BATCH = 500
#: How long a blocking pull may be asked to wait.
MAX_WAIT_S = 300.0


class Register(Wire, frozen=True):
    """Here I am: the node as its agent sees it. Fields that the server owns are ignored."""

    node: Node
    #: Whether it has a use for an identity; simulated nodes have none.
    takes_identity: bool = False


class Registered(Wire, frozen=True, rename=wire_names(heartbeat_ttl="HeartbeatTTL")):
    """The node is known; beat again within `heartbeat_ttl`."""

    heartbeat_ttl: Duration
    node_modify_index: int = 0
    eval_ids: tuple[str, ...] = ()
    num_nodes: int = 0
    scheduling_eligibility: str = ""
    index: int = 0
    #: A new identity; "": what it has goes on.
    identity: str = ""


class Beat(Wire, frozen=True):
    """I am alive, and this is my status: always `ready`."""

    status: str = "ready"
    #: By the node's clock, ns; 0: it does not say.
    sent_at: Nanoseconds = 0
    #: As in `Register`.
    takes_identity: bool = False
    #: Give me another one, however long the present one holds.
    renews_identity: bool = False
    #: What its tasks use together; -1: nothing was measured.
    used_cpu_mhz: int = -1
    used_memory_mb: int = -1


class BeatAnswer(Wire, frozen=True, rename=wire_names(heartbeat_ttl="HeartbeatTTL")):
    """Beat again within `heartbeat_ttl`. `index` > 0: the server had to write."""

    heartbeat_ttl: Duration
    index: int = 0
    status: str = ""
    scheduling_eligibility: str = ""
    eval_ids: tuple[str, ...] = ()
    #: By it nodes know how far to spread their calls after a failure; 0: not counted yet.
    num_nodes: int = 0
    #: As in `Registered`.
    identity: str = ""


class Pulled(Wire, frozen=True):
    """The AllocModifyIndex of every allocation the record holds for the node."""

    index: int
    allocations: dict[str, int] = {}


class Fetch(Wire, frozen=True):
    """Send me these allocations."""

    ids: tuple[str, ...]


class Fetched(Wire, frozen=True):
    """Whole allocations, and each job version they were made from once."""

    index: int
    allocations: tuple[Allocation, ...] = ()
    jobs: tuple[Job, ...] = ()
    #: What some of them replace and what still runs on other nodes; see `AwaitEnds`.
    elsewhere: tuple[str, ...] = ()

    def job_of(self, alloc: Allocation) -> Job | None:
        """The version an allocation names."""
        wanted = (alloc.namespace, alloc.job_id, alloc.job_create_index, alloc.job_version)
        for job in self.jobs:
            if (job.namespace, job.id, job.create_index, job.version) == wanted:
                return job
        return None


class DrainMe(Wire, frozen=True):
    """I am told to end: move what runs here elsewhere. `deadline` 0: without limit."""

    deadline: Duration = 0
    ignore_system_jobs: bool = False


class Drained(Wire, frozen=True):
    """Whether the node drains. `index` > 0: the server had to write."""

    is_draining: bool
    index: int = 0


class Lookup(Wire, frozen=True):
    """What may a task of mine read of the cluster, as itself?"""

    alloc_id: str
    task: str
    #: Answer once something may be another than at this index, or the time is up; 0: at once.
    after: int = 0
    wait_s: float = 0.0
    variables: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    all_services: bool = False


class LookedUp(Wire, frozen=True):
    """That, by the names asked for; `refused` says why something is not told."""

    index: int
    variables: dict[str, dict[str, str] | None] = {}
    lists: dict[str, tuple[str, ...]] = {}
    services: dict[str, tuple[ServiceRegistration, ...]] = {}
    all_services: dict[str, tuple[str, ...]] | None = None
    refused: dict[str, str] = {}


class AwaitEnds(Wire, frozen=True):
    """Tell me once one of these allocations of other nodes has ended."""

    ids: tuple[str, ...]
    wait_s: float = 0.0


class Ended(Wire, frozen=True):
    """Those asked for that have ended, are unknown to their server, or are gone."""

    ids: tuple[str, ...] = ()


class AllocationReport(Wire, frozen=True):
    """What has become of one allocation on its node; nothing else of it is the agent's to say."""

    id: str
    client_status: str
    client_description: str = ""
    task_states: dict[str, TaskState] = {}
    deployment_status: DeploymentHealth | None = None
    network_status: NetworkStatus | None = None


class Report(Wire, frozen=True):
    """The newest state of each allocation that changed."""

    allocations: tuple[AllocationReport, ...]
    #: There is no more to tell: I want to be ready by it, if it was this that I waited for.
    asks_ready: bool = False


class Reported(Wire, frozen=True):
    """The report is in the record."""

    index: int


class EmitEvents(Wire, frozen=True):
    """Lines for the node's history."""

    events: tuple[NodeEvent, ...]


class ReportServices(Wire, frozen=True):
    """Services that are there now, and ids of those that are not any more."""

    registered: tuple[ServiceRegistration, ...] = ()
    ended: tuple[str, ...] = ()
    #: The node has no others.
    is_whole: bool = False


class AskIdentity(Wire, frozen=True):
    """An identity for a task that is about to start, or whose last one is about to end."""

    alloc_id: str
    task: str
    #: Of a further one; "": the one that every task has.
    name: str = ""


class GivenIdentity(Wire, frozen=True):
    """The task's identity, as it shows it."""

    token: str


class Refused(Wire, frozen=True):
    """Why a call was refused."""

    error: str


class ServerCall(msgspec.Struct, frozen=True, kw_only=True, tag="call"):
    """Server to agent on the channel: do `verb`, answer under `id`."""

    id: int
    node_id: str
    verb: str
    body: dict[str, object] = {}
    #: Frames the agent may send before it must be given more.
    credit: int = 16


class Credit(msgspec.Struct, frozen=True, kw_only=True, tag="credit"):
    """Server to agent: `frames` more of answer `id` are welcome."""

    id: int
    frames: int


class Cancel(msgspec.Struct, frozen=True, kw_only=True, tag="cancel"):
    """Server to agent: nobody reads answer `id` any more."""

    id: int


class Input(msgspec.Struct, frozen=True, kw_only=True, tag="input"):
    """Server to agent: the next piece of what is said during call `id`, while there is credit."""

    id: int
    data: bytes


class Taken(msgspec.Struct, frozen=True, kw_only=True, tag="taken"):
    """Agent to server: that many pieces of input of call `id` were taken; more are welcome."""

    id: int
    pieces: int = 1


class Chunk(msgspec.Struct, frozen=True, kw_only=True, tag="chunk"):
    """Agent to server: the next piece of answer `id`."""

    id: int
    data: bytes


class End(msgspec.Struct, frozen=True, kw_only=True, tag="end"):
    """Agent to server: answer `id` is complete, or has failed with `status` and `error`."""

    id: int
    status: int = 200
    error: str = ""


class Hello(msgspec.Struct, frozen=True, kw_only=True, tag="hello"):
    """First message of a channel: the nodes that listen on it, each with its proof."""

    #: Node id to secret or identity.
    nodes: dict[str, str]


class HelloAnswer(msgspec.Struct, frozen=True, kw_only=True, tag="welcome"):
    """The server's answer to Hello: the nodes it accepted."""

    nodes: tuple[str, ...]


FromAgent = Hello | Chunk | End | Taken
FromServer = HelloAnswer | ServerCall | Credit | Cancel | Input

Message = TypeVar("Message")


def encode(message: object, content_type: str = MSGPACK) -> bytes:
    """The message as bytes of that content type."""
    if content_type == JSON:
        return msgspec.json.encode(message)
    return msgspec.msgpack.encode(message)


def decode(body: bytes, message: type[Message], content_type: str = MSGPACK) -> Message:
    """The message in `body`. Raises `msgspec.ValidationError` or `DecodeError` when it is none."""
    if content_type == JSON:
        return msgspec.json.decode(body, type=message)
    return msgspec.msgpack.decode(body, type=message)
