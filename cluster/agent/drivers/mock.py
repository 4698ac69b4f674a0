"""`mock_driver`: tasks that behave as their options say, without any process (node-agent.md 16.4).

It needs no file and no thread, so that one process can run many thousands of them.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from cluster.agent.drivers.driver import (
    Abilities,
    Ended,
    Handle,
    InsideFailed,
    InsideProcess,
    Launch,
    StartError,
    Streams,
    TaskReading,
    healthy,
)
from cluster.agent.drivers.process_table import ProcessTable
from cluster.agent.restarts import Ending
from cluster.jobspec.durations import read_duration
from cluster.jobspec.left_out import option_refusals
from scheduler.structs.node import DriverInfo

SECOND = 1_000_000_000
_FOR_EVER = 365 * 24 * 3600 * SECOND


class MockOptions(msgspec.Struct, frozen=True):
    """The options of one task, as the job file gives them; durations are texts such as `10s`."""

    run_for: str | int = ""
    exit_code: int = 0
    exit_signal: int = 0
    exit_err_msg: str = ""
    kill_after: str | int = ""
    start_error: str = ""
    start_error_recoverable: bool = False
    start_block_for: str | int = ""
    signal_error: str = ""
    stdout_string: str = ""
    stdout_repeat: int = 0
    stderr_string: str = ""
    stderr_repeat: int = 0


@dataclass
class _Mock:
    """One running pretence."""

    options: MockOptions
    ended: Ended
    timer: asyncio.TimerHandle | None = None


class MockDriver:
    """Keeps the pretended tasks of one node.

    Under another driver's name its options are taken for granted: a task runs until stopped.
    """

    abilities = Abilities()
    #: There is no process that would have to be in it.
    joins_networks = True
    names_hosts = True

    def __init__(self, wall: Callable[[], int], name: str = "mock_driver") -> None:
        self.name = name
        self._wall = wall
        self._tasks: dict[str, _Mock] = {}

    def describe(self, now: int) -> DriverInfo:
        """Offered on every machine."""
        return healthy(self.name, now)

    def prepare(self, launch: Launch) -> Handle:
        """When it will end by itself is known from the start."""
        options = self._options(launch)
        lasts = _seconds(options.start_block_for) + _seconds(options.run_for)
        return Handle(
            driver=self.name,
            task_id=launch.task_id,
            facts={"ends_at": self._wall() + int(lasts * SECOND)},
        )

    async def start(self, launch: Launch, handle: Handle, ended: Ended) -> None:
        """Pretend to start; `run_for` absent means that it ends at once."""
        options = self._options(launch)
        if block := _seconds(options.start_block_for):
            await asyncio.sleep(block)
        if options.start_error:
            raise StartError(options.start_error, recoverable=options.start_error_recoverable)
        _write_output(launch, options)
        self._run(handle, options, ended)

    async def recover(self, handle: Handle, ended: Ended) -> bool:
        """Always possible: what is left of `run_for` is waited for."""
        self._run(handle, MockOptions(), ended)
        return True

    async def stop(self, handle: Handle, timeout_s: float, signal: str) -> None:
        """End after `kill_after`, or when the patience of the caller is over."""
        mock = self._tasks.get(handle.task_id)
        if mock is not None:
            self._end_in(min(_seconds(mock.options.kill_after), timeout_s), handle.task_id, mock)

    async def signal(self, handle: Handle, signal: str) -> None:
        """Answer as the options say."""
        mock = self._tasks.get(handle.task_id)
        if mock is not None and mock.options.signal_error:
            raise ValueError(mock.options.signal_error)

    async def run_inside(
        self, handle: Handle, argv: Sequence[str], streams: Streams
    ) -> InsideProcess:
        """There is no process to be beside of."""
        raise InsideFailed(f"{self.name} pretends its tasks: no command can be run inside one")

    def measure(self, handle: Handle, processes: ProcessTable) -> TaskReading | None:
        """Nothing is measured of a pretence."""

    def forget(self, handle: Handle) -> None:
        """Drop the pretence without a word."""
        mock = self._tasks.pop(handle.task_id, None)
        if mock is not None and mock.timer is not None:
            mock.timer.cancel()

    @property
    def running(self) -> tuple[str, ...]:
        """The ids of the tasks that run."""
        return tuple(self._tasks)

    def crash(self, task_id: str, exit_code: int) -> None:
        """End one task now with that exit code: the fleet's failures."""
        mock = self._tasks.get(task_id)
        if mock is not None:
            mock.options = msgspec.structs.replace(mock.options, exit_code=exit_code)
            self._end(task_id, mock)

    def _options(self, launch: Launch) -> MockOptions:
        if self.name == "mock_driver":
            return _options(launch.config)
        return MockOptions(run_for=_FOR_EVER)

    def _run(self, handle: Handle, options: MockOptions, ended: Ended) -> None:
        mock = _Mock(options, ended)
        self._tasks[handle.task_id] = mock
        left = (int(handle.facts["ends_at"]) - self._wall()) / SECOND
        self._end_in(max(0.0, left), handle.task_id, mock)

    def _end_in(self, seconds: float, task_id: str, mock: _Mock) -> None:
        if mock.timer is not None:
            mock.timer.cancel()
        loop = asyncio.get_running_loop()
        mock.timer = loop.call_later(seconds, self._end, task_id, mock)

    def _end(self, task_id: str, mock: _Mock) -> None:
        if self._tasks.get(task_id) is not mock:
            return
        self.forget(Handle(driver=self.name, task_id=task_id))
        options = mock.options
        mock.ended(
            Ending(
                exit_code=options.exit_code,
                signal=options.exit_signal,
                message=options.exit_err_msg,
            )
        )


def _options(config: dict[str, object]) -> MockOptions:
    if refused := option_refusals("mock_driver", config):
        raise StartError("; ".join(refused), invalid_config=True)
    try:
        options = msgspec.convert(config, MockOptions, strict=False)
        for text in (options.run_for, options.kill_after, options.start_block_for):
            _seconds(text)
    except (msgspec.ValidationError, ValueError) as problem:
        raise StartError(str(problem), invalid_config=True) from problem
    return options


def _seconds(text: str | int) -> float:
    span = text if isinstance(text, int) else read_duration(text or "0")
    if span is None:
        raise ValueError(f'time: invalid duration "{text}"')
    return span / SECOND


def _write_output(launch: Launch, options: MockOptions) -> None:
    """Put the texts where logs are read, when the node has files at all."""
    if launch.directories is None or launch.logs.disabled:
        return
    texts = {
        "stdout": options.stdout_string * (options.stdout_repeat + 1),
        "stderr": options.stderr_string * (options.stderr_repeat + 1),
    }
    for stream, text in texts.items():
        path = launch.directories.logs / f"{launch.task_name}.{stream}.0"
        with path.open("a") as log:
            log.write(text)
