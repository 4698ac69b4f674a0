"""Has the artifacts of a task fetched, three at a time, each by a process of its own.

In: orders. Out: which of them are in place, and why the others are not. A canceled call kills the
processes that it started.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import mkdtemp

import msgspec

from cluster.agent.artifacts.order import FetchOrder, failure

#: At the same time, for one task.
AT_ONCE = 3
#: Seconds that a process gets beyond what its work may take.
_GRACE_S = 60.0
_ROOT = Path(__file__).resolve().parents[3]
#: Called with the bytes received so far and those expected; 0 expected: not known.
Progress = Callable[[int, int], None]


class _Line(msgspec.Struct):
    received: int = 0
    expected: int = 0
    done: bool = False
    error: str = ""


class FetchOutcome(msgspec.Struct, frozen=True):
    """What became of a task's artifacts."""

    #: Keys of the orders that are in place.
    keys: frozenset[str]
    #: The failure to tell; "" when there was none.
    problem: str


class ArtifactFetcher:
    """Starts the processes of one node."""

    async def fetch(
        self, orders: Sequence[FetchOrder], workplace: Path, progress: Progress
    ) -> FetchOutcome:
        """Every order, also after another failed (node-agent-2.md 3); `workplace` exists."""
        seats = asyncio.Semaphore(AT_ONCE)
        counts = dict.fromkeys((order.key for order in orders), (0, 0))
        done: list[str] = []
        problems: list[str] = []

        async def one(order: FetchOrder) -> None:
            def tell(received: int, expected: int) -> None:
                counts[order.key] = received, expected
                every = all(expected for _received, expected in counts.values())
                total = sum(expected for _received, expected in counts.values())
                progress(sum(received for received, _ in counts.values()), total if every else 0)

            async with seats:
                problem = await _fetched(order, workplace, tell)
            if problem:
                problems.append(failure(order.shown, problem))
            else:
                done.append(order.key)

        async with asyncio.TaskGroup() as group:
            for order in orders:
                group.create_task(one(order))
        return FetchOutcome(frozenset(done), problems[-1] if problems else "")


async def _fetched(order: FetchOrder, workplace: Path, progress: Progress) -> str:
    """Why it could not be fetched; "" when it is in place."""
    kept = Path(mkdtemp(prefix="artifact-", dir=workplace))
    order = msgspec.structs.replace(order, staging=str(kept / "staging"))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "cluster.agent.artifacts.worker",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=_ROOT,
        env=_environment(kept),
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(order.limits.timeout_s + _GRACE_S):
            return await _heard(process, order, progress)
    except TimeoutError:
        return f"it took longer than {order.limits.timeout_s:g} seconds"
    finally:
        await _end(process)
        await asyncio.to_thread(shutil.rmtree, kept, ignore_errors=True)


async def _heard(
    process: asyncio.subprocess.Process, order: FetchOrder, progress: Progress
) -> str:
    assert process.stdin, "it was asked for"
    assert process.stdout, "it was asked for"
    assert process.stderr, "it was asked for"
    with contextlib.suppress(ConnectionError):
        process.stdin.write(msgspec.json.encode(order))
        await process.stdin.drain()
        process.stdin.close()
    complaints = asyncio.ensure_future(process.stderr.read())
    last = _Line()
    async for text in process.stdout:
        last = msgspec.json.decode(text, type=_Line)
        if last.received:
            progress(last.received, last.expected)
    code = await process.wait()
    said = (await complaints).decode(errors="replace").strip().splitlines()
    if last.done and code == 0:
        return ""
    return last.error or f"the process that fetched it ended with {code}: {' '.join(said[-1:])}"


async def _end(process: asyncio.subprocess.Process) -> None:
    """Whatever of it still runs, and what it started."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def _environment(kept: Path) -> dict[str, str]:
    """Nothing of the agent's own, where its secrets are."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(Path.home()),
        "TMPDIR": str(kept),
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(_ROOT),
    }
