"""Memory that is given back."""

import functools
import os
import sys
import threading

import psutil
import pytest

from cluster.runtime import free_memory
from cluster.runtime.child_process import start_process


@pytest.fixture(autouse=True)
def nothing_begun(monkeypatch):
    monkeypatch.setattr(free_memory, "_begun_in", 0)


def test_it_is_done_again_and_again_by_one_thread():
    times = threading.Semaphore(0)
    tidied = []
    begin = functools.partial(
        free_memory.begin_trimming,
        lambda: tidied.append(True),
        every_s=0.001,
        trim=times.release,
    )
    assert begin()
    assert not begin()
    assert times.acquire(timeout=60)
    assert times.acquire(timeout=60)
    assert len(tidied) >= 2


@pytest.mark.skipif(free_memory._trim_of_this_system() is None, reason="no glibc here")
def test_what_was_freed_between_things_that_stay_is_given_back():
    process = psutil.Process()
    blocks = [bytes(600) for _ in range(200_000)]
    kept = blocks[::200]
    full = process.memory_info().rss
    blocks.clear()
    free_memory._trim_of_this_system()()
    assert process.memory_info().rss < full - 50 * 1024**2
    assert len(kept) == 1000


async def test_children_share_few_heaps(tmp_path):
    log = tmp_path / "log"
    code = "import os; print(os.environ['MALLOC_ARENA_MAX'])"
    process = await start_process((sys.executable, "-c", code), log, dict(os.environ))
    await process.wait()
    assert log.read_text().strip() == "2"
