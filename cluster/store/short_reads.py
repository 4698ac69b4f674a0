"""Short reads on the event loop's own thread, where the record is a file.

A few rows by key take tens of microseconds; a thread and back takes hundreds, and the lock of the
interpreter changes hands twice. A reader of a file in WAL mode waits for nobody.
In: work that reads. Out: its result, or `NotShort`, and then a thread does it.
"""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from django.db import OperationalError

from cluster.store.record_reader import DjangoRecordReader
from scheduler.state.noun import Noun, Value

Result = TypeVar("Result")

#: Rows that are read at once on the loop.
MOST_ROWS = 64
#: Bytes of frames that are read and decoded there.
MOST_BYTES = 32 * 1024


class NotShort(Exception):
    """More than a loop should stand still for."""


class ShortReader(DjangoRecordReader):
    """As the record's reader; lists of more than `MOST_ROWS` raise `NotShort`."""

    def _read(
        self, noun: Noun[Any, Value], statement: str, parameters: tuple[Any, ...]
    ) -> list[Value]:
        self._cursor.execute(statement, parameters)
        rows = self._cursor.fetchmany(MOST_ROWS + 1)
        if len(rows) > MOST_ROWS:
            raise NotShort
        return [noun.decode(row[0]) for row in rows]


def on_the_loop(work: Callable[[], Result]) -> Result:
    """Run `work` here and now, with this thread's own connection. Raises NotShort.

    Django guards its connections against event loops, for what waits in one holds all others up.
    Here that is weighed, so for as long as it takes there is no loop.
    """
    loop = asyncio.get_running_loop()
    asyncio._set_running_loop(None)
    try:
        return work()
    except OperationalError as error:
        # A thread has the time to find out what is wrong.
        raise NotShort from error
    finally:
        asyncio._set_running_loop(loop)
