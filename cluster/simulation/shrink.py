"""Make a history that breaks a law short: leave out what it does not need.

In: a history that ends badly. Out: a shorter one that breaks the same law. Every move keeps its
number and with it its chance, so what is left happens as it happened.
"""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from cluster.simulation.history import History, HistoryMove
from cluster.simulation.run import live_through

#: Histories that are lived through at most while one is made short.
MOST_TRIES = 400
#: A pause that is often as good as a longer one.
_SHORT_PAUSE = 1.0


def shrink(history: History, law: str, *, tried: Callable[[int, int], None]) -> History:
    """The shortest that was found; `tried` is told how many were lived through, and its length."""
    search = _Search(history, law, tried)
    search.cut_the_end()
    search.leave_out()
    search.shorten_pauses()
    return search.best


class _Search:
    def __init__(self, history: History, law: str, tried: Callable[[int, int], None]) -> None:
        self.best = history
        self._law = law
        self._tried = tried
        self._tries = 0

    def cut_the_end(self) -> None:
        """What came after the law was broken."""
        broken = live_through(self.best).broken
        if broken is not None:
            moves = [move for move in self.best.moves if move.number <= broken.move]
            self._take_if_broken(moves)

    def leave_out(self) -> None:
        """Pieces of half the length, then a quarter, down to single moves."""
        size = max(1, len(self.best.moves) // 2)
        while True:
            start = 0
            while start < len(self.best.moves) and self._tries < MOST_TRIES:
                moves = self.best.moves
                if not self._take_if_broken([*moves[:start], *moves[start + size :]]):
                    start += size
            if size == 1 or self._tries >= MOST_TRIES:
                return
            size = max(1, size // 2)

    def shorten_pauses(self) -> None:
        """Wait no longer than needed."""
        for place, move in enumerate(self.best.moves):
            if move.seconds > _SHORT_PAUSE and self._tries < MOST_TRIES:
                moves = list(self.best.moves)
                moves[place] = replace(move, seconds=_SHORT_PAUSE)
                self._take_if_broken(moves)

    def _take_if_broken(self, moves: Sequence[HistoryMove]) -> bool:
        self._tries += 1
        shorter = replace(self.best, moves=tuple(moves))
        broken = live_through(shorter).broken
        is_broken = broken is not None and broken.law == self._law
        if is_broken:
            self.best = shorter
        self._tried(self._tries, len(self.best.moves))
        return is_broken
