"""Nodes that only register and beat: the load of a fleet without what its tasks cost.

In: how many, how large, where. Out: ready nodes, which can be told to say that they are down.
Threads with a kept-alive connection each beat for all of them, so that the fleet's own work takes
no more than a few percent of a core from what is measured.
"""

import heapq
import http.client
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from types import TracebackType
from typing import Self

from cluster.agent.protocol import (
    JOIN_HEADER,
    MSGPACK,
    NODE_HEADER,
    Beat,
    BeatAnswer,
    Register,
    decode,
    encode,
)
from cluster.bench.connection import Connection, RequestFailed
from cluster.fleet.blueprint import FleetOptions, Member, members_of
from cluster.runtime.clock import SystemClock

_SECOND = 1_000_000_000
_AT_ONCE = 16
#: A beat is answered once it is recorded, which may take the second that the servers gather them.
_BEATING = 64
#: A beat that failed is tried again after this.
_RETRY_S = 1.0
_CLOCK = SystemClock()


class PassiveFleet:
    """The nodes of a blueprint, as a context manager: ready inside the block."""

    def __init__(self, address: str, join_token: str, options: FleetOptions) -> None:
        self.members = members_of(options, join_token)
        self._address = address
        self._join_token = join_token
        self._beaters = [_Beater(self._connect, self._beat) for _ in range(_BEATING)]

    def __enter__(self) -> Self:
        for beater in self._beaters:
            beater.start()
        # One after the other, as agents do: the last of thousands registers when the first is due
        # to beat again.
        self._each(self._join, self.members)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for beater in self._beaters:
            beater.stop()

    def say(self, status: str, members: Sequence[Member] | None = None) -> None:
        """Have these nodes, or all, report a status; those that are down beat no more."""
        named = self.members if members is None else members
        if status != "ready":
            for beater in self._beaters:
                beater.forget(named)

        self._each(partial(self._change, status=status), named)

    def _join(self, connection: Connection, member: Member) -> None:
        self._register(connection, member)
        self._change(connection, member, "ready")

    def _change(self, connection: Connection, member: Member, status: str) -> None:
        ttl = self._beat(connection, member, status)
        if status == "ready":
            number = int(member.node.id.replace("-", ""), 16)
            self._beaters[number % _BEATING].add(member, ttl)

    def _each(self, work: Callable[[Connection, Member], None], members: Sequence[Member]) -> None:
        def some(part: Iterable[Member]) -> None:
            with closing(self._connect()) as connection:
                for member in part:
                    work(connection, member)

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(some, [members[start::_AT_ONCE] for start in range(_AT_ONCE)]))

    def _connect(self) -> Connection:
        return Connection(self._address, "")

    def _register(self, connection: Connection, member: Member) -> None:
        self._post(connection, member, "register", Register(node=member.node))

    def _beat(self, connection: Connection, member: Member, status: str = "ready") -> float:
        """The seconds until the next one is due."""
        content = self._post(connection, member, "beat", Beat(status=status))
        # Twice as often as asked, so that a beat that fails on a busy machine is made up for.
        return decode(content, BeatAnswer).heartbeat_ttl / 2 / _SECOND

    def _post(self, connection: Connection, member: Member, path: str, message: object) -> bytes:
        headers = {
            NODE_HEADER: member.node.id,
            JOIN_HEADER: self._join_token,
            "Authorization": f"Bearer {member.secret}",
            "Content-Type": MSGPACK,
        }
        return connection.send("POST", f"/v1/fleet/{path}", encode(message), headers)


class _Beater:
    """A thread that beats for some of the nodes, each when it is due."""

    def __init__(
        self,
        connect: Callable[[], Connection],
        beat: Callable[[Connection, Member], float],
    ) -> None:
        self._connect = connect
        self._beat = beat
        self._due: list[tuple[float, str]] = []
        self._members: dict[str, Member] = {}
        self._changed = threading.Condition()
        #: The node that is being beaten for.
        self._now = ""
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name="beats", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()
        self._thread.join()

    def add(self, member: Member, wait_s: float) -> None:
        with self._changed:
            self._members[member.node.id] = member
            heapq.heappush(self._due, (_CLOCK.monotonic() + wait_s, member.node.id))
            self._changed.notify_all()

    def forget(self, members: Iterable[Member]) -> None:
        """None of these is beaten for any more, nor is a beat of theirs still under way."""
        with self._changed:
            for member in members:
                self._members.pop(member.node.id, None)
            self._due = [entry for entry in self._due if entry[1] in self._members]
            heapq.heapify(self._due)
            self._changed.wait_for(lambda: not self._now or self._now in self._members)

    def _run(self) -> None:
        connection = self._connect()
        while (member := self._next()) is not None:
            try:
                wait_s = self._beat(connection, member)
            except (OSError, http.client.HTTPException, RequestFailed):
                connection.close()
                wait_s = _RETRY_S
            with self._changed:
                self._now = ""
                self._changed.notify_all()
                if member.node.id in self._members:
                    moment = _CLOCK.monotonic() + wait_s
                    heapq.heappush(self._due, (moment, member.node.id))
        connection.close()

    def _next(self) -> Member | None:
        """Wait for the next node that is due; None when there will be none."""
        with self._changed:
            while not self._is_stopping:
                wait_s = self._due[0][0] - _CLOCK.monotonic() if self._due else None
                if wait_s is not None and wait_s <= 0:
                    self._now = heapq.heappop(self._due)[1]
                    return self._members[self._now]
                self._changed.wait(wait_s)
            return None
