"""Histories by seed: what happens to a cluster, decided before it happens.

In: a seed. Out: which jobs there are and which moves are made, each with its own chance. So a
move that is left out of a history moves no other, and a long history can be made short.
"""

import msgspec
import numpy as np

from cluster.simulation.catalogue import KINDS
from cluster.simulation.moves.table import DEEDS

#: Seconds that pass after a move, and how often each is drawn.
_PAUSES = ((0.2, 3), (1.0, 4), (2.5, 4), (6.0, 2), (15.0, 1), (30.0, 0.5))
#: Kinds of moves that a history is about: they come so many times more often.
_THEMES: tuple[tuple[str, ...], ...] = (
    (),
    ("update", "update-badly", "promote"),
    ("fall-silent", "come-back"),
    ("drain", "end-drain", "open-node"),
    ("register", "stop", "purge", "collect"),
    ("kill-leader", "kill-worker", "kill-applier", "change-weather"),
    ("fail-one", "stop-one"),
    ("scale", "revert", "update", "update-badly", "call-stable"),
    ("dispatch", "launch", "purge", "collect"),
)
#: The theme of jobs that have children; their parents are always among its jobs.
_CHILDREN = 8
_THEME_FACTOR = 4.0
#: Groups of jobs that meet often, so that they are in each other's way.
_KINDS_AT_ONCE = (3, 6)


class HistoryMove(msgspec.Struct, frozen=True):
    """One thing that happens."""

    #: Its place in the whole history; its chance comes from here.
    number: int
    verb: str
    first: int
    second: int
    #: That pass afterwards.
    seconds: float


class History(msgspec.Struct, frozen=True):
    """All that happens to one cluster."""

    seed: int
    nodes: int
    kinds: tuple[str, ...]
    moves: tuple[HistoryMove, ...]

    def chance(self, number: int) -> np.random.Generator:
        """Of one move, whatever else is in the history."""
        return np.random.default_rng((self.seed, number))


def history_of(seed: int, *, length: int = 50, faults: bool = True) -> History:
    """The history of a seed; without faults only what people do."""
    chance = np.random.default_rng(seed)
    count = int(chance.integers(*_KINDS_AT_ONCE, endpoint=True))
    kinds = tuple(str(kind) for kind in chance.choice(sorted(KINDS), count, replace=False))
    nodes = int(chance.integers(4, 8, endpoint=True))
    names = [name for name, deed in DEEDS.items() if faults or not deed.is_fault]
    theme = int(chance.integers(len(_THEMES)))
    weights = _weights(names, theme)
    pauses = np.array([weight for _, weight in _PAUSES])
    if theme == _CHILDREN:
        kinds = (*kinds, "form", "clock")
        count = len(kinds)
    begin = [HistoryMove(number, "register", number, 3, 1.0) for number in range(count)]
    moves = begin + [
        HistoryMove(
            number,
            str(chance.choice(names, p=weights)),
            int(chance.integers(1000)),
            int(chance.integers(1000)),
            _PAUSES[int(chance.choice(len(_PAUSES), p=pauses / pauses.sum()))][0],
        )
        for number in range(count, length)
    ]
    return History(seed, nodes, kinds, tuple(moves))


def _weights(names: list[str], theme: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    weights = np.array(
        [DEEDS[name].weight * (_THEME_FACTOR if name in _THEMES[theme] else 1.0) for name in names]
    )
    result: np.ndarray[tuple[int], np.dtype[np.float64]] = weights / weights.sum()
    return result
