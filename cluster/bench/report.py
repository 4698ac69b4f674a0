"""Figures for people and for programs: medians of several runs, with machine and commit."""

import os
import platform
import statistics
import subprocess
from collections.abc import Sequence
from typing import Any

import msgspec
import psutil
from django.conf import settings

from cluster.bench.scenario import Figures

_GIGABYTE = 1024**3


def summary(name: str, runs: Sequence[Figures]) -> dict[str, Any]:
    """One scenario's result: medians, and the extremes of each figure."""
    return {
        "scenario": name,
        "runs": len(runs),
        "machine": _machine(),
        "commit": _commit(),
        "median": {key: _rounded(statistics.median(of)) for key, of in _columns(runs).items()},
        "range": {
            key: [_rounded(min(of)), _rounded(max(of))] for key, of in _columns(runs).items()
        },
    }


def json_line(result: dict[str, Any]) -> str:
    """The result on one line."""
    return msgspec.json.encode(result).decode()


def table(result: dict[str, Any]) -> str:
    """The result for a person."""
    rows = [("figure", "median", "least", "most")]
    for key, middle in result["median"].items():
        least, most = result["range"][key]
        rows.append((key.replace("_", " "), *(f"{value:,}" for value in (middle, least, most))))
    widths = [max(len(row[place]) for row in rows) for place in range(4)]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0]), *(row[n].rjust(widths[n]) for n in range(1, 4))]
        ).rstrip()
        for row in rows
    ]
    head = f"{result['scenario']}: {result['runs']} runs, {result['machine']}"
    return "\n".join([f"{head}, commit {result['commit']}", *lines])


def _columns(runs: Sequence[Figures]) -> dict[str, list[float]]:
    return {key: [run[key] for run in runs] for key in runs[0]}


def _rounded(value: float) -> float:
    """Three digits are all a timing is worth."""
    return round(value) if value >= 100 or value == round(value) else float(f"{value:.3g}")


def _machine() -> str:
    memory = psutil.virtual_memory().total / _GIGABYTE
    return (
        f"{os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} {platform.machine()},"
        f" Python {platform.python_version()}"
    )


def _commit() -> str:
    command = ["git", "-C", str(settings.BASE_DIR), "describe", "--always", "--dirty"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - fixed words
    return found.stdout.strip() or "unknown"
