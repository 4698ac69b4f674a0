"""What an agent still has to report: the newest state of each allocation, urgent ones first.

In: notes that an allocation changed. Out: reports to send (node-agent.md 4.3).
"""

import asyncio
from collections.abc import Mapping

from cluster.agent.alloc_host import AllocHost
from cluster.agent.protocol import MAX_BATCH, AllocationReport
from scheduler.structs.allocation import (
    Allocation,
    ClientStatus,
    DeploymentHealth,
    TaskState,
)


class Outbox:
    """Reports not yet acknowledged. Nothing leaves before the first successful pull."""

    def __init__(self, host: AllocHost) -> None:
        self.host = host
        self._changed: dict[str, None] = {}
        self._forced: set[str] = set()
        self._refused: dict[str, AllocationReport] = {}
        self._is_open = False
        #: How many notes there were.
        self.noted = 0
        #: Set while there may be something to report.
        self.news = asyncio.Event()

    def open(self) -> None:
        """The server was heard."""
        self._is_open = True

    def note(self, alloc_id: str) -> None:
        """Something about this allocation may have changed."""
        self._changed[alloc_id] = None
        self.noted += 1
        self.news.set()

    def resend(self, alloc_id: str) -> None:
        """Report it even if nothing changed: the server had lost sight of it."""
        self._forced.add(alloc_id)
        self.note(alloc_id)

    def remind(self, alloc: Allocation, *, is_judged: bool) -> None:
        """Report again what the server was told and does not say: it lost sight of it.

        So it is with a silent node that comes back, and after an older record was restored.
        Without `is_judged` health is not compared: a new deployment has none yet, and what was
        told in the one before does not count in it.
        """
        entry = self.host.entries.get(alloc.id)
        told = entry.acknowledged if entry else None
        if alloc.client_status is ClientStatus.UNKNOWN or (
            told is not None
            and not alloc.is_client_terminal
            and not _says(alloc, told, is_judged=is_judged)
        ):
            self.resend(alloc.id)

    def refuse(self, alloc: Allocation, reason: str) -> None:
        """This one cannot run here at all."""
        self._refused[alloc.id] = AllocationReport(
            id=alloc.id, client_status=ClientStatus.FAILED, client_description=reason
        )
        self.news.set()

    def due(self, *, urgent_only: bool) -> tuple[AllocationReport, ...]:
        """What to send now; empty when nothing is, or nothing of it is urgent."""
        if not self._is_open:
            return ()
        self.news.clear()
        reports = list(self._refused.values())
        urgent = bool(reports)
        for alloc_id in list(self._changed):
            report, is_urgent = self._report(alloc_id)
            if report is None:
                del self._changed[alloc_id]
            elif len(reports) < MAX_BATCH:
                reports.append(report)
                urgent = urgent or is_urgent
        if reports:
            self.news.set()
        return tuple(reports) if urgent or not urgent_only else ()

    def sent(self, reports: tuple[AllocationReport, ...]) -> None:
        """They are in the record."""
        for report in reports:
            self._refused.pop(report.id, None)
            self._forced.discard(report.id)
            self.host.acknowledge(report)
            if self._report(report.id)[0] is None:
                self._changed.pop(report.id, None)

    def failed(self, reports: tuple[AllocationReport, ...]) -> None:
        """They did not arrive; the newest state is sent next time."""
        for report in reports:
            if report.id not in self._refused:
                self.note(report.id)

    def _report(self, alloc_id: str) -> tuple[AllocationReport | None, bool]:
        """The report if it says anything new, and whether it cannot wait."""
        entry = self.host.entries.get(alloc_id)
        if entry is None:
            return None, False
        report = entry.runner.report()
        before = entry.acknowledged
        if report == before and alloc_id not in self._forced:
            return None, False
        if before is None:
            # Many begin together, so their first news travels together, unless it is bad.
            urgent = report.client_status is ClientStatus.FAILED
        else:
            urgent = report.client_status is not before.client_status
        return report, urgent or alloc_id in self._forced


def _says(alloc: Allocation, told: AllocationReport, *, is_judged: bool) -> bool:
    """Whether the server's allocation shows what was reported of it."""
    shown, known = (_standing(one.client_status, one.task_states) for one in (alloc, told))
    return shown == known and not (
        is_judged and _health(alloc.deployment_status) != _health(told.deployment_status)
    )


def _standing(status: str, tasks: Mapping[str, TaskState] | None) -> tuple[object, ...]:
    ran = {name: (task.state, task.failed, task.restarts) for name, task in (tasks or {}).items()}
    return str(status), ran


def _health(given: DeploymentHealth | None) -> bool | None:
    return given.healthy if given else None
