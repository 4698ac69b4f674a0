"""Which rows of the specification's scenario tables have a test that carries their id.

In: the test files. Out: per chapter the rows that are covered, missing, or do not apply.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

TESTS = Path(__file__).parent
_OF_FUNCTION = re.compile(r"def test((?:_[a-z]\d{2})+)_")
_OF_STRING = re.compile(r'"([A-Z]\d{1,2}(?!\d)[^"\n]*)"')
_ID = re.compile(r"\b([A-Z])(\d{1,2})(?!\d)")
#: Rows of a table without letters: in names of functions, and alone before words in an id.
_BARE = re.compile(r"def test_(\d{2,3})_(?!\d)|\"(\d{2,3})-[a-z][a-z-]*\"")


@dataclass(frozen=True)
class Chapter:
    """One table of scenarios: its rows, and where their tests stand."""

    name: str
    #: Letter to the number of its last row; rows count from 1. The letter may be "".
    rows: Mapping[str, int]
    #: Files and folders under `tests`. Letters repeat between chapters, folders do not.
    places: tuple[str, ...]
    not_applicable: Mapping[str, str] = field(default_factory=dict)
    #: Rows whose test shows only a part, and why the rest has no case here.
    partly: Mapping[str, str] = field(default_factory=dict)
    #: Rows that nobody has tested yet, parted by spaces; each leaves with its test.
    not_yet: str = ""

    @property
    def ids(self) -> list[str]:
        return [
            f"{letter}{number:02}"
            for letter, last in self.rows.items()
            for number in range(1, last + 1)
        ]

    def covered(self) -> set[str]:
        found: set[str] = set()
        for file in self._files():
            found |= ids_in(file.read_text(encoding="utf-8"))
        return found & set(self.ids)

    def missing(self) -> list[str]:
        covered = self.covered()
        return [row for row in self.ids if row not in covered and row not in self.not_applicable]

    def _files(self) -> Iterable[Path]:
        for place in self.places:
            path = TESTS / place
            yield from [path] if path.is_file() else path.rglob("test_*.py")


def ids_in(text: str) -> set[str]:
    """The ids in names of test functions, and in texts that begin with one.

    Those without a letter need words after a hyphen, which numbers in other texts seldom have.
    """
    found = {
        part.upper() for names in _OF_FUNCTION.findall(text) for part in names.split("_") if part
    }
    for words in _OF_STRING.findall(text):
        found |= {f"{letter}{int(number):02}" for letter, number in _ID.findall(words)}
    found |= {of_function or of_string for of_function, of_string in _BARE.findall(text)}
    return found


_NO_SAMPLE = "candidates are not sampled: every feasible node is looked at"

CHAPTERS = (
    Chapter(
        "reconciler",
        {"A": 24, "B": 18, "C": 22, "D": 49, "E": 34, "F": 23, "G": 32},
        (
            "scheduler/engine/reconcile",
            "scheduler/engine/test_system.py",
            "scheduler/engine/test_system_canaries.py",
        ),
        partly={
            "F11": "a history that is null is read as an empty one, so there is no null to refuse",
            "G32": "a group without a part in the deployment is absent from it, never null",
        },
    ),
    Chapter(
        "placement",
        {"T": 85},
        ("scheduler/engine", "scheduler/structs", "properties"),
        {
            "T02": _NO_SAMPLE,
            "T03": _NO_SAMPLE,
            "T04": _NO_SAMPLE,
            "T67": _NO_SAMPLE,
            "T69": _NO_SAMPLE,
        },
        {
            "T31": "CSI volumes are out: every one counts as missing",
            "T43": "use is not reported for a node that takes no more allocations",
            "T79": "settings are never absent from the record",
            "T85": _NO_SAMPLE,
        },
    ),
    Chapter(
        "placement, worked examples",
        {"W": 30},
        ("scheduler/engine", "scheduler/structs", "properties"),
        {"W26": _NO_SAMPLE},
    ),
    Chapter(
        "control plane, collection",
        {"C": 18},
        (
            "scheduler/collection",
            "scheduler/broker/test_core_timers.py",
            "scheduler/test_leader.py",
        ),
    ),
    Chapter(
        "control plane, deployment watcher",
        {"D": 22},
        ("cluster/operations/test_deployments.py", "scheduler/watchers/test_deployments.py"),
    ),
    Chapter(
        "control plane, drainer",
        {"R": 19},
        (
            "cluster/operations/test_nodes.py",
            "scheduler/watchers/test_drains.py",
            "simulation/test_drained_down.py",
        ),
        {
            "R09": "no index is remembered: what has left is read from the record (7.3, hazard)",
        },
    ),
    Chapter(
        "control plane, generic",
        {"G": 57},
        (
            "scheduler/engine/test_generic_rows.py",
            "scheduler/engine/test_generic_lost.py",
            "scheduler/engine/test_generic_reschedule.py",
            "scheduler/engine/test_generic_updates.py",
        ),
    ),
    Chapter(
        "control plane, system",
        {"S": 36},
        (
            "scheduler/engine/test_system.py",
            "scheduler/engine/test_system_canaries.py",
            "scheduler/engine/test_system_rows.py",
        ),
    ),
    Chapter(
        "control plane, jobs and periodic launches",
        {"J": 28},
        (
            "cluster/jobspec/test_diff.py",
            "cluster/operations",
            "conformance/test_periodic_launches.py",
            "scheduler/state",
        ),
    ),
    Chapter(
        "control plane, nodes",
        {"N": 24},
        (
            "cluster/operations/test_node_rows.py",
            "cluster/operations/test_report_rows.py",
            "scheduler/watchers/test_heartbeats.py",
        ),
        partly={"N20": "a report has no place for evaluations, so none can be refused"},
    ),
    Chapter(
        "evaluations",
        {"": 129},
        (
            "scheduler/broker",
            "scheduler/test_leader.py",
            "scheduler/test_leader_plans.py",
            "scheduler/test_worker.py",
            "scheduler/test_plan_applier.py",
            "scheduler/test_rejected_nodes.py",
            "scheduler/engine/plan/test_judged_rows.py",
            "scheduler/state/test_write_evaluations.py",
            "scheduler/state/test_write_plans.py",
            "simulation",
            "cluster/api/test_relatives.py",
            "cluster/api/test_node_and_allocation_routes.py",
            "cluster/operations/test_jobs.py",
            "cluster/operations/test_evaluations.py",
            "cluster/runtime/test_leader_desk.py",
            "cluster/store/test_snapshot_cache.py",
        ),
        {
            "56": "there are no volumes of a plugin that could appear (`docs/compatibility.md`)",
            "120": "workers are processes of their own: the leader runs none that it could pause",
        },
        {
            "30": "whoever asks says how long it waits; nobody waits for ever",
            "54": "what blocked evaluations lack is not summed up by job and class",
            "60": "one thread makes all calls; how long each takes is not asserted",
            "87": "all processes read one record: none lags, so none waits before it asks again",
            "91": "plans carry whole allocations; only the fields of the row are taken from them",
            "94": "no plan at all cannot be said; that a job is gone is found by the applier,"
            " after the token was looked at",
        },
    ),
)


def report() -> list[str]:
    """One line per chapter, and the rows without a test."""
    lines = []
    for chapter in CHAPTERS:
        missing = chapter.missing()
        line = f"{chapter.name}: {len(chapter.covered())} of {len(chapter.ids)} rows tested"
        if chapter.partly:
            line += f" ({len(chapter.partly)} in part)"
        if chapter.not_applicable:
            line += f", {len(chapter.not_applicable)} do not apply"
        lines.append(line + (f"; without a test: {' '.join(missing)}" if missing else ""))
    return lines
