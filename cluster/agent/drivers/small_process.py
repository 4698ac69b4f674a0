"""Our own small processes beside tasks: what they start with, and the one for a command inside.

In: the run directory of a task, a command, streams. Out: the command, running.
"""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from cluster.agent.drivers.driver import InsideFailed, InsideProcess, Streams

PROJECT = Path(__file__).resolve().parents[3]


def own_environment() -> dict[str, str]:
    """Of our small processes: nothing of the agent's but the way to programs."""
    return {"PYTHONPATH": str(PROJECT), "PATH": os.environ.get("PATH", os.defpath)}


async def run_inside(directory: Path, argv: Sequence[str], streams: Streams) -> InsideProcess:
    """Run a command beside the task of that run directory. Raises InsideFailed."""
    near, far = os.pipe()
    kind = "terminal" if streams.is_terminal else "pipes"
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-S", "-m", "cluster.agent.task_inside",
            str(directory), str(far), kind, *argv,
            stdin=streams.stdin, stdout=streams.stdout, stderr=streams.stderr,
            env=own_environment(), pass_fds=(far,), start_new_session=True,
        )  # fmt: skip
    except OSError as problem:
        os.close(near)
        raise InsideFailed(f"failed to start command: {problem}") from problem
    finally:
        os.close(far)
    told = await asyncio.to_thread(_all_of, near)
    if told:
        await process.wait()
        raise InsideFailed(f"failed to start command: {told}")
    return InsideProcess(process)


def _all_of(near: int) -> str:
    with os.fdopen(near, "rb") as words:
        return words.read().decode(errors="replace")
