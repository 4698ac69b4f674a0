"""Asking the nodes of a job's running allocations: one call each, few at a time, in little time.

In: allocations, a verb about several of them, the shape of an answer. Out: what each node told,
None for one that did not answer. Asks for no right: whoever calls has asked for it.
"""

import asyncio
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Generic, TypeVar

import msgspec

from cluster.operations.agent_calls import AgentRefused, NoPathToNode, send_call
from scheduler.structs.allocation import Allocation, ClientStatus

MOST_NODES = 500
_AT_A_TIME = 32
#: How long one node is waited for, s.
PATIENCE_S = 3.0

Told = TypeVar("Told")


class NodesTold(msgspec.Struct, Generic[Told], frozen=True):
    """What the nodes told of the allocations that run on them."""

    #: By node, the allocations that were asked about.
    asked: Mapping[str, list[str]]
    #: By node; None: it did not answer in time, or told other things.
    told: Mapping[str, Told | None]
    #: Allocations that run, of which only the first may have been asked about.
    running: int

    @property
    def answers(self) -> dict[str, Told]:
        """Of those that answered."""
        return {node_id: each for node_id, each in self.told.items() if each is not None}

    @property
    def away(self) -> tuple[str, ...]:
        """The nodes that did not answer."""
        return tuple(sorted(node_id for node_id, each in self.told.items() if each is None))

    def count_on(self, node_ids: Iterable[str] | None = None) -> int:
        """How many allocations were asked about, of these nodes or of all."""
        chosen = self.asked if node_ids is None else node_ids
        return sum(len(self.asked[node_id]) for node_id in chosen)


_NOTHING: Mapping[str, object] = MappingProxyType({})


async def ask_nodes(
    allocs: Iterable[Allocation],
    verb: str,
    kind: type[Told],
    *,
    at_most: int,
    beside: Mapping[str, object] = _NOTHING,
) -> NodesTold[Told]:
    """Ask about those that run, the first so many, on at most `MOST_NODES` nodes.

    `beside`: what the body of each call says beside the allocations.
    """
    running = [each for each in allocs if each.client_status == ClientStatus.RUNNING]
    on_nodes: dict[str, list[str]] = {}
    for alloc in running[:at_most]:
        on_nodes.setdefault(alloc.node_id, []).append(alloc.id)
    asked = dict(list(on_nodes.items())[:MOST_NODES])
    gate = asyncio.Semaphore(_AT_A_TIME)

    async def ask(node_id: str, ids: list[str]) -> Told | None:
        async with gate:
            try:
                async with asyncio.timeout(PATIENCE_S):
                    frames = send_call(node_id, verb, {"AllocIDs": ids, **beside})
                    return decoded(b"".join([frame async for frame in frames]), kind)
            except (NoPathToNode, AgentRefused, TimeoutError, msgspec.MsgspecError):
                return None

    told = await asyncio.gather(*(ask(*each) for each in asked.items()))
    return NodesTold(asked, dict(zip(asked, told, strict=True)), len(running))


def decoded(answer: bytes, kind: type[Told]) -> Told:
    """The JSON of an answer; an empty one stands for an empty value. Raises MsgspecError."""
    return msgspec.json.decode(answer or b"{}", type=kind)
