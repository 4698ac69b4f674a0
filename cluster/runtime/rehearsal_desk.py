"""Who has rehearsals carried out: each web process, one at a time, in a process of its own.

In: rehearsals that wait in the record. Out: processes, and in the record what they tell and how
they end. A process that takes too long, or was canceled, is killed; one whose web process died is
written off by another's desk.
"""

import asyncio
import contextlib
import logging
import os
import signal

import msgspec
from django.conf import settings
from msgspec.structs import replace

from cluster.installation import CODE, program
from cluster.operations.errors import Conflict, NotFound
from cluster.operations.rehearsals import (
    begin_rehearsal,
    end_rehearsal,
    fail_silent_rehearsals,
    note_rehearsal,
    open_rehearsals,
)
from cluster.rehearsal.cue import on_rehearsal
from cluster.rehearsal.wire import LENGTH
from cluster.runtime.clock import SystemClock
from cluster.runtime.process_name import process_name
from cluster.runtime.serving import once_serving
from cluster.store.access import the_store
from scheduler.access.caller import CLUSTER
from scheduler.structs.rehearsal import RehearsalStatus, StoredRehearsal

log = logging.getLogger(__name__)

#: Seconds between looks at the record, should no cue come.
LOOK_S = 2.0
#: A process ends by itself when its time is over; later it is killed, seconds.
GRACE_S = 15.0
#: Of the process: what serves the cluster goes first.
NICENESS = 10


class RehearsalDesk:
    """Open from the moment the process serves until it ends."""

    def __init__(self) -> None:
        self._name = process_name("web")
        self._clock = SystemClock()
        self._cue: asyncio.Event | None = None
        self._task: asyncio.Task[None] | None = None

    def begin_with_server(self) -> None:
        """Begin once the server's loop runs; where no server is loading us, nothing begins."""
        once_serving(self.begin)

    def begin(self) -> None:
        """Begin, on the running loop."""
        self._cue = asyncio.Event()
        on_rehearsal(self._cue.set)
        self._task = asyncio.get_running_loop().create_task(self._run(), name="rehearsals")

    async def end(self) -> None:
        """Take no more; one that runs ends with this process."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> None:
        assert self._cue is not None, "made before the task"
        while True:
            try:
                busy = await self._look()
            except Exception:
                # The record may be away; those that wait are still there when it is back.
                log.warning("action=rehearse not begun", exc_info=True)
                busy = False
            if not busy:
                self._cue.clear()
                try:
                    async with asyncio.timeout(LOOK_S):
                        await self._cue.wait()
                except TimeoutError:
                    continue

    async def _look(self) -> bool:
        """Carry out the first that waits; whether there was one."""
        rows = await the_store().aread(open_rehearsals)
        if not rows:
            return False
        now = self._clock.now()
        await the_store().awrite_call(fail_silent_rehearsals, by=CLUSTER, now=now)
        for row in rows:
            if row.status is RehearsalStatus.WAITING:
                try:
                    begun = await the_store().awrite_call(
                        begin_rehearsal, row.id, self._name, by=CLUSTER, now=now
                    )
                except (Conflict, NotFound):
                    continue
                await self._carry_out(begun)
                return True
        return False

    async def _carry_out(self, row: StoredRehearsal) -> None:
        process = await asyncio.create_subprocess_exec(
            *program("rehearsal", row.id, "--tell"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            cwd=CODE,
        )
        # From its birth: loading its modules takes as long as a small rehearsal.
        with contextlib.suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, process.pid, NICENESS)
        try:
            async with asyncio.timeout(settings.BIVOUAC_REHEARSAL_SECONDS + GRACE_S):
                if await self._write_down(process):
                    return
                code = await process.wait()
        except TimeoutError:
            code = None
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        reason = "it took too long and was ended" if code is None else _ending(code)
        failed = replace(row, status=RehearsalStatus.FAILED, reason=reason)
        await the_store().awrite_call(end_rehearsal, failed, by=CLUSTER, now=self._clock.now())

    async def _write_down(self, process: asyncio.subprocess.Process) -> bool:
        """Put in the record what a process tells; whether it told its end, or may not go on."""
        assert process.stdout is not None, "it was made with one"
        while True:
            try:
                (length,) = LENGTH.unpack(await process.stdout.readexactly(LENGTH.size))
                told = await process.stdout.readexactly(length)
            except asyncio.IncompleteReadError:
                return False
            row = msgspec.msgpack.decode(told, type=StoredRehearsal)
            write = end_rehearsal if row.has_ended else note_rehearsal
            try:
                await the_store().awrite_call(write, row, by=CLUSTER, now=self._clock.now())
            except (Conflict, NotFound):
                # It was canceled, or given up.
                return True
            if row.has_ended:
                await process.wait()
                return True


def _ending(code: int) -> str:
    if code < 0:
        return f"its process was killed by {signal.Signals(-code).name}"
    return f"its process ended with exit code {code}"
