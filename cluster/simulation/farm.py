"""Live through many seeds, several processes side by side.

In: seeds. Out: how each ended, as they end. Stops handing out when told to.
"""

import multiprocessing
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from cluster.simulation.history import history_of
from cluster.simulation.run import HistoryEnd, live_through


def one_seed(seed: int, *, length: int, faults: bool) -> HistoryEnd:
    """Live through the history of one seed."""
    return live_through(history_of(seed, length=length, faults=faults))


def many_seeds(
    seeds: Iterable[int], *, length: int, faults: bool, processes: int
) -> Iterator[HistoryEnd]:
    """Each seed's end, in the order of the seeds."""
    live = partial(one_seed, length=length, faults=faults)
    if processes <= 1:
        yield from map(live, seeds)
        return
    # Children are copies: what is imported need not be imported again.
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        try:
            yield from pool.map(live, seeds, chunksize=4)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
