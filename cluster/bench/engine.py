"""Scenario engine: how long one evaluation thinks, in the reference's matrix of 120 cases.

In: options; `only` names a part of the matrix. Out: the median of five evaluations per case, with
the nodes loaded and no plan submitted. Seconds of processor time: the engine waits for nothing, so
on a core of its own that is the time on the wall, and other users of the machine do not count.
"""

import gc
import statistics
from itertools import product
from time import thread_time
from typing import NamedTuple

from cluster.bench.offline import (
    NumberedIDs,
    evaluation_of,
    make_group,
    make_node,
    run_to_plan,
    store_of,
)
from cluster.bench.scenario import Figures, Options, require
from scheduler.structs.constraint import Constraint, Operand, Spread
from scheduler.structs.job import Job

_NODES = (500, 1_000, 5_000, 10_000)
_RACKS = (25, 50, 75)
_ALLOCATIONS = (50, 300, 600, 900, 1_200)
_TIMES = 5
_NODE_MHZ, _NODE_MB = 32_000, 32_000
_ASK_MHZ, _ASK_MB = 6_000, 6_000

#: Seconds a case may take, by the end of its name (issue 4).
BARS = {"_spread": 1.0, "_plain": 0.35, "n5000_r50_a1200_plain": 0.15}
#: What spreads may cost beside none.
SPREAD_RATIO = 3.0


class Case(NamedTuple):
    """One cell of the matrix."""

    nodes: int
    racks: int
    allocations: int
    spread: bool

    @property
    def name(self) -> str:
        """As the figures are called."""
        kind = "spread" if self.spread else "plain"
        return f"n{self.nodes}_r{self.racks}_a{self.allocations}_{kind}"


CASES = tuple(Case(*cell) for cell in product(_NODES, _RACKS, _ALLOCATIONS, (False, True)))


def run(options: Options) -> Figures:
    """Measure the chosen cases. Raises WrongCount when one does not place everything."""
    figures: Figures = {}
    for nodes, racks in product(_NODES, _RACKS):
        chosen = [
            case
            for case in CASES
            if (case.nodes, case.racks) == (nodes, racks) and options.only in case.name
        ]
        if chosen:
            figures |= _measure(nodes, racks, chosen)
    return figures | _summary(figures)


def job_of(case: Case) -> Job:
    """The job of a case: half the racks are eligible."""
    eligible = "|".join(f"r{rack}" for rack in range(case.racks // 2))
    spreads = (Spread(attribute="${meta.rack}", weight=100),) if case.spread else ()
    return Job(
        id=case.name,
        name=case.name,
        datacenters=("dc1",),
        constraints=(
            Constraint(
                l_target="${meta.rack}", operand=Operand.REGEXP, r_target=f"^({eligible})$"
            ),
        ),
        spreads=spreads,
        task_groups=(
            make_group("group", count=case.allocations, cpu=_ASK_MHZ, memory_mb=_ASK_MB),
        ),
    )


def _measure(nodes: int, racks: int, cases: list[Case]) -> Figures:
    store = store_of(
        (
            make_node(number, cpu=_NODE_MHZ, memory_mb=_NODE_MB, rack=f"r{number % racks}")
            for number in range(nodes)
        ),
        map(job_of, cases),
    )
    figures: Figures = {}
    snapshot = store.snapshot()
    for case in cases:
        job, took = job_of(case), []
        for number in range(_TIMES):
            gc.collect()
            evaluation, ids = evaluation_of(job, number), NumberedIDs()
            began = thread_time()
            plan, _ = run_to_plan(snapshot, evaluation, ids)
            took.append(thread_time() - began)
            placed = sum(map(len, plan.node_allocation.values())) if plan else 0
            require(case.name, placed, case.allocations)
        figures[case.name] = statistics.median(took)
    return figures


def _summary(figures: Figures) -> Figures:
    """The worst of each kind, how many bars are missed, and the dearest spread."""
    worst = {
        f"worst_{kind}": max(of_kind)
        for kind in ("plain", "spread")
        if (of_kind := [took for name, took in figures.items() if name.endswith(kind)])
    }
    missed = sum(
        took > bar
        for name, took in figures.items()
        for end, bar in BARS.items()
        if name.endswith(end)
    )
    ratios = [
        took / figures[plain]
        for name, took in figures.items()
        if (plain := name.replace("_spread", "_plain")) != name and plain in figures
    ]
    summary = worst | {"bars_missed": float(missed)}
    if ratios:
        summary |= {
            "spread_ratio_median": statistics.median(ratios),
            "spread_ratio_most": max(ratios),
            "spread_ratios_above_3": float(sum(ratio > SPREAD_RATIO for ratio in ratios)),
        }
    return summary
