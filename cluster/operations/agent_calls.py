"""Calls to agents over the channels they hold: logs, files, restart, signal, stats.

In: a node, a verb, a body. Out: the agent's answer as a stream of bytes, or `OperationRefused`
with the agent's words. Which socket carries it is the business of `cluster.agent.channel`.
"""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Protocol

import msgspec

from cluster.operations.errors import NotFound, OperationRefused

Body = dict[str, object]
#: How an agent refuses the output of a task of which it has none; the pages know it by this.
NOT_STARTED = "not started yet"


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

    def call(self, node_id: str, verb: str, body: Body) -> AsyncIterator[bytes]:
        """Ask the agent; frames arrive as it sends them."""


class AgentLinks:
    """The channels this process holds. The newest one of a node is used."""

    def __init__(self) -> None:
        self._by_node: dict[str, AgentLink] = {}

    def add(self, node_ids: tuple[str, ...], link: AgentLink) -> None:
        """These nodes listen on that channel."""
        self._by_node.update(dict.fromkeys(node_ids, link))

    def remove(self, link: AgentLink) -> None:
        """The channel is closed."""
        self._by_node = {key: held for key, held in self._by_node.items() if held is not link}

    def link_of(self, node_id: str) -> AgentLink:
        """The node's channel. Raises NoPathToNode."""
        link = self._by_node.get(node_id)
        if link is None:
            raise NoPathToNode
        return link


LINKS = AgentLinks()


async def call_agent(node_id: str, verb: str, body: Body) -> AsyncIterator[bytes]:
    """Ask the agent of a node; close the iterator to cancel. Raises NoPathToNode or AgentRefused.

    Verbs: `logs`, `fs.ls`, `fs.stat`, `fs.cat`, `fs.readat`, `fs.stream`, `restart`, `signal`,
    `alloc.stats`, `host.stats`.
    """
    frames = LINKS.link_of(node_id).call(node_id, verb, body)
    async with aclosing(frames) as stream:  # type: ignore[type-var] # links answer with generators
        async for frame in stream:
            yield frame


async def call_agent_once(node_id: str, verb: str, body: Body) -> object:
    """The whole answer of a verb that answers with one JSON value; None for an empty answer."""
    whole = b"".join([frame async for frame in call_agent(node_id, verb, body)])
    return msgspec.json.decode(whole) if whole else None
