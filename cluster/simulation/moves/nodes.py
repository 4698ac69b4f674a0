"""What people do to nodes."""

from cluster.operations.nodes import (
    DrainRequest,
    drain_node,
    evaluate_node,
    purge_node,
    set_node_eligibility,
)
from cluster.simulation.moves.deed import Deeds, Scene, pick
from scheduler.access.caller import CLUSTER
from scheduler.structs.node import DrainStrategy, NodeEligibility

SECOND = 1_000_000_000
DEEDS = Deeds()


@DEEDS.add(3)
def _drain(scene: Scene, first: int, second: int) -> str:
    node, plane = scene.node(first), scene.cluster.plane
    deadline = (20, 60, 300, -1)[second % 4]
    strategy = DrainStrategy(deadline=deadline * SECOND, ignore_system_jobs=second % 5 == 0)
    drain_node(
        plane.store,
        node.id,
        DrainRequest(strategy=strategy),
        by=CLUSTER,
        now=scene.now,
        ids=plane.ids,
    )
    return f"drain {node.name}, {f'deadline {deadline} s' if deadline > 0 else 'by force'}"


@DEEDS.add(2)
def _end_drain(scene: Scene, first: int, second: int) -> str:
    plane = scene.cluster.plane
    draining = [node for node in plane.store.nodes() if node.drain_strategy is not None]
    node = pick(draining, first)
    asked = DrainRequest(strategy=None, mark_eligible=second % 2 == 0)
    drain_node(plane.store, node.id, asked, by=CLUSTER, now=scene.now, ids=plane.ids)
    return f"end the drain of {node.name}"


@DEEDS.add(4)
def _open_node(scene: Scene, first: int, second: int) -> str:
    plane = scene.cluster.plane
    closed = [
        node
        for node in plane.store.nodes()
        if node.scheduling_eligibility is NodeEligibility.INELIGIBLE
    ]
    node = pick(closed, first)
    set_node_eligibility(
        plane.store, node.id, "eligible", by=CLUSTER, now=scene.now, ids=plane.ids
    )
    return f"open {node.name}"


@DEEDS.add(1)
def _close_node(scene: Scene, first: int, second: int) -> str:
    node, plane = scene.node(first), scene.cluster.plane
    set_node_eligibility(
        plane.store, node.id, "ineligible", by=CLUSTER, now=scene.now, ids=plane.ids
    )
    return f"close {node.name}"


@DEEDS.add(0.5)
def _evaluate_a_node(scene: Scene, first: int, second: int) -> str:
    node, plane = scene.node(first), scene.cluster.plane
    evaluate_node(plane.store, node.id, by=CLUSTER, now=scene.now, ids=plane.ids)
    return f"evaluate {node.name}"


@DEEDS.add(0.3)
def _purge_a_node(scene: Scene, first: int, second: int) -> str:
    node, plane = scene.node(first), scene.cluster.plane
    purge_node(plane.store, node.id, by=CLUSTER, now=scene.now, ids=plane.ids)
    return f"purge {node.name}"
