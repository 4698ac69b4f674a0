"""A simulated fleet as a process of its own, for the live tests."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

from django.conf import settings

from cluster.bench.stack import Stack


class FleetProcess:
    """`manage.py runfleet`, which can be killed and started again with the same nodes."""

    def __init__(self, stack: Stack, nodes: int, cpu: int, memory: int, seed: int = 7) -> None:
        self.command = [
            sys.executable, str(settings.BASE_DIR / "manage.py"), "runfleet",
            "--nodes", str(nodes), "--cpu", str(cpu), "--memory", str(memory), "--seed", str(seed),
        ]  # fmt: skip
        self.environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "cluster.settings",
            "BIVOUAC_ADDR": stack.address,
            "BIVOUAC_TOKEN": stack.token,
            # Its own process need not find the record, wherever the stack keeps it.
            "BIVOUAC_JOIN_TOKEN": (stack.data_dir / "join-token").read_text().strip(),
            "BIVOUAC_DATA_DIR": str(stack.data_dir),
        }
        self.log = (stack.data_dir / "logs" / "fleet.log").open("ab")
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.command, env=self.environment, stdout=self.log, stderr=self.log,
            start_new_session=True,
        )  # fmt: skip

    def kill(self) -> None:
        """kill -9, then start again."""
        self.end(signal.SIGKILL)
        self.start()

    def end(self, number: signal.Signals) -> None:
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)
        self.process.wait(20)


@contextlib.contextmanager
def fleet(
    stack: Stack, *, nodes: int, cpu: int, memory: int, seed: int = 7
) -> Iterator[FleetProcess]:
    """A running fleet whose nodes are all ready."""
    running = FleetProcess(stack, nodes, cpu, memory, seed)
    running.start()
    try:
        deadline = time.monotonic() + 120
        ready = 0
        while ready < nodes:
            assert time.monotonic() < deadline, f"only {ready} of {nodes} nodes became ready"
            time.sleep(0.1)
            with stack.client() as client:
                found = client.get("/v1/nodes").json()
            ready = sum(node["Status"] == "ready" for node in found)
        yield running
    finally:
        running.end(signal.SIGTERM)
        running.log.close()
