"""Which feasible node is best now: room, scores, choice, grants, evictions."""
