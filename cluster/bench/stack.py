"""A whole Bivouac of its own in a temporary directory: what benchmarks and live tests run against.

Started through the same `manage.py up` as a user's; its processes can be found by name and killed.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx
import psutil
from django.conf import settings

from cluster.agent.secret_mounts import unmount_below
from cluster.runtime.clock import SystemClock
from cluster.runtime.embedded import free_port

_STATE = re.compile(r"^(?P<name>[a-z]+): (?P<state>[a-z]+)(?: \(process (?P<pid>\d+)\))?")
_EXPORT = re.compile(r"^export (?P<name>\w+)=(?P<value>.*)$")


class StackFailed(Exception):
    """The stack did not come up or go down in time; the message carries its last lines."""


class Stack:
    """One running Bivouac, as a context manager; give `data_dir` to start on old data."""

    def __init__(
        self,
        *,
        agent: bool = False,
        demo: bool = False,
        workers: int = 2,
        environment: Mapping[str, str] | None = None,
        data_dir: Path | None = None,
    ) -> None:
        self._own_dir = data_dir is None
        self.data_dir = data_dir or Path(tempfile.mkdtemp(prefix="bivouac-stack-"))
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.token = ""
        self.login_link = ""
        #: Process name to its newest process id.
        self.pids: dict[str, int] = {}
        self.lines: list[str] = []
        self._clock = SystemClock()
        self._arguments = ["up", "--workers", str(workers)]
        self._arguments += [] if agent else ["--no-agent"]
        self._arguments += ["--demo"] if demo else []
        #: What its processes are started with.
        self.environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "cluster.settings",
            "BIVOUAC_DATA_DIR": str(self.data_dir),
            "BIVOUAC_PORT": str(self.port),
            "PYTHONUNBUFFERED": "1",
            **(environment or {}),
        }
        for name in ("REDIS_URL", "BIVOUAC_PUBLIC_URL"):
            if name not in (environment or {}):
                self.environment.pop(name, None)
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        if self._own_dir:
            # Its agent leaves secrets of tasks mounted, for the next one.
            unmount_below(self.data_dir)
            shutil.rmtree(self.data_dir, ignore_errors=True)

    def start(self, limit_s: float = 180) -> None:
        """Start and wait until the API answers with the token of `env`."""
        (self.data_dir / "login-link").unlink(missing_ok=True)
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, str(settings.BASE_DIR / "manage.py"), *self._arguments],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, args=(self._process,), daemon=True)
        self._reader.start()
        deadline = self._clock.monotonic() + limit_s
        while not self._is_up():
            if self._process.poll() is not None or self._clock.monotonic() > deadline:
                tail = "\n".join(self.lines[-20:])
                self.kill_everything()
                raise StackFailed(f"`up` did not come up:\n{tail}")
            time.sleep(0.05)

    def stop(self, limit_s: float = 45) -> float:
        """SIGTERM, as a service manager would; returns the seconds it took."""
        process = self._process
        if process is None:
            return 0.0
        began = self._clock.monotonic()
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(limit_s)
            except subprocess.TimeoutExpired:
                self.kill_everything()
                raise StackFailed("`up` did not stop in time") from None
        if self._reader is not None:
            self._reader.join(5)
        if process.stdout is not None:
            process.stdout.close()
        self._process = None
        return self._clock.monotonic() - began

    def kill(self, name: str, number: signal.Signals = signal.SIGKILL) -> int:
        """Kill one process by name, children included; `up` starts it again. Returns its id."""
        pid = self.pids[name]
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, number)
        return pid

    def kill_supervisor(self) -> list[psutil.Process]:
        """Kill `up` itself and nothing else; returns what it had started."""
        assert self._process is not None, "killed while it runs"
        family = psutil.Process(self._process.pid).children(recursive=True)
        self._process.kill()
        self.stop()
        return family

    def kill_everything(self) -> None:
        """Leave nothing running."""
        for pid in (*self.pids.values(), *([self._process.pid] if self._process else ())):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)

    def client(self) -> httpx.Client:
        """A client of the API that holds the token."""
        return httpx.Client(
            base_url=self.address,
            headers={"X-Nomad-Token": self.token},
            timeout=30,
            trust_env=False,
        )

    def log(self, name: str) -> str:
        """What a process has logged."""
        file = self.data_dir / "logs" / f"{name}.log"
        return file.read_text(errors="replace") if file.exists() else ""

    def _read(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None, "started with a pipe"
        for line in process.stdout:
            text = line.rstrip()
            self.lines.append(text)
            match = _STATE.match(text)
            if match and match["pid"]:
                self.pids[match["name"]] = int(match["pid"])

    def _is_up(self) -> bool:
        exports, link = self.data_dir / "env", self.data_dir / "login-link"
        if not link.exists() or not exports.exists():
            return False
        self.login_link = link.read_text().strip()
        matches = (_EXPORT.match(line) for line in exports.read_text().splitlines())
        values = {match["name"]: match["value"].strip("'\"") for match in matches if match}
        self.token = values.get("BIVOUAC_TOKEN", "")
        try:
            with self.client() as client:
                leader = client.get("/v1/status/leader", timeout=2)
        except httpx.HTTPError:
            return False
        return leader.status_code == httpx.codes.OK and leader.json() != ""
