"""Gathers reports of nodes into one write at a time (control-plane.md 10).

Groups never wait for company: what is there is written at once, and what arrives meanwhile is the
next group. Each caller gets its own answer when its group is in the record.
"""

import asyncio

from cluster.operations.allocations import NodeReport, report_from_client
from cluster.operations.errors import OperationRefused
from cluster.store.access import the_store
from scheduler.access.caller import AGENTS
from scheduler.ports import Clock, IDSource

#: Allocations in one write: keeps a write transaction short.
MAX_GROUP = 2000

Waiting = tuple[NodeReport, "asyncio.Future[int]"]


class ReportBatch:
    """The reports this process has not written yet."""

    def __init__(self) -> None:
        self._waiting: list[Waiting] = []
        self._writer: asyncio.Task[None] | None = None

    async def submit(self, report: NodeReport, *, clock: Clock, ids: IDSource) -> int:
        """The index at which the report is in the record. Raises OperationRefused."""
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append((report, answer))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.get_running_loop().create_task(self._write(clock, ids))
        return await answer

    async def _write(self, clock: Clock, ids: IDSource) -> None:
        while self._waiting:
            group = self._next_group()
            reports = tuple(report for report, _ in group)
            try:
                index, refusals = await the_store().awrite_call(
                    report_from_client, reports, by=AGENTS, now=clock.now(), ids=ids
                )
            except Exception as problem:
                _answer(group, [problem] * len(group), 0)
            else:
                _answer(group, list(refusals), index)

    def _next_group(self) -> list[Waiting]:
        size = 0
        count = 0
        for report, _ in self._waiting:
            size += len(report.allocations)
            if count and size > MAX_GROUP:
                break
            count += 1
        group, self._waiting = self._waiting[:count], self._waiting[count:]
        return group


def _answer(
    group: list[Waiting], problems: "list[Exception | OperationRefused | None]", index: int
) -> None:
    for (_, answer), problem in zip(group, problems, strict=True):
        if answer.done():
            continue
        if problem is None:
            answer.set_result(index)
        else:
            answer.set_exception(problem)


REPORTS = ReportBatch()
