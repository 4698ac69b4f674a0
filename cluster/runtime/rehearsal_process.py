"""The process of one rehearsal: reads what was asked, carries it out, tells what it found.

It takes no more memory than it may have, ends with the process that started it, and gives a
sign of life each second; told that it may not go on, it ends. Whoever starts it makes it nice,
and writes down what it tells: a process that waits for a processor must not hold the lock of the
record meanwhile.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
from django.conf import settings
from msgspec.structs import replace

from cluster.operations.errors import Conflict, NotFound
from cluster.operations.rehearsals import end_rehearsal, note_rehearsal
from cluster.rehearsal.result import RehearsalProgress
from cluster.rehearsal.run import RehearsalLimits
from cluster.rehearsal.scenario import ScenarioProblems
from cluster.rehearsal.scenario_form import read_scenario
from cluster.rehearsal.wire import LENGTH, pack
from cluster.runtime.clock import SystemClock
from cluster.runtime.memory_limit import memory_limit, memory_mib
from cluster.runtime.parent_death import watch_parent
from cluster.runtime.rehearsing import rehearse
from cluster.store.access import close_the_store, the_store
from scheduler.access.caller import CLUSTER
from scheduler.state.rehearsal_noun import REHEARSALS
from scheduler.structs.rehearsal import RehearsalStatus, StoredRehearsal

#: Seconds between two signs of life.
_TELL_S = 1.0
_CLOCK = SystemClock()

#: Takes how far it is, or how it ended. Raises Conflict or NotFound when it may not go on.
Write = Callable[[StoredRehearsal], StoredRehearsal]


def write_down(row: StoredRehearsal) -> StoredRehearsal:
    """In the record."""
    write = end_rehearsal if row.has_ended else note_rehearsal
    return write(the_store(), row, by=CLUSTER, now=_CLOCK.now())


def tell_desk(row: StoredRehearsal) -> StoredRehearsal:
    """To whoever started this process, who ends it when it may not go on."""
    told = msgspec.msgpack.encode(row)
    sys.stdout.buffer.write(LENGTH.pack(len(told)) + told)
    sys.stdout.buffer.flush()
    return row


@dataclass
class _Told:
    """How far it is, as it was told last."""

    row: StoredRehearsal
    at: float
    write: Write

    def tell(self, progress: RehearsalProgress) -> None:
        """Say it, once a second. Raises Conflict when it may not go on."""
        if _CLOCK.monotonic() - self.at < _TELL_S:
            return
        self.at = _CLOCK.monotonic()
        noted = replace(
            self.row,
            evaluations=progress.evaluations,
            placed=progress.placed,
            waiting=progress.waiting,
            lasts=progress.lasts,
            took=progress.took,
            memory_mb=memory_mib(),
        )
        self.row = self.write(noted)


def carry_out(rehearsal_id: str, write: Write = write_down) -> None:
    """Rehearse what was asked, and say how it ended."""
    row = the_store().read(lambda reader: reader.get(REHEARSALS, rehearsal_id))
    if row is None:
        return
    told = _Told(row, _CLOCK.monotonic(), write)
    try:
        ended = _rehearsed(told)
    except (Conflict, NotFound):
        # It was canceled, or given up.
        return
    except ScenarioProblems as error:
        ended = _failed(told.row, str(error))
    except MemoryError:
        most = settings.BIVOUAC_REHEARSAL_MEMORY_MIB
        ended = _failed(told.row, f"it needs more than {most} MiB of memory")
    write(ended)


def _rehearsed(told: _Told) -> StoredRehearsal:
    scenario = read_scenario(msgspec.json.decode(told.row.scenario))
    limits = RehearsalLimits(seconds=settings.BIVOUAC_REHEARSAL_SECONDS)
    result = rehearse(scenario, limits, told.tell)
    return replace(
        told.row,
        status=RehearsalStatus.COMPLETE,
        snapshot_index=result.index,
        evaluations=result.totals.evaluations,
        placed=result.totals.placed,
        waiting=result.totals.waits,
        lasts=result.lasts,
        took=result.took,
        memory_mb=memory_mib(),
        packed=pack(result),
    )


def _failed(row: StoredRehearsal, reason: str) -> StoredRehearsal:
    return replace(row, status=RehearsalStatus.FAILED, reason=reason, memory_mb=memory_mib())


def run(rehearsal_id: str, write: Write) -> None:
    """All that this process is for."""
    watch_parent()
    try:
        with memory_limit(settings.BIVOUAC_REHEARSAL_MEMORY_MIB):
            carry_out(rehearsal_id, write)
    finally:
        close_the_store()
