"""The server end of a node that drains itself: begin, and how far it is."""

from cluster.agent.node_request import NodeRequest
from cluster.agent.protocol import Drained, DrainMe
from cluster.operations.self_drain import drain_itself
from cluster.store.access import the_store
from scheduler.structs.node import DrainStrategy


async def take_drain(call: NodeRequest) -> Drained:
    """Begin the caller's own drain."""
    asked = call.body(DrainMe)
    node = await call.node()
    strategy = DrainStrategy(
        deadline=max(0, asked.deadline), ignore_system_jobs=asked.ignore_system_jobs
    )
    index = await the_store().awrite_call(
        drain_itself, node.id, strategy, by=call.caller, secret=call.secret, now=call.now
    )
    return Drained(index=index, is_draining=True)


async def give_drain(call: NodeRequest) -> Drained:
    """Whether the caller's node still drains."""
    node = await call.node()
    return Drained(is_draining=node.drain_strategy is not None)
