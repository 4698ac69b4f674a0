"""One process under supervision: started, watched, restarted with backoff, stopped in time.

It never outlives its supervisor, however that one ends.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cluster.runtime.clock import SystemClock
from cluster.runtime.embedded import open_private
from cluster.runtime.free_memory import ENVIRONMENT
from cluster.runtime.parent_death import asks_the_kernel, die_with_parent, following
from cluster.runtime.spare import Spare

_CLOCK = SystemClock()
_PROJECT = Path(__file__).resolve().parents[2]
#: Seconds before restart 1, 2, 3 ...; the last one repeats.
BACKOFF = (0.2, 1.0, 2.0, 5.0, 10.0, 30.0)
#: A process that lived this long has recovered, and its backoff begins anew.
STABLE_S = 60.0


@dataclass
class ChildProcess:
    """A named command whose output goes to its own log file."""

    name: str
    command: tuple[str, ...]
    log_file: Path
    environment: dict[str, str]
    #: Asked to end by this; killed after `grace_s`.
    stop_signal: signal.Signals = signal.SIGTERM
    grace_s: float = 6.0
    state: str = "waiting"
    reason: str = ""
    restart_count: int = 0
    started_at: float = 0.0
    process: asyncio.subprocess.Process | None = None
    #: What it becomes after it died, if there is one; it is away for a shorter time then.
    spare: Spare | None = None
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        return self.process.pid if self.process and self.process.returncode is None else None

    @property
    def uptime_s(self) -> float:
        """Seconds since the last start."""
        return _CLOCK.monotonic() - self.started_at if self.pid else 0.0

    async def run(self) -> None:
        """Keep the process running until `stop` is called."""
        failures = 0
        while not self._stopping.is_set():
            await self._start()
            if self._stopping.is_set():
                # `stop` came while it was being started, and found nothing to end.
                await self.stop()
            assert self.process is not None, "_start sets the process or raises"
            code = await self.process.wait()
            if self._stopping.is_set():
                break
            failures = 0 if _CLOCK.monotonic() - self.started_at > STABLE_S else failures + 1
            delay = BACKOFF[min(failures, len(BACKOFF)) - 1] if failures else BACKOFF[0]
            self.restart_count += 1
            self.state = "restarting"
            self.reason = f"{_ending(code)}, restarted after {delay:g} s; see {self.log_file}"
            await _wait(self._stopping, delay)
        self.state = "stopped"

    async def _start(self) -> None:
        process = None
        if self.restart_count and self.spare is not None:
            process = await self.spare.become(self.command, self.log_file, self.environment)
        self.process = process or await start_process(
            self.command, self.log_file, {**os.environ, **self.environment}
        )
        self.started_at = _CLOCK.monotonic()
        self.state = "running"

    async def stop(self) -> None:
        """Ask the process to end, then kill its whole group after the grace period."""
        self._stopping.set()
        process = self.process
        if process is None or process.returncode is not None:
            return
        self.state = "stopping"
        _signal_group(process.pid, self.stop_signal, whole=False)
        try:
            async with asyncio.timeout(self.grace_s):
                await process.wait()
        except TimeoutError:
            _signal_group(process.pid, signal.SIGKILL, whole=True)
            await process.wait()
        _signal_group(process.pid, signal.SIGKILL, whole=True)
        self.state = "stopped"


async def start_process(
    command: Sequence[str], log_file: Path, environment: Mapping[str, str], *, orders: bool = False
) -> asyncio.subprocess.Process:
    """Start a command that dies with this process; `orders`: its input is a pipe."""
    by_kernel = asks_the_kernel()
    with open_private(log_file) as log:
        return await asyncio.create_subprocess_exec(
            *(command if by_kernel else following(command)),
            preexec_fn=die_with_parent if by_kernel else None,
            stdin=asyncio.subprocess.PIPE if orders else asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**ENVIRONMENT, **environment},
            # Commands name modules of ours, wherever the supervisor was started.
            cwd=_PROJECT,
            # Ctrl-C reaches the supervisor alone, which stops the children in order.
            start_new_session=True,
        )


def _signal_group(pid: int, number: signal.Signals, *, whole: bool) -> None:
    try:
        if whole:
            os.killpg(pid, number)
        else:
            os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def _ending(code: int) -> str:
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
