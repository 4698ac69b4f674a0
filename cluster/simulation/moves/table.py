"""Every kind of move, and how one is made."""

from cluster.operations.errors import OperationRefused
from cluster.simulation.moves import faults, jobs, nodes, operators, rollouts
from cluster.simulation.moves.deed import Deed, NothingThere, Scene
from scheduler.errors import SchedulerError

DEEDS: dict[str, Deed] = {
    **jobs.DEEDS,
    **rollouts.DEEDS,
    **nodes.DEEDS,
    **operators.DEEDS,
    **faults.DEEDS,
}


def perform(scene: Scene, verb: str, first: int, second: int) -> str:
    """Do it; what is refused changes nothing, and is told."""
    try:
        return DEEDS[verb].do(scene, first, second)
    except NothingThere:
        return f"({verb}: nothing there)"
    except (OperationRefused, SchedulerError) as error:
        return f"({verb} refused: {error})"
