"""Why nodes were not chosen for a group, node by node. Ours alone; no public API has it.

Values only: the engine makes them, pages show them.
"""

from scheduler.structs.wire import Wire


class Shortfall(Wire, frozen=True):
    """Nodes that lack room in one dimension, and the least that any of them lacks."""

    dimension: str = ""
    node_ids: tuple[str, ...] = ()
    #: MHz or MB; 0 where the dimension is no amount.
    least_missing: int = 0


class RefusedNodes(Wire, frozen=True):
    """Nodes that one check refuses, under the reason's own label."""

    reason: str = ""
    node_ids: tuple[str, ...] = ()


class GroupExplanation(Wire, frozen=True):
    """The candidates of one group that could not take it, the most frequent reason first."""

    refused: tuple[RefusedNodes, ...] = ()
    exhausted: tuple[Shortfall, ...] = ()
