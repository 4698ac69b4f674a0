"""Runs the checks of every allocation here, and says what follows from what they find.

In: word of each allocation that changed. Out: results for whoever asks, names of what does not
pass for the allocation's health, restarts of tasks. One loop for each check.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from cluster.agent.alloc_host import AllocHost
from cluster.agent.check_probe import Prober
from cluster.agent.check_state import FIRST_STATUS, CheckOutcome, CheckStatus, RestartWatch
from cluster.agent.hosted_alloc import HostedAlloc
from cluster.agent.services import PlannedCheck, has_begun, planned_checks
from scheduler.ports import Clock

_SECOND = 1_000_000_000


@dataclass
class _Running:
    """One check: its loop, and what it found."""

    planned: PlannedCheck
    outcome: CheckOutcome
    at: int
    loop: asyncio.Task[None] | None = None
    watch: RestartWatch | None = None


@dataclass
class _OfAlloc:
    """The checks of one allocation."""

    #: What they were planned from; while it is the same object nothing has changed.
    source: tuple[Any, ...] = ()
    running: dict[str, _Running] = field(default_factory=dict)


class CheckKeeper:
    """The checks of one node."""

    def __init__(self, host: AllocHost, clock: Clock) -> None:
        self._host = host
        self._clock = clock
        self._prober = Prober()
        self._allocs: dict[str, _OfAlloc] = {}

    def look(self, alloc_id: str) -> None:
        """Something of the allocation changed, or it is gone: run what is to run now."""
        entry = self._host.entries.get(alloc_id)
        wanted: dict[str, PlannedCheck] = {}
        held = self._allocs.get(alloc_id)
        if entry is not None and not entry.waits_for and has_begun(entry.runner):
            runner = entry.runner
            source = (runner.alloc.allocated_resources, runner.job, runner.network_status)
            if held is not None and all(map(_is_same, held.source, source)):
                return
            wanted = planned_checks(runner, self._host.launcher.node())
            if wanted or held:
                held = self._allocs.setdefault(alloc_id, _OfAlloc())
                held.source = source
        if held is None:
            return
        for gone in held.running.keys() - wanted.keys():
            _end(held.running.pop(gone))
        for check_id, planned in wanted.items():
            if check_id not in held.running and entry is not None:
                held.running[check_id] = self._begun(entry, planned)
        if wanted and entry is not None:
            self._tell(entry)
        elif not wanted:
            del self._allocs[alloc_id]

    def results(self, alloc_id: str) -> dict[str, dict[str, Any]]:
        """What the checks of an allocation found last, by their ids; none once it is over."""
        held, entry = self._allocs.get(alloc_id), self._host.entries.get(alloc_id)
        if held is None or entry is None:
            return {}
        return {
            check_id: _told(running, entry.runner.alloc.name)
            for check_id, running in held.running.items()
        }

    async def close(self) -> None:
        """End every loop."""
        loops = [_end(each) for held in self._allocs.values() for each in held.running.values()]
        self._allocs.clear()
        await asyncio.gather(*(loop for loop in loops if loop), return_exceptions=True)
        await self._prober.close()

    def _begun(self, entry: HostedAlloc, planned: PlannedCheck) -> _Running:
        first = FIRST_STATUS.get(planned.check.initial_status, CheckStatus.PENDING)
        running = _Running(planned, CheckOutcome(status=first), self._clock.now())
        running.loop = asyncio.get_running_loop().create_task(self._probe(entry, running))
        return running

    async def _probe(self, entry: HostedAlloc, running: _Running) -> None:
        """Half an interval after the beginning, then an interval after each end."""
        interval = running.planned.check.interval / _SECOND
        await asyncio.sleep(interval / 2)
        while True:
            outcome = await self._prober.probe(running.planned)
            self._note(entry, running, outcome)
            await asyncio.sleep(interval)

    def _note(self, entry: HostedAlloc, running: _Running, outcome: CheckOutcome) -> None:
        before = running.outcome.status
        running.outcome, running.at = outcome, self._clock.now()
        if outcome.status is not before:
            self._tell(entry)
        if self._is_restart_due(entry, running):
            running.watch = None
            name = running.planned.check.name
            text = f'healthcheck: check "{name}" unhealthy'
            self._host.fail_checked(entry.runner.alloc.id, running.planned.task, text)

    def _is_restart_due(self, entry: HostedAlloc, running: _Running) -> bool:
        rule = running.planned.check.check_restart
        run = entry.runner.tasks.get(running.planned.task)
        if rule is None or rule.limit <= 0:
            return False
        started = run.state.started_at if run else max(
            (each.state.started_at for each in entry.runner.tasks.values()), default=0
        )  # fmt: skip
        if running.watch is None or running.watch.begun != started:
            running.watch = RestartWatch(rule, running.planned.check.interval, started)
        return running.watch.is_due(running.outcome.status, self._clock.now())

    def _tell(self, entry: HostedAlloc) -> None:
        """The names of those that do not pass, of those that count."""
        held = self._allocs[entry.runner.alloc.id]
        failing = tuple(
            running.planned.check.name
            for running in held.running.values()
            if running.planned.counts and running.outcome.status is not CheckStatus.SUCCESS
        )
        self._host.note_checks(entry.runner.alloc.id, failing)


def _is_same(one: object, other: object) -> bool:
    return one is other


def _end(running: _Running) -> asyncio.Task[None] | None:
    if running.loop is not None:
        running.loop.cancel()
    return running.loop


def _told(running: _Running, alloc_name: str) -> dict[str, Any]:
    planned, outcome = running.planned, running.outcome
    told: dict[str, Any] = {
        "ID": planned.id,
        "Check": planned.check.name,
        "Group": alloc_name,
        "Mode": "healthiness" if planned.counts else "readiness",
        "Output": outcome.output,
        "Service": planned.service,
        "Status": str(outcome.status),
        "Timestamp": running.at // _SECOND,
    }
    if planned.task:
        told["Task"] = planned.task
    if outcome.status_code:
        told["StatusCode"] = outcome.status_code
    return told
