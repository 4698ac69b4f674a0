"""A process that has everything imported and waits to become whichever one dies first.

A killed web server or applier is away for as long as Python takes to import what it needs, which
is most of its start. One spare, made while nothing happens, takes that time in advance. It is told
on its standard input what to become; when nobody can tell it any more, it ends.
"""

import asyncio
import contextlib
import importlib
import os
import runpy
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import django
import msgspec

from cluster.runtime.embedded import open_private

#: Imported in advance, after Django is set up: what takes long, and does nothing by itself.
_MODULES = (
    "celery.bin.celery",
    "celery.apps.worker",
    "celery.concurrency.prefork",
    "channels.auth",
    "channels.routing",
    "cluster.runtime.worker_tasks",
    "cluster.runtime.applier_task",
    "cluster.runtime.leader_process",
    "cluster.runtime.web_server",
    "cluster.urls",
    "dashboard.wiring",
)
#: Seconds after which a new spare is made: what died last may need the processor more.
PAUSE_S = 3.0
COMMAND = (sys.executable, "-m", "cluster.runtime.spare")


class Orders(msgspec.Struct, frozen=True):
    """What a spare is to become: a Python command line, and the file that takes its output."""

    #: Without the interpreter: `-m module ...` or `script ...`.
    arguments: tuple[str, ...]
    log_file: str


class Start(Protocol):
    """Starts a process that ends with this one, its output in a log file."""

    async def __call__(
        self, command: Sequence[str], log_file: Path, environment: Mapping[str, str]
    ) -> asyncio.subprocess.Process:
        """The process; its standard input is a pipe."""
        ...


class Spare:
    """The supervisor's end: keeps one spare process, and hands it out."""

    def __init__(self, start: Start, log_file: Path, environment: Mapping[str, str]) -> None:
        self._start = start
        self._log_file = log_file
        self._environment = environment
        self._process: asyncio.subprocess.Process | None = None

    async def keep(self, stopping: asyncio.Event) -> None:
        """See to it that there is one, until the event; then end it."""
        while not stopping.is_set():
            if self._process is None or self._process.returncode is not None:
                self._process = await self._start(
                    COMMAND, self._log_file, {**os.environ, **self._environment}
                )
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PAUSE_S):
                    await stopping.wait()
        if (process := self._taken()) is not None:
            process.kill()
            await process.wait()

    async def become(
        self, command: Sequence[str], log_file: Path, environment: Mapping[str, str]
    ) -> asyncio.subprocess.Process | None:
        """The spare as this command, which it runs from now on; None when there is no spare.

        A command that is no Python, or wants other variables than the spare was made with, gets
        none either.
        """
        if command[0] != sys.executable or dict(environment) != dict(self._environment):
            return None
        process = self._taken()
        if process is None or process.stdin is None:
            return None
        orders = Orders(tuple(command[1:]), str(log_file))
        try:
            process.stdin.write(msgspec.json.encode(orders) + b"\n")
            await process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            return None
        process.stdin.close()
        return process

    def _taken(self) -> asyncio.subprocess.Process | None:
        process, self._process = self._process, None
        return process if process is not None and process.returncode is None else None


def _main() -> None:
    """Import, wait for orders, follow them as if started with them."""
    django.setup()
    for name in _MODULES:
        importlib.import_module(name)
    line = sys.stdin.buffer.readline()
    if not line:
        return
    orders = msgspec.json.decode(line, type=Orders)
    with open_private(Path(orders.log_file)) as log:
        for number in (1, 2):
            os.dup2(log.fileno(), number)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    _runner(orders.arguments)()


def _runner(arguments: Sequence[str]) -> Callable[[], object]:
    if arguments[0] == "-m":
        sys.argv = [*arguments[1:]]
        return lambda: runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    sys.argv = [*arguments]
    return lambda: runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    _main()
