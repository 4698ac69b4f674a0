"""A real web process on a record of its own: front door and server, no leader and no Redis."""

import os
import subprocess
import sys
from contextlib import contextmanager
from time import sleep

import httpx
from django.conf import settings

from cluster.runtime.clock import SystemClock
from cluster.runtime.embedded import free_port
from tests.patience import PATIENCE_S

CLOCK = SystemClock()


@contextmanager
def web_process(data_dir, environment=None):
    """Its address, while it runs; `data_dir` holds the record."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    log = data_dir / "web.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, str(settings.BASE_DIR / "manage.py"), "runweb", "--port", str(port)],
            env={
                **os.environ,
                "DJANGO_SETTINGS_MODULE": "cluster.settings",
                "BIVOUAC_DATA_DIR": str(data_dir),
                "BIVOUAC_PORT": str(port),
                "BIVOUAC_RATE": "0",
                # Nobody listens there: the process does without.
                "REDIS_URL": f"redis://127.0.0.1:{free_port()}/0",
                **(environment or {}),
            },
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
    try:
        _wait(address, process, log)
        yield address
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


def _wait(address, process, log):
    until = CLOCK.monotonic() + 30 + PATIENCE_S
    while CLOCK.monotonic() < until and process.poll() is None:
        try:
            httpx.get(f"{address}/v1/regions", timeout=5)
        except httpx.TransportError:
            sleep(0.05)
        else:
            return
    raise AssertionError(f"no web process: {log.read_text(errors='replace')[-3000:]}")
