"""What a task uses is told for each of its processes too, in the shape that clients know."""

import json
import os
import subprocess
import sys
import time
from types import SimpleNamespace

from cluster.agent.drivers.usage import usage_of
from cluster.agent.statistics import allocation_usage
from tests.cluster.api.shape_match import differences
from tests.patience import PATIENCE_S
from tests.vector_files import VECTORS

SHAPES = json.loads((VECTORS / "cli" / "shapes.json").read_text("utf-8"))
WANTED = SHAPES["GET /v1/client/allocation/{id}/stats"]["Response"]


def test_each_process_has_its_memory():
    usage = usage_of(os.getpid())
    assert usage.processes[os.getpid()].memory_bytes > 1 << 20
    assert usage.memory_bytes == sum(each.memory_bytes for each in usage.processes.values())


def test_the_share_of_the_processor_is_that_since_the_last_question():
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        for _ in range(PATIENCE_S * 20):
            if usage_of(busy.pid).cpu_percent > 0:
                break
            time.sleep(0.05)
        else:
            raise AssertionError("a process that never rests used nothing")
    finally:
        busy.kill()
        busy.wait()


def test_a_process_that_is_gone_uses_nothing():
    assert (usage_of(2**22 + 1).memory_bytes, usage_of(2**22 + 1).processes) == (0, {})


def test_statistics_of_an_allocation_have_the_recorded_shape():
    running = SimpleNamespace(state=SimpleNamespace(state="running"))
    entry = SimpleNamespace(
        handles={"web": SimpleNamespace(driver="raw_exec")},
        runner=SimpleNamespace(tasks={"web": running}),
    )
    driver = SimpleNamespace(usage=lambda _: usage_of(os.getpid()))
    told = allocation_usage(entry, {"raw_exec": driver}, now=1)
    assert differences(WANTED, told) == []
    assert str(os.getpid()) in told["Tasks"]["web"]["Pids"]
