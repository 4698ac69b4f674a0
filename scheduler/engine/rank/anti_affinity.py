"""Keep allocations of one group apart (placement.md 9.2)."""

NAME = "job-anti-affinity"


def score(same_group: float, group_count: int) -> float:
    """The malus of a node that holds `same_group` allocations of the group already; 0 for none."""
    return -(same_group + 1) / group_count if same_group > 0 else 0.0
