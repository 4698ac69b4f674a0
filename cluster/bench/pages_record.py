"""A record in which every page has as much to show as its budget names.

In: how many nodes, lost nodes and evaluations of a chain, on the command line, and the
environment's database. Out: rows, and the loss as the leader writes it, for whoever is started on
the record to work off. A program of its own, so that its database is its own.
"""

import sys

from django.core.management import call_command
from msgspec.structs import replace

from cluster.bench.offline import NumberedIDs, identifier, make_node
from cluster.bench.rehearse_record import OF_A_JOB, fill
from cluster.operations.nodes import mark_node_unresponsive
from cluster.runtime.clock import SystemClock
from cluster.store.writer import DjangoStateStore
from scheduler.access.caller import CLUSTER
from scheduler.ports import Change
from scheduler.state.events import WriteKind
from scheduler.state.volume_nouns import HOST_VOLUMES
from scheduler.state.writes.evaluations import write_evaluations
from scheduler.structs.evaluation import EvalStatus, EvalTrigger, Evaluation
from scheduler.structs.host_volume import DynamicVolume, VolumeState
from scheduler.structs.node import Node

#: Allocations on each node, each of another job: a lost node makes so many evaluations. A job is
#: spread over all nodes, which have to be as many as its allocations.
OF_A_NODE = 10
_RACK, _MHZ, _MB = 50, 16_000, 65_536
_CHAIN_JOB = "job-0"
_VOLUMES = 600


def fill_pages(nodes: int, lost: int, chain: int) -> None:
    """Write nodes in racks with their allocations, a long chain, and the loss of some nodes."""
    made = [_node(number) for number in range(nodes)]
    fill(made, nodes * OF_A_NODE, stride=nodes // OF_A_JOB)
    store, clock = DjangoStateStore(), SystemClock()
    now = clock.now()

    for status in (EvalStatus.PENDING, EvalStatus.COMPLETE):

        def work(change: Change, status: EvalStatus = status) -> None:
            write_evaluations(change, _chain(chain, now, status))

        store.write(WriteKind.EVALUATION_UPDATED, work, now=now)
    volumes = [_volume(number, made[-1 - number % len(made)], now) for number in range(_VOLUMES)]

    def keep(change: Change) -> None:
        for volume in volumes:
            change.put(HOST_VOLUMES, volume)

    store.write(HOST_VOLUMES.upserted, keep, now=now)
    ids = NumberedIDs()
    for node in made[:lost]:
        mark_node_unresponsive(store, node.id, look="pages", by=CLUSTER, now=clock.now(), ids=ids)


def _node(number: int) -> Node:
    made = make_node(number, cpu=_MHZ, memory_mb=_MB, rack=f"r{number // _RACK}")
    return replace(made, node_class=("small", "large")[number % 2])


def _chain(length: int, now: int, status: EvalStatus) -> list[Evaluation]:
    """Each made by the one before it."""
    names = [chain_name(number) for number in range(length)]
    return [
        Evaluation(
            id=name,
            type="service",
            priority=50,
            job_id=_CHAIN_JOB,
            triggered_by=EvalTrigger.MAX_PLAN_ATTEMPTS,
            status=status,
            previous_eval=names[place - 1] if place else "",
            next_eval=names[place + 1] if place + 1 < length else "",
            create_time=now,
            modify_time=now,
        )
        for place, name in enumerate(names)
    ]


def _volume(number: int, node: Node, now: int) -> DynamicVolume:
    return DynamicVolume(
        id=volume_name(number),
        namespace="default",
        name=f"data-{number}",
        plugin_id="mkdir",
        node_id=node.id,
        node_pool=node.node_pool,
        state=VolumeState.UNAVAILABLE,
        create_time=now,
        modify_time=now,
    )


def volume_name(number: int) -> str:
    """The id of a volume of the record."""
    return identifier(f"volume {number}")


def chain_name(number: int) -> str:
    """The id of an evaluation of the chain."""
    return identifier(f"chain {number}")


def main() -> None:
    """Prepare the database of the environment, and fill it."""
    call_command("migrate", verbosity=0)
    fill_pages(*(int(text) for text in sys.argv[1:]))
