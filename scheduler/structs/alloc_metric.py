"""The why of a placement: nodes looked at, filtered, exhausted, and how the best scored."""

from scheduler.structs.resources import Resources
from scheduler.structs.wire import Duration, Wire


class NodeScore(Wire, frozen=True):
    """One candidate's scores by scorer, and their normalised sum."""

    node_id: str = ""
    scores: dict[str, float] = {}
    norm_score: float = 0.0


class AllocMetric(Wire, frozen=True):
    """Counts of one decision (placement.md 11). Filtered: never could; exhausted: no room now."""

    nodes_evaluated: int = 0
    nodes_filtered: int = 0
    nodes_in_pool: int = 0
    node_pool: str = ""
    nodes_available: dict[str, int] = {}
    class_filtered: dict[str, int] = {}
    constraint_filtered: dict[str, int] = {}
    nodes_exhausted: int = 0
    class_exhausted: dict[str, int] = {}
    dimension_exhausted: dict[str, int] = {}
    quota_exhausted: tuple[str, ...] = ()
    #: By task: what would have been needed, summed over failed placements.
    resources_exhausted: dict[str, Resources] = {}
    #: The best five candidates, best first.
    score_meta_data: tuple[NodeScore, ...] = ()
    allocation_time: Duration = 0
    #: Further failures of the same group in the same attempt.
    coalesced_failures: int = 0
