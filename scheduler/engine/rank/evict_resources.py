"""Evict for CPU, memory and disk (placement.md 10.2).

In: what is asked, what would remain with everyone on the node, who is there. Out: the victims, the
fewest that the greedy choice leaves; None when even all of them do not suffice.
"""

from collections.abc import Sequence

from scheduler.engine.rank.victim import Amount, Candidate, by_priority, distance


def evict_for_resources(
    ask: Amount, remaining: Amount, candidates: Sequence[Candidate]
) -> list[Candidate] | None:
    """Take the nearest of the lowest priority until the ask is covered, then drop who is too many.

    At least one is taken, whatever remains.
    """
    chosen: list[Candidate] = []
    available, need = remaining, ask
    for group in by_priority(candidates):
        while group:
            nearest = _nearest(need, group)
            group.remove(nearest)
            chosen.append(nearest)
            used = Amount.of(nearest.use)
            available, need = available.plus(used), need.minus(used)
            if available.covers(ask):
                return _without_superfluous(ask, remaining, chosen)
    return None


def _nearest(need: Amount, group: list[Candidate]) -> Candidate:
    return min(group, key=lambda item: distance(need, Amount.of(item.use)) + item.penalty)


def _without_superfluous(
    ask: Amount, remaining: Amount, chosen: list[Candidate]
) -> list[Candidate]:
    """Those furthest from the ask come first, as far as they are needed to cover it."""
    chosen.sort(key=lambda candidate: distance(ask, Amount.of(candidate.use)), reverse=True)
    kept = []
    for candidate in chosen:
        kept.append(candidate)
        remaining = remaining.plus(Amount.of(candidate.use))
        if remaining.covers(ask):
            break
    return kept
