"""The thread that writes for a web process: those who wait share one transaction and one commit.

In: orders, from event loops. Out: their results, once they are in the record. Nobody waits for
company: what waits when the thread is free is one group, what comes meanwhile is the next.
"""

import asyncio
import queue
import threading
from collections.abc import Callable, Iterable
from typing import Any, Final

from django.db import Error, connections

from cluster.store.faults import RecordAway
from cluster.store.transactions import patience
from cluster.store.write_group import WriteGroup, writing_together

#: Orders in one transaction, and seconds after which it takes no further ones: other processes
#: wait for the record meanwhile.
AT_ONCE = 32
LONGEST_S = 0.01
_STUCK = "other writes wait before this one, and none can be done"


class WriteOrder:
    """Work for the writer thread that whoever ordered it may give up."""

    def __init__(self, work: Callable[[], Any], *, alone: bool) -> None:
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        #: It minds its own transactions, or does what no transaction may hold.
        self.alone: Final = alone
        self.result: Any = None
        self.error: BaseException | None = None
        self._work = work
        self._is_given_up = False

    def give_up(self) -> None:
        """Begin it no more, nor try it again; what is being written is written."""
        self._is_given_up = True

    def lose(self, error: Exception) -> None:
        """Wait no longer: nobody knows what becomes of it."""
        if not self.future.done():
            self.future.set_exception(error)

    def carry_out(self) -> None:
        """Do the work, and keep what came of it."""
        if self.future.cancelled():
            return
        try:
            if self._is_given_up:
                raise RecordAway(_STUCK)
            with patience(lambda: self._is_given_up):
                self.result = self._work()
        except BaseException as error:
            self.error = error

    def settle(self) -> None:
        """Tell whoever waits, on their loop."""
        if self.future.done():
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)


class WriterThread:
    """Carries out orders in turn. `publish` is told the newest index once it is committed."""

    def __init__(self, alias: str, publish: Callable[[int], None]) -> None:
        self._alias = alias
        self._publish = publish
        self._waiting: queue.SimpleQueue[WriteOrder | None] = queue.SimpleQueue()
        #: Taken, and to be carried out next.
        self._left: list[WriteOrder | None] = []
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def submit(self, work: Callable[[], Any], *, alone: bool = False) -> WriteOrder:
        """Have `work` done; its `future`, on the running loop, has the result."""
        order = WriteOrder(work, alone=alone)
        self._waiting.put(order)
        if self._thread is None:
            self._start()
        return order

    def close(self) -> None:
        """Carry out what waits, then end the thread and its connections."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            self._waiting.put(None)
            thread.join()

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while (order := self._take()) is not None:
            if order.alone:
                order.carry_out()
                _tell([order])
            else:
                self._together(order)
        connections.close_all()

    def _take(self) -> WriteOrder | None:
        return self._left.pop() if self._left else self._waiting.get()

    def _together(self, order: WriteOrder) -> None:
        """Carry out this one, and who waits behind it, in one transaction."""
        done: list[WriteOrder] = []
        began = order.loop.time()
        with writing_together(self._alias) as group:
            while True:
                order.carry_out()
                done.append(order)
                is_long = len(done) >= AT_ONCE or order.loop.time() - began > LONGEST_S
                if not group.is_open or group.is_broken or is_long or self._waiting.empty():
                    break
                following = self._waiting.get()
                if following is None or following.alone:
                    self._left.append(following)
                    break
                order = following
            self._commit(group, done)
        _tell(done)

    def _commit(self, group: WriteGroup, done: Iterable[WriteOrder]) -> None:
        try:
            group.commit()
        except Error as error:
            for order in done:
                order.error = order.error or error
            return
        if group.newest:
            self._publish(group.newest)


def _tell(done: list[WriteOrder]) -> None:
    """Hand results to the loops that wait for them, all of one loop at once."""
    for loop in dict.fromkeys(order.loop for order in done):
        mine = [order for order in done if order.loop is loop]
        try:
            loop.call_soon_threadsafe(_settle, mine)
        except RuntimeError:
            # The loop is closed: nobody waits any more.
            continue


def _settle(orders: list[WriteOrder]) -> None:
    for order in orders:
        order.settle()
