"""Calls to agents over the channels they hold: logs, files, restart, signal, stats, collection.

In: a node, a verb, a body. Out: the agent's answer as a stream of bytes, or `OperationRefused`
with the agent's words. Which socket carries it is the business of `cluster.agent.channel`.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Protocol

import msgspec

from cluster.followed_log import Form
from cluster.operations.audit import note_done
from cluster.operations.errors import NotFound, OperationRefused
from cluster.operations.rights import require, require_reads, require_writes
from cluster.store.access import the_store
from cluster.store.audit_entries import Act, actor_of
from scheduler.access.caller import Caller
from scheduler.structs.allocation import Allocation
from scheduler.structs.wire import Nanoseconds

Body = dict[str, object]
#: How an agent refuses the output of a task of which it has none; the pages know it by this.
NOT_STARTED = "not started yet"
#: The verb of a session inside a task, the one during which something is said.
EXEC = "exec"


class NoPathToNode(NotFound):
    """The node holds no channel, or lost it before it answered."""

    def __init__(self) -> None:
        super().__init__("No path to node")


class AgentRefused(OperationRefused):
    """The agent said no."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class AgentLink(Protocol):
    """One open channel."""

    def call(
        self, node_id: str, verb: str, body: Body, given: AsyncIterator[bytes] | None = None
    ) -> AsyncIterator[bytes]:
        """Ask the agent; frames arrive as it sends them. `given` is said to it meanwhile."""


class AgentLinks:
    """The channels this process holds. The newest one of a node is used."""

    def __init__(self) -> None:
        self._by_node: dict[str, AgentLink] = {}
        #: Carries calls for nodes that have no channel here; None: there is no other process.
        self.elsewhere: AgentLink | None = None

    def add(self, node_ids: tuple[str, ...], link: AgentLink) -> None:
        """These nodes listen on that channel."""
        self._by_node.update(dict.fromkeys(node_ids, link))

    def remove(self, link: AgentLink) -> None:
        """The channel is closed."""
        self._by_node = {key: held for key, held in self._by_node.items() if held is not link}

    def held_here(self, node_id: str) -> AgentLink | None:
        """The node's channel, where this process holds it."""
        return self._by_node.get(node_id)

    def link_of(self, node_id: str) -> AgentLink:
        """The node's channel, or the way to whoever holds it. Raises NoPathToNode."""
        link = self.held_here(node_id) or self.elsewhere
        if link is None:
            raise NoPathToNode
        return link


LINKS = AgentLinks()


#: What each verb about an allocation asks of its namespace: one of these.
_RIGHTS = {
    "logs": ("read-logs", "read-fs"),
    "fs.ls": ("read-fs",),
    "fs.stat": ("read-fs",),
    "fs.cat": ("read-fs",),
    "fs.readat": ("read-fs",),
    "fs.stream": ("read-fs",),
    "restart": ("alloc-lifecycle",),
    "signal": ("alloc-lifecycle",),
    "collect": ("submit-job", "gc-allocation"),
    "alloc.checks": ("read-job",),
    "alloc.stats": ("read-job",),
    "alloc.usage": ("read-job",),
}


def require_verb(by: Caller, alloc: Allocation, verb: str) -> None:
    """Refuse unless the caller may ask this of the allocation's agent."""
    require(by, alloc.namespace, *_RIGHTS[verb])


def call_agent(alloc: Allocation, verb: str, body: Body, *, by: Caller) -> AsyncIterator[bytes]:
    """Ask the agent of an allocation's node; close the iterator to cancel.

    Verbs: `logs`, `fs.ls`, `fs.stat`, `fs.cat`, `fs.readat`, `fs.stream`, `restart`, `signal`,
    `collect`, `alloc.checks`, `alloc.stats`, `alloc.usage`. Raises NotAllowed at once;
    NoPathToNode or AgentRefused with the first frame.
    """
    require_verb(by, alloc, verb)
    return send_call(alloc.node_id, verb, body)


async def call_agent_once(alloc: Allocation, verb: str, body: Body, *, by: Caller) -> object:
    """The whole answer of a verb that answers with one JSON value; None for an empty answer."""
    return await whole_answer(call_agent(alloc, verb, body, by=by))


async def order_agent(
    alloc: Allocation, verb: str, body: Body, *, by: Caller, now: Nanoseconds
) -> None:
    """Have the agent of an allocation's node do something; told to the audit once it has."""
    await call_agent_once(alloc, verb, body, by=by)
    act = Act(f"{verb} allocation", "allocation", alloc.id, alloc.namespace, alloc.name)
    note_done(the_store(), actor_of(by), act, at=now)


async def host_stats(node_id: str, *, by: Caller) -> object:
    """What the agent of a node measures of its machine."""
    require_reads(by, "node")
    return await whole_answer(send_call(node_id, "host.stats", {}))


async def host_facts_of(node_id: str, *, by: Caller) -> object:
    """What the agent of a node sees of its machine, and its environment without secrets."""
    require_reads(by, "agent")
    return await whole_answer(send_call(node_id, "host.facts", {}))


def follow_log(node_id: str, form: Form, *, by: Caller) -> AsyncIterator[bytes]:
    """What the agent of a node writes to its log from now on; close the iterator to end it."""
    require_reads(by, "agent")
    return send_call(node_id, "log.follow", msgspec.to_builtins(form))


def written_log(node_id: str, *, is_plain: bool, by: Caller) -> AsyncIterator[bytes]:
    """What the file of the log of a node's agent holds."""
    require_reads(by, "agent")
    return send_call(node_id, "log.export", {"Plain": is_plain})


async def node_metadata(node_id: str, *, by: Caller) -> object:
    """The metadata that the agent of a node has, and where each pair is from."""
    require_reads(by, "node")
    return await whole_answer(send_call(node_id, "metadata.read", {}))


async def change_node_metadata(
    node_id: str, meta: Mapping[str, str | None], *, by: Caller, now: Nanoseconds
) -> object:
    """Have the agent of a node set pairs, None taking one away; told to the audit once it has.

    The agent registers its node anew, which makes the evaluations that the change is worth.
    """
    require_writes(by, "node")
    told = await whole_answer(send_call(node_id, "metadata.change", {"Meta": dict(meta)}))
    note_done(the_store(), actor_of(by), Act("change metadata", "node", node_id), at=now)
    return told


async def node_identity(node_id: str, *, by: Caller) -> object:
    """What the identity of a node says, as its agent holds it."""
    require_reads(by, "node")
    return await whole_answer(send_call(node_id, "identity.read", {}))


async def renew_node_identity(node_id: str, *, by: Caller, now: Nanoseconds) -> None:
    """Have the agent of a node ask for another identity; told to the audit once it does."""
    require_writes(by, "node")
    await whole_answer(send_call(node_id, "identity.renew", {}))
    note_done(the_store(), actor_of(by), Act("renew identity", "node", node_id), at=now)


async def collect_on_node(node_id: str, *, by: Caller, now: Nanoseconds) -> None:
    """Have a node's agent delete the files of all that has ended there."""
    require_writes(by, "node")
    await whole_answer(send_call(node_id, "host.collect", {}))
    act = Act("collect ended allocations", "node", node_id)
    note_done(the_store(), actor_of(by), act, at=now)


async def send_call(
    node_id: str, verb: str, body: Body, given: AsyncIterator[bytes] | None = None
) -> AsyncIterator[bytes]:
    """A call over the channel of a node. Asks for no right: the functions above do."""
    frames = LINKS.link_of(node_id).call(node_id, verb, body, given)
    async with aclosing(frames) as stream:  # type: ignore[type-var] # links answer with generators
        async for frame in stream:
            yield frame


async def whole_answer(frames: AsyncIterator[bytes]) -> object:
    """The JSON value that the frames make together; None for none."""
    whole = b"".join([frame async for frame in frames])
    return msgspec.json.decode(whole) if whole else None
