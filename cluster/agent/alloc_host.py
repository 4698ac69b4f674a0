"""All allocations of one node: performs what their runners command, and tells them what happened.

In: allocations from the server, endings from drivers, timers. Out: reports that changed. The thin,
active part around the pure `AllocRunner`; it speaks to no server.
"""

import asyncio
import functools
import logging
from collections.abc import Callable, Collection, Coroutine, Mapping

from cluster.agent.abortable import Who
from cluster.agent.agent_state import Storage, StoredAlloc
from cluster.agent.alloc_beginning import Beginnings, ends_first
from cluster.agent.alloc_directories import AllocDirectories
from cluster.agent.alloc_record import AllocRecord
from cluster.agent.alloc_resume import lost, recovered, resume, unfinished_runs
from cluster.agent.alloc_runner import OVER, AllocRunner, Surroundings, TaskRefused
from cluster.agent.disk_migration import FetchData
from cluster.agent.drivers.driver import Driver, Handle, StartError
from cluster.agent.hosted_alloc import HostedAlloc
from cluster.agent.networks.keeper import AllocNetworks
from cluster.agent.protocol import AllocationReport
from cluster.agent.restarts import Ending
from cluster.agent.task_api.sockets import TaskSockets
from cluster.agent.task_identity import Ask as AskIdentity
from cluster.agent.task_launch import TaskLauncher
from cluster.agent.task_preparation import TaskPreparation
from cluster.agent.task_run import AbortStart, Command, Phase, SignalTask, StartTask, StopTask
from cluster.agent.template_acts import TemplateActs
from cluster.agent.template_keeper import TemplateChange, TemplateKeeper, nobody_to_ask
from cluster.agent.templates.task_templates import Ask
from cluster.agent.time_jumps import TimeJumps
from scheduler.ports import Clock
from scheduler.structs.allocation import Allocation
from scheduler.structs.job import Job
from scheduler.structs.wire import Duration

logger = logging.getLogger(__name__)
SECOND = 1_000_000_000
#: Seconds between attempts of a driver that fails to stop a task.
STOP_RETRIES = (5.0, 20.0, 80.0, 120.0)


class AllocHost:
    """The allocations of one node."""

    def __init__(
        self,
        launcher: TaskLauncher,
        drivers: Mapping[str, Driver],
        storage: Storage,
        clock: Clock,
        surroundings: Surroundings,
        networks: AllocNetworks | None = None,
    ) -> None:
        self.launcher = launcher
        self.drivers = launcher.drivers = drivers
        self.storage = storage
        self.clock = clock
        self.surroundings = surroundings
        self.entries: dict[str, HostedAlloc] = {}
        #: Ended ones that the server still lists, and of which nothing is left here.
        self.gone: set[str] = set()
        #: Called with the id of each allocation whose report may have changed.
        self.changed: Callable[[str], None] = lambda _alloc_id: None
        #: How templates learn of the cluster; set by whoever has a server.
        self.ask: Ask = nobody_to_ask
        self.ask_identity: AskIdentity | None = None
        self.sockets: TaskSockets | None = None
        #: Called when an allocation has come.
        self.added: Callable[[], None] = lambda: None
        self.fetch_data: FetchData | None = None
        self.networks = networks or AllocNetworks(storage)
        held_by = [each for each in drivers.values() if hasattr(each, "leave_network")]
        self.networks.leaving = tuple(each.leave_network for each in held_by)
        self._beginnings = Beginnings(self, now=self._now, apply=self._apply, spawn=self._spawn)
        templates = TemplateKeeper(self, surroundings.chance)
        self._acts = TemplateActs(self)
        self._preparation = TaskPreparation(
            launcher, storage, clock, templates, self, surroundings.chance
        )
        self._record = AllocRecord(storage, self.entries.get)
        self._time = TimeJumps(clock)
        self._work: set[asyncio.Task[None]] = set()
        #: As many allocations are deleted at the same time.
        self.destroys = asyncio.Semaphore(2)

    def add(
        self, alloc: Allocation, job: Job, *, elsewhere: Collection[str] = frozenset()
    ) -> None:
        """A new allocation of the server. Raises ValueError when it makes no sense here.

        `elsewhere`: allocations of other nodes that had not ended when the server was asked.
        """
        now = self._now()
        entry = HostedAlloc(AllocRunner(alloc, job, self.surroundings, now=now))
        self.entries[alloc.id] = entry
        entry.waits_for = ends_first(alloc, self.entries, elsewhere)
        if not entry.waits_for or alloc.is_terminal:
            self._beginnings.begin(entry)
        self.added()

    def update(self, alloc: Allocation, job: Job) -> None:
        """The server changed it."""
        entry = self.entries[alloc.id]
        if entry.waits_for and alloc.is_terminal:
            entry.waits_for = frozenset()
        self._apply(entry, entry.runner.update(alloc, job, self._now()))

    def remove(self, alloc_id: str) -> None:
        """The server has collected it: kill what runs, then delete every trace."""
        entry = self.entries[alloc_id]
        entry.is_unwanted = True
        if entry.runner.is_terminal:
            self.destroy(alloc_id)
        else:
            self._apply(entry, entry.runner.kill(self._now()))

    @property
    def awaited_elsewhere(self) -> frozenset[str]:
        """Allocations of other nodes whose end something here waits for."""
        awaited = [entry.waits_for for entry in self.entries.values() if entry.waits_for]
        return frozenset().union(*awaited) - self.entries.keys()

    def end_elsewhere(self, alloc_ids: Collection[str]) -> None:
        """These allocations of other nodes have ended."""
        for alloc_id in alloc_ids:
            self._begin_after(alloc_id)

    def release(self) -> None:
        """The server was heard for the first time since the start."""
        for entry in list(self.entries.values()):
            if any(run.held for run in entry.runner.tasks.values()):
                self._apply(entry, entry.runner.release(self._now()))

    def end_impatient(self, silent: Duration) -> None:
        """The server has been out of reach for so long: stop what was not to run on (14).

        Its traces stay until the server has heard of the end.
        """
        for entry in list(self.entries.values()):
            patience = entry.patience
            if patience and silent > patience and not entry.runner.is_terminal:
                entry.waits_for = frozenset()
                self._apply(entry, entry.runner.kill(self._now()))

    def restart(self, alloc_id: str, task: str, *, all_tasks: bool) -> None:
        """On an operator's request. Raises TaskRefused."""
        entry = self._known(alloc_id)
        if entry.runner.is_terminal:
            raise TaskRefused("Task not running" if task else OVER)
        commands = entry.runner.restart_tasks(task, self._now(), all_tasks=all_tasks)
        self._apply(entry, commands)

    async def signal(self, alloc_id: str, task: str, signal: str) -> None:
        """On an operator's request. Raises TaskRefused."""
        entry = self._known(alloc_id)
        commands = entry.runner.signal_tasks(task, signal, self._now())
        try:
            for command in commands:
                assert isinstance(command, SignalTask), "signals command nothing else"
                handle = entry.handles[command.task]
                await self.drivers[handle.driver].signal(handle, command.signal)
        except ValueError as problem:
            raise TaskRefused(str(problem)) from problem
        self._apply(entry, [])

    def note_checks(self, alloc_id: str, failing: tuple[str, ...]) -> None:
        """Of the checks that count for the allocation's health, those that do not pass."""
        entry = self.entries[alloc_id]
        if entry.runner.health.found != failing:
            self._apply(entry, entry.runner.note_checks(failing, self._now()))

    def fail_checked(self, alloc_id: str, task: str, reason: str) -> None:
        """A check has failed for too long: its task runs anew, or every one (no name)."""
        entry = self.entries[alloc_id]
        self._apply(entry, entry.runner.fail_checked(task, reason, self._now()))

    def templates_changed(self, who: Who, change: TemplateChange) -> None:
        """Files of a task are new."""
        entry = self.entries.get(who[0])
        if entry is None:
            return
        runner, now = entry.runner, self._now()
        names = [script.command for script in change.scripts]
        commands = runner.templates_changed(
            who[1],
            now,
            restarts=change.restarts,
            signals=change.signals,
            words=change.words,
            scripts=names,
        )
        for act in self._acts.of(entry, who[1], commands, change):
            self._spawn(act)
        self._apply(entry, commands)

    def templates_failed(self, who: Who, why: str) -> None:
        """Files of a task cannot be kept up to date."""
        entry = self.entries.get(who[0])
        if entry is not None:
            self._apply(entry, entry.runner.fail_task(who[1], why, self._now()))

    def acknowledge(self, report: AllocationReport) -> None:
        """The server has this report in its record."""
        entry = self.entries.get(report.id)
        if entry is not None:
            entry.acknowledged = report
            self._record.note(entry)

    async def restore(self) -> None:
        """Find the allocations of before again, and their tasks."""
        for stored in self.storage.load():
            try:
                await self._restore(stored)
            except ValueError:
                logger.exception("cannot restore", extra={"alloc_id": stored.alloc.id})
        await self.networks.remove_orphans(self._unfinished())

    async def close(self) -> None:
        """Stop supervising; tasks are left as they are."""
        for entry in self.entries.values():
            entry.disarm()
            for handle in entry.handles.values():
                self.drivers[handle.driver].forget(handle)
        await self._preparation.close()
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)
        self._record.close()

    def _known(self, alloc_id: str) -> HostedAlloc:
        entry = self.entries.get(alloc_id)
        if entry is None:
            raise LookupError(f'Unknown allocation "{alloc_id}"')
        return entry

    def _unfinished(self) -> set[str]:
        return {key for key, entry in self.entries.items() if not entry.runner.is_terminal}

    def _apply(self, entry: HostedAlloc, commands: list[Command]) -> None:
        for command in commands:
            if isinstance(command, StartTask):
                self._spawn(self._start(entry, command.task))
            elif isinstance(command, StopTask):
                self._spawn(self._stop(entry, command))
            elif isinstance(command, AbortStart):
                self._preparation.abort(entry, command.task)
        self._arm(entry)
        self._preparation.follow(entry)
        if entry.runner.is_terminal and not entry.finished_at:
            self._finish(entry)
        if not entry.is_unwanted:
            self._record.note(entry)
            self.changed(entry.runner.alloc.id)

    def _finish(self, entry: HostedAlloc) -> None:
        entry.finished_at = self._now()
        then = functools.partial(self._let_go, entry)
        if self.networks.holds(entry.runner.alloc.id):
            self._spawn(self.networks.remove(entry.runner.alloc.id, then))
        else:
            then()

    def _let_go(self, entry: HostedAlloc) -> None:
        """Its ports are free again."""
        if entry.is_unwanted:
            self.destroy(entry.runner.alloc.id)
        self._begin_after(entry.runner.alloc.id)

    def _begin_after(self, ended: str) -> None:
        """Begin what waited for the end of this allocation alone."""
        for entry in list(self.entries.values()):
            if ended in entry.waits_for:
                entry.waits_for -= {ended}
                if not entry.waits_for:
                    self._beginnings.begin(entry)

    async def _start(self, entry: HostedAlloc, name: str) -> None:
        runner = entry.runner
        try:
            task = runner.tasks[name].task
            driver = self.drivers.get(task.driver)
            if driver is None:
                raise StartError(f'driver "{task.driver}" is not offered by this node')
            launch = await self._preparation.launch(entry, task, driver)
            handle = driver.prepare(launch)
            entry.handles[name] = handle
            self._record.keep(entry)
            ended = functools.partial(self._ended, entry, name, handle.task_id)
            await driver.start(launch, handle, ended)
        except StartError as problem:
            commands = runner.task_ended(name, problem.as_ending(), self._now())
        except OSError as problem:
            ending = StartError(str(problem), recoverable=True).as_ending()
            commands = runner.task_ended(name, ending, self._now())
        else:
            commands = runner.task_started(name, self._now())
            for act in self._acts.of(entry, name, (), self._preparation.first(entry, name)):
                self._spawn(act)
        self._apply(entry, commands)

    async def _stop(self, entry: HostedAlloc, command: StopTask) -> None:
        handle = entry.handles[command.task]
        driver = self.drivers[handle.driver]
        for pause in (*STOP_RETRIES, 0.0):
            try:
                await driver.stop(handle, command.timeout / SECOND, command.signal)
            except (OSError, ValueError):
                logger.exception("cannot stop", extra={"task": handle.task_id})
                await asyncio.sleep(pause)
            else:
                return

    def _ended(self, entry: HostedAlloc, name: str, task_id: str, ending: Ending) -> None:
        """A driver tells the end of a run; a late word about an earlier run is not heard."""
        handle = entry.handles.get(name)
        if handle is not None and handle.task_id == task_id:
            self._apply(entry, entry.runner.task_ended(name, ending, self._now()))

    def _arm(self, entry: HostedAlloc) -> None:
        """Have `tick` called when the runner wants it."""
        now, wake_at = self._now(), entry.runner.wake_at
        if wake_at == entry.timer_at:
            return
        entry.disarm()
        entry.timer_at = wake_at
        if wake_at:
            delay = max(0.0, (wake_at - now) / SECOND)
            entry.timer = asyncio.get_running_loop().call_later(delay, self._tick, entry)

    def _tick(self, entry: HostedAlloc) -> None:
        entry.timer, entry.timer_at = None, 0
        self._apply(entry, entry.runner.tick(self._now()))

    def destroy(self, alloc_id: str) -> None:
        """Delete every trace of a finished allocation."""
        self._spawn(self._delete(self._forget(alloc_id)))

    async def destroy_now(self, alloc_id: str) -> None:
        """The same, with nothing left to be done at the return."""
        await self._delete(self._forget(alloc_id))

    async def _delete(self, directories: AllocDirectories | None) -> None:
        if directories is not None:
            async with self.destroys:
                await asyncio.to_thread(directories.remove)

    def _forget(self, alloc_id: str) -> AllocDirectories | None:
        entry = self.entries.pop(alloc_id, None)
        if entry is None:
            return None
        entry.disarm()
        self.gone |= set() if entry.is_unwanted else {alloc_id}
        self._record.delete(alloc_id)
        return self.storage.directories(alloc_id)

    async def _restore(self, stored: StoredAlloc) -> None:
        now = self._now()
        runner = AllocRunner(stored.alloc, stored.job, self.surroundings, now=now)
        resume(runner, stored.tasks)
        runner.deployment_status = stored.deployment_status or runner.deployment_status
        runner.health.keep(runner.deployment_status)
        directories = self.storage.directories(stored.alloc.id)
        if directories is not None and directories.root.is_dir():
            directories.close(map(self.launcher.user_of, runner.group.tasks))
        entry = HostedAlloc(runner, acknowledged=stored.acknowledged)
        self.entries[stored.alloc.id] = entry
        await self.networks.resume(runner)
        entry.handles = {name: kept.handle for name, kept in stored.tasks.items() if kept.handle}
        entry.fetched = {name: set(kept.fetched) for name, kept in stored.tasks.items()}
        commands: list[Command] = []
        for name in unfinished_runs(runner):
            handle = entry.handles.get(name)
            if handle is not None and await self._recover(entry, name, handle):
                commands += recovered(runner, name, now)
            else:
                lost(runner, name, now)
        self._apply(entry, [*commands, *runner.carry_on(now)])
        for name, run in runner.tasks.items():
            if run.phase is Phase.RUNNING:
                self._spawn(self._preparation.resume(entry, name))

    async def _recover(self, entry: HostedAlloc, name: str, handle: Handle) -> bool:
        driver = self.drivers.get(handle.driver)
        ended = functools.partial(self._ended, entry, name, handle.task_id)
        return driver is not None and await driver.recover(handle, ended)

    def _now(self) -> int:
        """The time. Where the clock was set, what waits for a moment waits as long as before."""
        now, moved = self._time.look()
        for entry in self.entries.values() if moved else ():
            entry.shift(moved)
        return now

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)
