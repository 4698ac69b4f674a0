"""What a change of its templates does to a running task: signals, and scripts inside it.

In: commands of its runner, scripts that are settled. Out: lines in its history; its end, where a
signal cannot be sent or a script has failed that must not. Scripts of one change run beside each
other, each for so long and no longer.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Protocol

from cluster.agent import task_events as events
from cluster.agent.abortable import Who
from cluster.agent.drivers.driver import Driver, InsideFailed, Streams
from cluster.agent.hosted_alloc import HostedAlloc
from cluster.agent.task_run import Command, Phase, SignalTask
from cluster.agent.template_keeper import TemplateChange
from cluster.jobspec.durations import duration_text
from scheduler.ports import Clock
from scheduler.structs.allocation import TaskEvent
from scheduler.structs.task_group import ChangeScript

MESSAGE = "Task hook message"
_SECOND = 1_000_000_000


class ActHost(Protocol):
    """Whoever has the tasks."""

    drivers: Mapping[str, Driver]
    clock: Clock
    changed: Callable[[str], None]

    def templates_failed(self, who: Who, why: str) -> None:
        """End it as failed, with that sentence in its history."""


class TemplateActs:
    """Acts on the tasks of one node."""

    def __init__(self, host: ActHost) -> None:
        self._host = host

    def of(
        self,
        entry: HostedAlloc,
        task: str,
        commands: Sequence[Command],
        change: TemplateChange,
    ) -> list[Coroutine[Any, Any, None]]:
        """What is to be done to a task, one beside the other."""
        signals = [each for each in commands if isinstance(each, SignalTask)]
        runs = entry.runner.tasks[task].phase is Phase.RUNNING
        return [
            *(self._send(entry, each, change) for each in signals),
            *(self._run(entry, task, script) for script in change.scripts if runs),
        ]

    async def _send(self, entry: HostedAlloc, command: SignalTask, change: TemplateChange) -> None:
        """Pass on the signal of a change; one that cannot be sent fails the task."""
        handle = entry.handles[command.task]
        try:
            await self._host.drivers[handle.driver].signal(handle, command.signal)
        except (OSError, ValueError) as problem:
            text = change.unsent(command.signal, problem)
            self._host.templates_failed((entry.runner.alloc.id, command.task), text)

    async def _run(self, entry: HostedAlloc, task: str, script: ChangeScript) -> None:
        """Run a script inside a task, and tell how it ended."""
        what = f"script {script.command} with arguments [{' '.join(script.args)}]"
        try:
            code = await self._code_of(entry, task, script)
        except (InsideFailed, OSError, TimeoutError) as problem:
            failed = f"Template failed to run {what} on change: {problem}. Exit code: 0"
        else:
            if code == 0:
                told = f"Template successfully ran {what}. Exit code: 0"
                self._say(entry, task, events.event(MESSAGE, self._host.clock.now(), told))
                return
            failed = f"Template ran {what} on change but it exited with code: {code}"
        self._say(entry, task, events.hook_failed(self._host.clock.now(), failed))
        if script.fail_on_error:
            why = "Template script failed, task is being killed"
            self._host.templates_failed((entry.runner.alloc.id, task), why)

    async def _code_of(self, entry: HostedAlloc, task: str, script: ChangeScript) -> int:
        handle = entry.handles[task]
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            process = await self._host.drivers[handle.driver].run_inside(
                handle, (script.command, *script.args), Streams(nothing, nothing, nothing)
            )
        finally:
            os.close(nothing)
        try:
            async with asyncio.timeout(script.timeout / _SECOND):
                return await process.wait()
        except TimeoutError:
            raise TimeoutError(f"it took longer than {duration_text(script.timeout)}") from None
        finally:
            process.kill()

    def _say(self, entry: HostedAlloc, task: str, line: TaskEvent) -> None:
        entry.runner.tasks[task].say(line)
        self._host.changed(entry.runner.alloc.id)
