"""`up`: prepare the data directory, start every process, show their health, stop them cleanly.

Holds no state that matters: everything it starts carries on from the record.
"""

import asyncio
import contextlib
import fcntl
import os
import shlex
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from django.conf import settings

from cluster.runtime.child_process import ChildProcess
from cluster.runtime.embedded import data_directory, embedded_redis, open_private
from cluster.runtime.health_table import HealthTable
from cluster.runtime.welcome import Welcome, prepare_record


class CannotStart(Exception):
    """Something outside is in the way; the message says what to do."""


@dataclass(frozen=True)
class UpOptions:
    """What `up` was asked to start."""

    agent: bool = True
    workers: int = 2


def run_up(options: UpOptions, write: Callable[[str], None]) -> None:
    """Start everything; stay until Ctrl-C or SIGTERM. Raises CannotStart before anything runs."""
    data_dir = data_directory(settings.BIVOUAC_DATA_DIR)
    with _only_one(data_dir):
        _require_free_port(settings.BIVOUAC_HOST, settings.BIVOUAC_PORT)
        write(f"Bivouac keeps its data in {data_dir}")
        welcome = prepare_record(data_dir)
        asyncio.run(_Supervisor(data_dir, options, welcome, write).run())


@contextlib.contextmanager
def _only_one(data_dir: Path) -> Iterator[None]:
    lock = TextIOWrapper(open_private(data_dir / "up.lock"))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        where = lock.read().strip() or "another process"
        lock.close()
        raise CannotStart(
            f"Bivouac is already running with this data directory: {where}"
        ) from None
    lock.truncate(0)
    lock.write(f"{settings.BIVOUAC_PUBLIC_URL} (process {os.getpid()})")
    lock.flush()
    try:
        yield
    finally:
        lock.truncate(0)
        lock.close()


def _require_free_port(host: str, port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            raise CannotStart(
                f"Port {port} on {host} is taken. Set BIVOUAC_PORT to another one,"
                f" for example BIVOUAC_PORT={port + 1} make up"
            ) from None


class _Supervisor:
    def __init__(
        self, data_dir: Path, options: UpOptions, welcome: Welcome, write: Callable[[str], None]
    ) -> None:
        self.data_dir = data_dir
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
        }
        if not os.environ.get("REDIS_URL"):
            redis = embedded_redis(self.data_dir)
            environment["REDIS_URL"] = redis.url
            self.redis = self._add("redis", redis.command, {})
        for name, command, extra in self._commands():
            self._add(name, command, {**environment, **extra})
        runners = [asyncio.create_task(child.run()) for child in self.children]
        table = HealthTable(self.children, self.welcome, self.write)
        shown = asyncio.create_task(table.run(self.stopping))
        await self.stopping.wait()
        await shown
        self.write("Stopping. Tasks of the local agent keep running; the next `up` finds them.")
        await self._stop()
        await asyncio.gather(*runners)
        self.write("Stopped. Nothing is lost: `make up` carries on.")

    def _add(
        self, name: str, command: tuple[str, ...], environment: dict[str, str]
    ) -> ChildProcess:
        log_file = self.data_dir / "logs" / f"{name}.log"
        self.children.append(ChildProcess(name, command, log_file, environment))
        return self.children[-1]

    def _commands(self) -> list[tuple[str, tuple[str, ...], dict[str, str]]]:
        python, manage = sys.executable, str(settings.BASE_DIR / "manage.py")
        celery = shlex.split(
            f"{shlex.quote(python)} -m celery --app cluster worker --without-gossip"
            " --without-mingle --without-heartbeat --loglevel WARNING"
        )
        # Pages that all come back at once to a busy machine wait for each other's handshakes;
        # given up after Daphne's 5 s they would only try again.
        web = shlex.split(
            f"{shlex.quote(python)} -m daphne --bind {settings.BIVOUAC_HOST}"
            f" --port {settings.BIVOUAC_PORT} --no-server-name --access-log {os.devnull}"
            " --websocket_connect_timeout 30"
        )
        commands: list[tuple[str, tuple[str, ...], dict[str, str]]] = [
            ("web", (*web, "cluster.asgi:application"), {}),
            ("leader", (python, manage, "runleader"), {}),
            (
                "workers",
                (
                    *celery,
                    "-Q",
                    "evaluations",
                    "-c",
                    str(self.options.workers),
                    "-n",
                    "workers@%h",
                ),
                {},
            ),
            ("applier", (*celery, "-Q", "plans", "-c", "1", "-n", "applier@%h"), {}),
        ]
        if self.options.agent:
            commands.append(
                (
                    "agent",
                    (python, manage, "runagent"),
                    {
                        "BIVOUAC_ADDR": self.welcome.address,
                        "BIVOUAC_JOIN_TOKEN": self.welcome.join_token,
                        "BIVOUAC_AGENT_DIR": str(self.data_dir / "agent"),
                        "BIVOUAC_RAW_EXEC": "1",
                    },
                )
            )
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
