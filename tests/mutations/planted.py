"""Bugs that are planted in the product, and how many seeds the simulator takes to see each.

Each is a text of one file and what to put instead: a check left out, a row not counted, news that
is not passed on. Run as a program it plants them one after another in a copy of the sources, lets
`manage.py simulate` look, and writes down what was found (`--again`: also of those found before).
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOUND = Path(__file__).with_name("planted_found.json")
#: A bug that so many seeds do not show counts as not found.
MOST_SEEDS = 1000
_COPIED = ("scheduler", "cluster", "dashboard", "templates", "manage.py", "pyproject.toml")
_IGNORED = shutil.ignore_patterns("__pycache__", "vendor", "node_modules")


@dataclass(frozen=True)
class Bug:
    """One mistake that somebody could have made."""

    says: str
    file: str
    text: str
    broken: str


BUGS = (
    Bug(
        "the applier places on nodes that were closed meanwhile",
        "scheduler/engine/plan/evaluate.py",
        "if not node.is_ready or node.scheduling_eligibility is NodeEligibility.INELIGIBLE:",
        "if False:",
    ),
    Bug(
        "the applier does not look whether a plan still fits",
        "scheduler/engine/plan/evaluate.py",
        "    return allocations_fit(node, use) or _misfit_by_volumes",
        "    return _misfit_by_volumes",
    ),
    Bug(
        "the applier places for jobs that were stopped meanwhile",
        "scheduler/state/writes/plans.py",
        "    if current is None or current.stop:\n        return None",
        "    if current is None:\n        return None",
    ),
    Bug(
        "an in-place update wants again what was stopped meanwhile",
        "scheduler/state/writes/plans.py",
        "    if before.is_server_terminal and not planned.is_server_terminal:",
        "    if before.is_server_terminal and planned.is_server_terminal:",
    ),
    Bug(
        "what was told to stop still counts as planned on its node",
        "scheduler/state/node_use.py",
        "planned = _moved(use.planned, planned_before, planned_after)",
        "planned = _moved(use.planned, planned_before, planned_after or planned_before)",
    ),
    Bug(
        "the broker hands out two evaluations of a job at a time",
        "scheduler/broker/eval_broker.py",
        "        if holder == eval_id:\n            self._push_ready",
        "        if holder:\n            self._push_ready",
    ),
    Bug(
        "an evaluation that is nacked is not delivered again",
        "scheduler/broker/eval_broker.py",
        "        self._by_monotonic.push(eval_id, monotonic + delay)\n        self._note(eval_id, "
        'Step.DELAYED, f"delivered',
        "        del self._entries[eval_id]\n        self._note(eval_id, "
        'Step.DELAYED, f"delivered',
    ),
    Bug(
        "a worker may look at a record older than its evaluation's job",
        "scheduler/broker/intake.py",
        "return max(evaluation.modify_index, self._job_index.get(evaluation.job_key, 0))",
        "return 0",
    ),
    Bug(
        "room that came while an evaluation was out is overlooked",
        "scheduler/broker/blocked_evals.py",
        "        reason = self._missed(evaluation)\n",
        '        reason = ""\n',
    ),
    Bug(
        "a new leader knows nothing of those that wait for room",
        "scheduler/broker/intake.py",
        '        elif evaluation.should_block:\n            self.block(evaluation, "", moment)',
        "        elif evaluation.should_block and self._blocked.stats().total_blocked < 0:\n"
        '            self.block(evaluation, "", moment)',
    ),
    Bug(
        "a node that goes down has nobody look at its jobs",
        "scheduler/state/writes/node_evaluations.py",
        "    if after is NodeStatus.DOWN:\n        return True\n    if before is after:",
        "    if before is after:",
    ),
    Bug(
        "a node that is opened has nobody look at its system jobs",
        "cluster/operations/nodes.py",
        "if wanted is NodeEligibility.INELIGIBLE:",
        "if wanted:",
    ),
    Bug(
        "a stop makes no evaluation",
        "cluster/operations/jobs.py",
        "        evaluation = _deregister_evaluation(job, eval_id, eval_priority, change, "
        "purge=purge)",
        "        evaluation = None",
    ),
    Bug(
        "a summary does not let go of the count before",
        "scheduler/state/writes/summaries.py",
        "    elif before.client_status not in _NEVER_LOWERED:",
        "    elif before.client_status in _NEVER_LOWERED:",
    ),
    Bug(
        "a rollout counts health again with each report",
        "scheduler/state/writes/deployments.py",
        "new is None or old is new or (old is False and new is True)",
        "new is None or (old is False and new is True)",
    ),
    Bug(
        "a late report lets what has ended run again",
        "scheduler/state/writes/allocations.py",
        "    return stored.client_status in _ENDED_ON_NODE and report.client_status not in "
        "_ENDED_ON_NODE",
        "    return False",
    ),
    Bug(
        "a second drain within a second lets another allocation go",
        "scheduler/watchers/drains.py",
        "for alloc_id, alloc in leaving.items()}",
        "for alloc_id, alloc in (asked | leaving).items()}",
    ),
    Bug(
        "a held rollout replaces what failed twice",
        "scheduler/engine/reconcile/placements.py",
        "    chosen = sorted(found, key=_how_soon)[: len(work.lost)]\n    _take(work, chosen)\n"
        "    for placement in found:\n        if placement in chosen:\n            continue\n",
        "    _take(work, found[: len(work.lost)])\n    for placement in found:\n",
    ),
    Bug(
        "a rolling update does not wait for the health of those before",
        "scheduler/engine/reconcile/rollout.py",
        "sum(not is_healthy(alloc) for alloc in members)",
        "0",
    ),
    Bug(
        "a rollout succeeds without its promotion",
        "scheduler/engine/reconcile/rollout.py",
        "is_promoted = state.promoted or state.desired_canaries == 0",
        "is_promoted = True",
    ),
    Bug(
        "an index that is taken counts as free",
        "scheduler/engine/reconcile/names.py",
        "        free = [index for index in range(self._count) if index not in "
        "self._used][:wanted]",
        "        free = list(range(self._count))[:wanted]",
    ),
    Bug(
        "one token dispatches again",
        "cluster/operations/job_dispatch.py",
        "    if not token:\n        return None\n    return next(",
        "    return None\n    return next(",
    ),
    Bug(
        "a launch is not written down as decided",
        "cluster/operations/periodic.py",
        "    note_launches(change, replace(due.launches, decided_to=decided_to), news, "
        "launch=launch)",
        "    note_launches(change, due.launches, news, launch=launch)",
    ),
    Bug(
        "a plan takes a namespace over its quota",
        "scheduler/state/quota_use.py",
        "        if limit and most < amount and is_raised:",
        "        if limit < 0 and most < amount and is_raised:",
    ),
    Bug(
        "a promotion leaves the canaries what they were",
        "scheduler/state/writes/deployments.py",
        "is_counted and health is not None and health.canary and health.healthy:",
        "is_counted and health is not None and health.canary and not health.healthy:",
    ),
)


@contextmanager
def planted(bug: Bug, tree: Path) -> Iterator[None]:
    """The copy with the bug in it."""
    file = tree / bug.file
    whole = file.read_text()
    assert whole.count(bug.text) == 1, f"{bug.file} has the text {whole.count(bug.text)} times"
    file.write_text(whole.replace(bug.text, bug.broken))
    try:
        yield
    finally:
        file.write_text(whole)


def copy_of_sources(place: Path) -> Path:
    """What the command needs, to be broken."""
    for name in _COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, place / name, ignore=_IGNORED)
        else:
            shutil.copy(source, place / name)
    return place


def look(tree: Path, seeds: int, processes: int) -> tuple[int, str] | None:
    """How many seeds it took and the law that was broken; None when every law held."""
    command = [sys.executable, "manage.py", "simulate", "--whole", "--seeds", str(seeds)]
    ended = subprocess.run(
        [*command, "--processes", str(processes)],
        cwd=tree,
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "cluster.settings",
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    told = re.search(r"^Seed (\d+) breaks the law '([\w-]+)'", ended.stdout, re.MULTILINE)
    assert ended.returncode == (1 if told else 0), ended.stdout[-2000:] + ended.stderr[-2000:]
    return (int(told[1]), told[2]) if told else None


def look_for_all(processes: int, *, again: bool) -> None:
    """Write down how each bug was found; without `again` only those that have not been."""
    known = {} if again or not FOUND.exists() else json.loads(FOUND.read_text())
    found = {bug.says: known.get(bug.says) for bug in BUGS}
    with tempfile.TemporaryDirectory() as place:
        tree = copy_of_sources(Path(place))
        for bug in BUGS:
            if found[bug.says] is None:
                with planted(bug, tree):
                    found[bug.says] = look(tree, MOST_SEEDS, processes)
                print(f"{bug.says}: {found[bug.says]}", flush=True)  # noqa: T201 - a program
            FOUND.write_text(json.dumps(found, indent=2) + "\n")


def table(found: dict[str, list[int | str] | None]) -> str:
    """As Markdown."""
    lines = ["| planted | in | seeds until it was found | law |", "|---|---|---|---|"]
    for bug in BUGS:
        seen = found.get(bug.says)
        seeds, law = seen if seen is not None else (f"not within {MOST_SEEDS}", "")
        lines.append(f"| {bug.says} | `{bug.file}` | {seeds} | {law} |")
    return "\n".join(lines)


if __name__ == "__main__":
    look_for_all(2, again="--again" in sys.argv)
