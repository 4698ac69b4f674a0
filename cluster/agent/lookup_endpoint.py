"""The server end of what agents ask for the templates of their tasks."""

from cluster.agent.node_request import NodeRequest
from cluster.agent.protocol import MAX_WAIT_S, LookedUp, Lookup
from cluster.operations.errors import NotFound, OperationRefused
from cluster.operations.task_lookups import look_up
from cluster.store.access import the_store
from cluster.store.blocking import Watch, wait_for
from scheduler.ports import StateReader
from scheduler.state.service_noun import SERVICES
from scheduler.state.variable_nouns import VARIABLES

#: Names in one question.
_MOST_NAMES = 500


async def give_lookups(call: NodeRequest) -> LookedUp:
    """What a task of this node may read, once it may be another than at `after`."""
    asked = call.body(Lookup)
    if len(asked.variables) + len(asked.lists) + len(asked.services) > _MOST_NAMES:
        raise OperationRefused(f"at most {_MOST_NAMES} names at a time")
    await call.node()

    def work(reader: StateReader) -> LookedUp:
        alloc = reader.allocation(asked.alloc_id)
        if alloc is None or alloc.node_id != call.node_id:
            raise NotFound(f"allocation {asked.alloc_id} is not on this node")
        found = look_up(
            reader,
            alloc,
            asked.task,
            variables=asked.variables,
            lists=asked.lists,
            services=asked.services,
            all_services=asked.all_services,
        )
        return LookedUp(
            index=reader.index,
            variables=found.variables,
            lists=found.lists,
            services=found.services,
            all_services=found.all_services,
            refused=found.refused,
        )

    watches = []
    if asked.variables or asked.lists:
        watches.append(Watch(VARIABLES.topic))
    if asked.services or asked.all_services:
        watches.append(Watch(SERVICES.topic))
    if asked.after and watches:
        await wait_for(watches, after=asked.after, timeout=min(asked.wait_s, MAX_WAIT_S))
    return await the_store().aread(work)
