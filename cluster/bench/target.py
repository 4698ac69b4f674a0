"""The cluster under test: one started for the occasion, or a running one named by its address.

In: an address and a token. Out: connections, registrations from several of them, and counts of
what the record holds. Counts of an own stack are read beside the server, to cost it nothing.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, TypeVar

from cluster.bench.connection import Connection
from cluster.bench.record_beside import RecordBeside, record_beside
from cluster.bench.stack import Stack
from cluster.runtime.clock import SystemClock

Item = TypeVar("Item")
Found = TypeVar("Found")

_CLOCK = SystemClock()
#: Between two looks at what is still open; an API without a file beside it is asked less often.
_LOOK_S = 0.02
_LOOK_REMOTE_S = 0.1
#: A look at a large record takes a while: pause for this many times as long before the next.
_LOOK_SHARE = 20


class NotSettled(Exception):
    """Something was still open when the time was over; the message says what."""


class Target:
    """Where a scenario sends its work."""

    def __init__(
        self,
        address: str,
        token: str,
        join_token: str,
        stack: Stack | None = None,
        *,
        by_requests: bool = False,
    ) -> None:
        """`by_requests`: all that is counted is asked of `/v1`, as of a server of anybody."""
        self.address = address
        self.token = token
        self.join_token = join_token
        self.stack = stack
        #: The record beside an own stack, where counting costs the server nothing.
        self.record: RecordBeside | None = None
        if stack is not None and not by_requests:
            self.record = record_beside(stack.data_dir, stack.environment)

    @property
    def pids(self) -> dict[str, int]:
        """Processes of an own stack by name; none of a cluster that was started elsewhere."""
        return dict(self.stack.pids) if self.stack is not None else {}

    def connect(self) -> Connection:
        """A connection of the caller's own."""
        return Connection(self.address, self.token)

    def register(self, forms: Sequence[dict[str, Any]], connections: int = 4) -> list[str]:
        """Register jobs from several connections at once; the ids of their evaluations."""

        def one(connection: Connection, form: dict[str, Any]) -> str:
            return str(connection.put("/v1/jobs", {"Job": form})["EvalID"])

        return self.each(one, forms, connections)

    def purge(self, names: Sequence[str], connections: int = 4) -> None:
        """Stop jobs and have them forgotten."""

        def one(connection: Connection, name: str) -> None:
            connection.delete(f"/v1/job/{name}?purge=true")

        self.each(one, names, connections)

    def each(
        self,
        work: Callable[[Connection, Item], Found],
        items: Sequence[Item],
        connections: int = 4,
    ) -> list[Found]:
        """Do something for every item, over several connections at once."""

        def some(part: Sequence[Item]) -> list[Found]:
            with closing(self.connect()) as connection:
                return [work(connection, item) for item in part]

        with ThreadPoolExecutor(connections) as pool:
            parts = pool.map(some, [items[start::connections] for start in range(connections)])
            return [found for part in parts for found in part]

    def count_evaluations(self, **equal: str) -> int:
        """How many evaluations have these values: `status`, `triggered_by`, `type`."""
        if self.record is not None:
            return self._count(self.record, "evaluation", equal)
        words = {"status": "Status", "triggered_by": "TriggeredBy", "type": "Type"}
        return self._ask_count(
            "evaluations", [f'{words[key]} == "{value}"' for key, value in equal.items()]
        )

    def count_allocations(self, **equal: str) -> int:
        """How many allocations have these values: `client_status`, `desired_status`."""
        if self.record is not None:
            return self._count(self.record, "allocation", equal)
        words = {"client_status": "ClientStatus", "desired_status": "DesiredStatus"}
        with closing(self.connect()) as connection:
            found = connection.get("/v1/allocations")
        return sum(all(a[words[key]] == value for key, value in equal.items()) for a in found)

    def until(self, holds: Callable[[], bool], what: str, limit_s: float) -> float:
        """Wait; returns the moment it held, on the monotonic clock. Raises NotSettled."""
        pause = _LOOK_S if self.record is not None else _LOOK_REMOTE_S
        began = _CLOCK.monotonic()
        while True:
            looked = _CLOCK.monotonic()
            if holds():
                return _CLOCK.monotonic()
            now = _CLOCK.monotonic()
            if now > began + limit_s:
                raise NotSettled(f"not within {limit_s:g} s: {what}")
            time.sleep(max(pause, _LOOK_SHARE * (now - looked)))

    def until_quiet(self, limit_s: float = 600) -> float:
        """Wait until no evaluation is pending."""
        return self.until(
            lambda: not self.count_evaluations(status="pending"), "no pending evaluation", limit_s
        )

    def _ask_count(self, what: str, conditions: list[str]) -> int:
        query = "+and+".join(condition.replace(" ", "+") for condition in conditions)
        with closing(self.connect()) as connection:
            return int(connection.get(f"/v1/{what}/count?filter={query}")["Count"])

    def _count(self, record: RecordBeside, table: str, equal: dict[str, str]) -> int:
        conditions = " AND ".join(f"{column} = %s" for column in equal) or "1 = 1"
        statement = f"SELECT count(*) FROM {table} WHERE {conditions}"  # noqa: S608 - names of our own
        return int(record.rows(statement, [*equal.values()])[0][0])
