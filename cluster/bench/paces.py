"""Rows changed in the record at a steady pace, as ui.md 2.6 words its budgets."""

from collections.abc import Sequence
from contextlib import closing
from time import sleep
from typing import NamedTuple

from cluster.bench.job_forms import job_form
from cluster.bench.target import Target
from cluster.runtime.clock import SystemClock

_CLOCK = SystemClock()


class Pace(NamedTuple):
    """How fast jobs are registered, and how large they are."""

    name: str
    #: Rows per second that the record should change.
    rows_per_s: int
    #: Allocations of each job.
    allocations: int
    #: Rows that such a job changes, from its registration to its end: measured, and only the
    #: offered pace depends on it.
    rows: int


CALM = Pace("calm", 50, 1, 17)
BUSY = Pace("busy", 500, 10, 35)


def register_at(
    pace: Pace, aim: Target, seconds: float, datacenters: Sequence[str] = ("*",)
) -> int:
    """Register jobs one by one, as many as make the pace; how many."""
    pause = pace.rows / pace.rows_per_s
    count = max(1, round(seconds / pause))
    began = _CLOCK.monotonic()
    with closing(aim.connect()) as connection:
        for number in range(count):
            sleep(max(0.0, began + number * pause - _CLOCK.monotonic()))
            form = job_form(
                f"{pace.name}-{number}", count=pace.allocations, cpu=10, datacenters=datacenters
            )
            connection.put("/v1/jobs", {"Job": form})
    return count
