"""`up`: prepare the data directory, start every process, show their health, stop them cleanly.

Holds no state that matters: everything it starts carries on from the record.
"""

import asyncio
import contextlib
import os
import shlex
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TextIO

from django.conf import settings

from cluster.installation import program, typed_start
from cluster.runtime.child_process import ChildProcess, start_process
from cluster.runtime.data_lock import CannotStart, alone_in
from cluster.runtime.embedded import data_directory, embedded_redis
from cluster.runtime.file_limit import complaint, raise_file_limit
from cluster.runtime.first_steps import await_record, await_redis
from cluster.runtime.health_table import HealthTable
from cluster.runtime.leader_protocol import APPLIER_WAKE_UPS, WORKER_WAKE_UPS
from cluster.runtime.log_files import turn_over
from cluster.runtime.spare import Spare
from cluster.runtime.welcome import Welcome, prepare_record

#: Seconds between looks at the sizes of the logs.
LOGS_LOOK_S = 5.0


@dataclass(frozen=True)
class UpOptions:
    """What `up` was asked to start."""

    agent: bool = True
    workers: int = 2
    #: With the demo's fleet, and scenarios on the page Now.
    demo: bool = False


def run_up(options: UpOptions, write: Callable[[str], None]) -> None:
    """Start everything; stay until Ctrl-C or SIGTERM. Raises CannotStart before anything runs."""
    data_dir = data_directory(settings.BIVOUAC_DATA_DIR)
    with alone_in(data_dir, settings.BIVOUAC_PUBLIC_URL):
        _require_free_port(settings.BIVOUAC_HOST, settings.BIVOUAC_PORT)
        write(f"Bivouac keeps its data in {data_dir}")
        if too_low := complaint(raise_file_limit()):
            write(too_low)
        await_record(write)
        if os.environ.get("REDIS_URL"):
            await_redis(settings.BIVOUAC_REDIS_URL, write)
        welcome = prepare_record(data_dir, has_agent=options.agent)
        asyncio.run(_Supervisor(data_dir, options, welcome, write).run())


def _require_free_port(host: str, port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            raise CannotStart(
                f"Port {port} on {host} is taken. Set BIVOUAC_PORT to another one,"
                f" for example BIVOUAC_PORT={port + 1} {typed_start('up')}"
            ) from None


class _Supervisor:
    def __init__(
        self, data_dir: Path, options: UpOptions, welcome: Welcome, write: Callable[[str], None]
    ) -> None:
        self.data_dir = data_dir
        self.agent_dir = data_dir / "agent"
        self.options = options
        self.welcome = welcome
        self.write = write
        self.children: list[ChildProcess] = []
        self.redis: ChildProcess | None = None
        self.stopping = asyncio.Event()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.stopping.set)
        environment = {
            "BIVOUAC_DATA_DIR": str(self.data_dir),
            "DJANGO_SETTINGS_MODULE": os.environ.get("DJANGO_SETTINGS_MODULE", "cluster.settings"),
            "PYTHONUNBUFFERED": "1",
            # Celery would check the whole project, pages included, at each start.
            "CELERY_SKIP_CHECKS": "1",
            # Pages and programs are told what was asked for here.
            "BIVOUAC_WORKERS": str(self.options.workers),
            **({"BIVOUAC_DEMO": "1"} if self.options.demo else {}),
            "BIVOUAC_LOCAL_AGENT_DIR": str(self.agent_dir) if self.options.agent else "",
        }
        if not os.environ.get("REDIS_URL"):
            redis = embedded_redis(self.data_dir)
            environment["REDIS_URL"] = redis.url
            self.redis = self._add("redis", redis.command, {})
        spare = Spare(
            partial(start_process, orders=True), self.data_dir / "logs" / "spare.log", environment
        )
        for name, command, extra in self._commands():
            self._add(name, command, {**environment, **extra}).spare = spare
        runners = [asyncio.create_task(child.run()) for child in self.children]
        table = HealthTable(self.children, self.welcome, self.write)
        shown = asyncio.create_task(table.run(self.stopping))
        kept = asyncio.create_task(spare.keep(self.stopping))
        await self._keep_logs_small()
        await shown
        self.write("Stopping. Tasks of the local agent keep running; the next `up` finds them.")
        await asyncio.gather(kept, self._stop())
        await asyncio.gather(*runners)
        self.write(f"Stopped. Nothing is lost: `{typed_start('up')}` carries on.")

    async def _keep_logs_small(self) -> None:
        """Look at the sizes of the logs until told to stop."""
        limit, keep = settings.BIVOUAC_LOG_BYTES, settings.BIVOUAC_LOG_FILES
        while not self.stopping.is_set():
            for child in self.children:
                # A full disk must not end what writes the logs.
                with contextlib.suppress(OSError):
                    turn_over(child.log_file, limit=limit, keep=keep)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOGS_LOOK_S):
                    await self.stopping.wait()

    def _add(
        self, name: str, command: tuple[str, ...], environment: dict[str, str]
    ) -> ChildProcess:
        log_file = self.data_dir / "logs" / f"{name}.log"
        self.children.append(ChildProcess(name, command, log_file, environment))
        return self.children[-1]

    def _commands(self) -> list[tuple[str, tuple[str, ...], dict[str, str]]]:
        celery = shlex.split(
            f"{shlex.quote(sys.executable)} -m celery --app cluster worker --without-gossip"
            " --without-mingle --without-heartbeat --loglevel WARNING"
        )
        commands: list[tuple[str, tuple[str, ...], dict[str, str]]] = [
            ("web", program("runweb"), {}),
            ("leader", program("runleader"), {}),
            (
                "workers",
                (
                    *celery,
                    "-Q",
                    WORKER_WAKE_UPS,
                    "-c",
                    str(self.options.workers),
                    "-n",
                    "workers@%h",
                ),
                {},
            ),
            ("applier", (*celery, "-Q", APPLIER_WAKE_UPS, "-c", "1", "-n", "applier@%h"), {}),
        ]
        if self.options.agent:
            commands.append(
                (
                    "agent",
                    program("runagent"),
                    {
                        "BIVOUAC_ADDR": self.welcome.address,
                        "BIVOUAC_JOIN_TOKEN": self.welcome.join_token,
                        "BIVOUAC_AGENT_DIR": str(self.agent_dir),
                        "BIVOUAC_RAW_EXEC": "1",
                        # Its tasks may reach what they like here; so may their downloads.
                        "BIVOUAC_ARTIFACT_PRIVATE_ADDRESSES": "1",
                    },
                )
            )
        if self.options.demo:
            told = {
                "BIVOUAC_ADDR": self.welcome.address,
                "BIVOUAC_JOIN_TOKEN": self.welcome.join_token,
            }
            commands.append(("demo", program("rundemo"), told))
        return commands

    async def _stop(self) -> None:
        """Redis last: the others say goodbye through it."""
        await asyncio.gather(*(item.stop() for item in self.children if item is not self.redis))
        if self.redis is not None:
            await self.redis.stop()


def report(stream: TextIO) -> Callable[[str], None]:
    """A writer of whole lines that survives a closed terminal."""

    def write(line: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            stream.write(line + "\n")
            stream.flush()

    return write
