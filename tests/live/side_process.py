"""A process beside the stack, which no supervisor starts again."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import httpx
from django.conf import settings

from cluster.bench.stack import Stack
from cluster.runtime.embedded import EmbeddedRedis, data_directory, embedded_redis
from tests.live.world import PATIENCE

MANAGE = (sys.executable, str(settings.BASE_DIR / "manage.py"))


class SideProcess:
    """One command in a process group of its own, its output in a file."""

    def __init__(
        self, command: Sequence[str], log_file: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self.command = command
        self.log_file = log_file
        self.environment = {**os.environ, **(environment or {})}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, start_new_session=True,
            )  # fmt: skip

    def send(self, number: signal.Signals) -> None:
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Its children end with it: asked as well, they would be missed by it first."""
        assert self.process is not None
        self.process.send_signal(number)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.send(signal.SIGKILL)
            self.process.wait(10)
        self.send(signal.SIGKILL)

    @property
    def log(self) -> str:
        return self.log_file.read_text(errors="replace")


@contextlib.contextmanager
def running(process: SideProcess) -> Iterator[SideProcess]:
    process.start()
    try:
        yield process
    finally:
        process.send(signal.SIGCONT)
        process.end()


def beside(stack: Stack, name: str, *command: str, **environment: str) -> SideProcess:
    """A process of the same cluster as the stack's."""
    cluster = {
        "DJANGO_SETTINGS_MODULE": "cluster.settings",
        "BIVOUAC_DATA_DIR": str(stack.data_dir),
        "BIVOUAC_ADDR": stack.address,
        **environment,
    }
    return SideProcess(command, stack.data_dir / "logs" / f"{name}.log", cluster)


class RedisProcess(SideProcess):
    """A Redis that comes back empty under the same address, and only when told to."""

    def __init__(self, directory: Path) -> None:
        embedded: EmbeddedRedis = embedded_redis(data_directory(directory))
        self.url = embedded.url
        super().__init__(embedded.command, directory / "redis.log")


def until(question, limit_s: float, why: str):
    """Ask until the answer is true; returns it."""
    deadline = time.monotonic() + PATIENCE * limit_s
    answer = None
    while time.monotonic() < deadline:
        with contextlib.suppress(httpx.HTTPError, ValueError):
            answer = question()
            if answer:
                return answer
        time.sleep(0.1)
    raise AssertionError(f"not within {limit_s:g} s: {why}; last answer {answer!r}")
