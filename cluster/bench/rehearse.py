"""Scenario rehearse: how long a rehearsal takes on a large record, and how much memory.

In: options. Out: seconds of the whole command, from its start to its end, and of the rehearsal
alone, for drains of ten nodes and of a fiftieth of all, with nothing else running; then a cluster
on that record, and what rehearsals one after another do to submissions. The record is a file of
its own.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

from django.conf import settings

from cluster.bench import rehearse_submissions
from cluster.bench.scenario import Figures, Options, require

_NODES, _ALLOCATIONS = 5_000, 50_000
_FEW = 10
_SHARE = 50
#: Seconds of the whole command, and percent by which p99 of submissions may be higher.
_MOST_SECONDS, _MOST_MORE = 5.0, 20.0
_NANOSECONDS = 1e9
_FILL = "import django; django.setup(); from cluster.bench.rehearse_record import main; main()"


def run(options: Options) -> Figures:
    """Fill a record, then rehearse. Raises WrongCount where something finds no place."""
    nodes = max(_FEW * 2, options.scaled(_NODES))
    allocations = options.scaled(_ALLOCATIONS)
    with tempfile.TemporaryDirectory(prefix="bivouac-rehearse-") as directory:
        environment = {**os.environ, **options.environment, "BIVOUAC_DATA_DIR": directory}
        filled = [sys.executable, "-c", _FILL, str(nodes), str(allocations)]
        subprocess.run(filled, env=environment, check=True, cwd=settings.BASE_DIR)  # noqa: S603 - our own program
        few = _rehearsed(environment, Path(directory) / "few.json", _FEW)
        many = _rehearsed(environment, Path(directory) / "many.json", max(_FEW, nodes // _SHARE))
        names = [f"node-{number}" for number in range(_FEW)]
        beside = rehearse_submissions.measure(options, Path(directory), names)
    return {
        "nodes": float(nodes),
        "allocations": float(allocations),
        **{f"drain_10_{name}": value for name, value in few.items()},
        **{f"drain_many_{name}": value for name, value in many.items()},
        **beside,
    }


def over(figures: Mapping[str, float]) -> list[str]:
    """What is over its bar: seconds of a drain of ten nodes, and what submissions notice of it."""
    bars = {"drain_10_seconds_in_all": _MOST_SECONDS, "p99_more_percent": _MOST_MORE}
    return [
        f"{name}: {figures[name]:.1f}, at most {bar:g}"
        for name, bar in bars.items()
        if figures[name] > bar
    ]


def _rehearsed(environment: Mapping[str, str], file: Path, nodes: int) -> Figures:
    with file.open("w+b") as out:
        names = [f"node-{number}" for number in range(nodes)]
        command = [sys.executable, "manage.py", "rehearse", "drain", *names, "--json"]
        began, worked = perf_counter(), _worked()
        subprocess.run(command, env=environment, check=True, stdout=out, cwd=settings.BASE_DIR)  # noqa: S603 - our own program
        seconds, worked = perf_counter() - began, _worked() - worked
        out.seek(0)
        found: dict[str, Any] = json.load(out)
    totals = found["Totals"]
    require("placed", totals["Placed"], totals["NeedPlace"])
    return {
        "nodes": float(nodes),
        "allocations": float(totals["Placed"]),
        "evaluations": float(totals["Evaluations"]),
        "seconds_in_all": seconds,
        "processor_seconds_in_all": worked,
        "seconds_of_rehearsal": found["Took"] / _NANOSECONDS,
        "memory_mib": float(found["MemoryMB"]),
    }


def _worked() -> float:
    """Processor time of the programs that have ended: a busy machine counts for nothing here."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
