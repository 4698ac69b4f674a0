"""Starts the process that renders, and hears what it says."""

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path

import msgspec

from cluster.agent.templates.render_order import Rendering, RenderOrder

#: Seconds for one task's templates.
_MOST_S = 60.0
_ROOT = Path(__file__).resolve().parents[3]


class RenderFailed(Exception):
    """The templates cannot be rendered; the text is shown to people."""


async def render(order: RenderOrder) -> list[Rendering]:
    """What became of each template, in their order. Raises RenderFailed."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "cluster.agent.templates.worker",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=_ROOT,
        # Nothing of the agent's own, where its secrets are.
        env={
            "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": str(_ROOT),
        },
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(_MOST_S):
            told, complaints = await process.communicate(msgspec.json.encode(order))
    except TimeoutError as problem:
        raise RenderFailed(f"rendering took longer than {_MOST_S:g} seconds") from problem
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    if process.returncode:
        lines = complaints.decode(errors="replace").strip().splitlines()
        raise RenderFailed(
            f"the process that renders ended with {process.returncode}: {' '.join(lines[-1:])}"
        )
    return msgspec.json.decode(told, type=list[Rendering])
