"""The node end: register, beat, pull allocations, report what became of them; one loop each.

In: a server to call, the host that runs allocations. The rules of waiting are in `retry`; running
tasks is the host's business.
"""

import asyncio
import itertools
import logging
from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass
from typing import TypeVar

from cluster.agent.alloc_host import AllocHost
from cluster.agent.complaints import COMPLAINTS
from cluster.agent.cue import Cue
from cluster.agent.means import Means
from cluster.agent.outbox import Outbox
from cluster.agent.protocol import (
    MAX_BATCH,
    MAX_WAIT_S,
    AllocationReport,
    BeatAnswer,
    EmitEvents,
    Register,
    Registered,
    Report,
)
from cluster.agent.retry import Retry
from cluster.agent.server_link import CallFailed, ServerLink
from scheduler.structs.allocation import Allocation
from scheduler.structs.job import Job
from scheduler.structs.node import Node, NodeEvent

logger = logging.getLogger(__name__)
Answer = TypeVar("Answer")

SECOND = 1_000_000_000
#: Seconds between looks at what is to be reported. What is not urgent waits for each fifth while
#: more and more comes.
REPORT_TICK_S = 0.2
_LOW_PRIORITY_EVERY = 5
#: Seconds between looks at how long the server has been out of reach.
ALONE_TICK_S = 1.0
_FORGOTTEN = 404
_NODE_FORGOTTEN = "node not found"


@dataclass(frozen=True)
class ClientSettings:
    """How one node behaves towards its server."""

    join_token: str = ""
    dev: bool = False
    #: Its address, for what is said of it.
    server: str = "the server"


class NodeClient:
    """One node's side of the conversation."""

    def __init__(
        self,
        link: ServerLink,
        host: AllocHost,
        node: Callable[[], Node],
        means: Means,
        settings: ClientSettings,
    ) -> None:
        self.link = link
        self.host = host
        self.node = node
        self.clock = means.clock
        self.chance = means.chance
        self.join_token = settings.join_token
        self.server = settings.server
        self.retry = Retry(dev=settings.dev)
        self.outbox = Outbox(host)
        host.changed = self.outbox.note
        self.last_contact = means.clock.monotonic()
        self.ttl_s = 0.0
        #: What its tasks use together, MHz and MiB; None where nothing is measured.
        self.used: Callable[[], tuple[int, int] | None] = lambda: None
        #: Told at each sign that the server can be reached.
        self.contacted: Callable[[], None] = lambda: None
        #: Told when the server had taken the node for lost, or has it anew.
        self.came_back: Callable[[], None] = lambda: None
        self.is_registered = asyncio.Event()
        self.is_ready = asyncio.Event()
        #: By the last beat the server waits for reports of what runs here.
        self._is_awaited = False
        self._changed_node = asyncio.Event()
        self._reached = Cue()
        self._awaits_more = asyncio.Event()
        self._beat_wanted = Cue()
        #: The server answers after it did not: what was asked before may wait for ever.
        self._asked_in_vain = Cue()

    async def run(self) -> None:
        """Serve until cancelled."""
        await self._register()
        async with asyncio.TaskGroup() as loops:
            loops.create_task(self._beat_forever())
            loops.create_task(self._pull_forever())
            loops.create_task(self._report_forever())
            loops.create_task(self._register_changes())
            loops.create_task(self._end_when_alone())
            loops.create_task(self._await_ends_elsewhere())

    def node_changed(self) -> None:
        """The fingerprint is another one now: register again soon."""
        self._changed_node.set()

    def beat_now(self) -> None:
        """The server is to be told, or asked, something that goes with a beat."""
        self._beat_wanted.give()

    async def emit(self, *events: NodeEvent) -> None:
        """Add lines to the node's history; lost when the server cannot be reached."""
        try:
            await self.link.emit(EmitEvents(events=events))
        except CallFailed as problem:
            logger.warning("node events lost: %s", problem)

    async def _register(self) -> None:
        for failures in itertools.count(1):
            try:
                answer = await self.link.register(Register(node=self.node()), self.join_token)
            except CallFailed as problem:
                self._complain("registration failed", problem)
                await asyncio.sleep(self.retry.registration(failures, self.chance()))
            else:
                self._contact(answer)
                self._begin_anew()
                self.is_registered.set()
                return

    def _begin_anew(self) -> None:
        """What the server knew of this node it may not know any more."""
        self.host.gone.clear()
        self.came_back()

    async def _register_changes(self) -> None:
        while True:
            await self._changed_node.wait()
            await asyncio.sleep(self.retry.change(self.chance()))
            self._changed_node.clear()
            await self._register()

    async def _beat_forever(self) -> None:
        """The first one at once: only a beat makes a new node ready."""
        pause = 0.0
        failures = 0
        ever = False
        while True:
            await self._beat_wanted.pause(pause)
            try:
                answer = await self.link.beat(self.used())
            except CallFailed as problem:
                self._complain("heartbeat failed", problem)
                failures += 1
                pause = await self._after_failed_beat(problem, failures, ever=ever)
                continue
            if ever and answer.index:
                logger.warning("the server had missed this node's heartbeat")
                self._begin_anew()
            if failures:
                self._asked_in_vain.give()
            failures = 0
            self._contact(answer)
            self._is_awaited = answer.status != "ready"
            if answer.status == "ready":
                self.is_ready.set()
                ever = True
                pause = self.ttl_s
            else:
                # The server waits for this node's reports before it counts as ready.
                pause = min(self.ttl_s, 1.0)

    async def _end_when_alone(self) -> None:
        """Allocations may ask to be stopped when the server was out of reach for long.

        A node that keeps to its heartbeats is not out of reach, however impatient they are.
        """
        while True:
            await asyncio.sleep(ALONE_TICK_S)
            silent_s = self.clock.monotonic() - self.last_contact
            if silent_s > self.ttl_s:
                self.host.end_impatient(int(silent_s * SECOND))

    async def _after_failed_beat(self, problem: CallFailed, failures: int, *, ever: bool) -> float:
        if problem.status == _FORGOTTEN and str(problem) == _NODE_FORGOTTEN:
            await self._register()
            return 0.0
        if not ever:
            return self.retry.registration(failures, self.chance())
        return self.retry.beat(failures, self.ttl_s, self.chance())

    def _contact(self, answer: Registered | BeatAnswer) -> None:
        """The server was reached; what failed meanwhile need not wait any longer."""
        self.last_contact = self.clock.monotonic()
        COMPLAINTS.over(self.server)
        self.ttl_s = answer.heartbeat_ttl / SECOND
        # A server that has just started has not counted yet.
        self.retry.node_count = answer.num_nodes or self.retry.node_count
        self._reached.give()
        self.contacted()

    def _complain(self, what: str, problem: CallFailed) -> None:
        now = self.clock.monotonic()
        if problem.status:
            COMPLAINTS.failed(self.server, f"{what}: {problem}", now)
        else:
            COMPLAINTS.unreachable(self.server, str(problem), now)

    async def _pull_forever(self) -> None:
        index = known = failures = 0
        while True:
            try:
                asked = self.link.pull(index, MAX_WAIT_S, known=known)
                pulled = await self._unless_in_vain(asked)
                if pulled is None:
                    continue
                complete = await self._take(pulled.allocations)
            except CallFailed as problem:
                self._complain("pull failed", problem)
                failures += 1
                await self._reached.pause(self.retry.fetch(failures, self.chance()))
                continue
            failures = 0
            if complete:
                index, known = pulled.index, len(pulled.allocations)
                self.outbox.open()
            else:
                await asyncio.sleep(self.retry.missing(self.chance()))

    async def _unless_in_vain(self, asked: Coroutine[None, None, Answer]) -> Answer | None:
        """What the server answers in its own time; None: ask again, for the line was cut.

        A network that is cut for a while tells nobody: an answer that was lost in it is sent
        again after minutes, or never.
        """
        work = asyncio.ensure_future(asked)
        cut = asyncio.ensure_future(self._asked_in_vain.pause(2 * MAX_WAIT_S))
        try:
            await asyncio.wait({work, cut}, return_when=asyncio.FIRST_COMPLETED)
            return work.result() if work.done() else None
        finally:
            work.cancel()
            cut.cancel()

    async def _take(self, wanted: dict[str, int]) -> bool:
        """Bring the host to what the server lists; False when something could not be fetched."""
        entries = self.host.entries
        for gone in [key for key in entries if key not in wanted]:
            self.host.remove(gone)
        self.host.gone &= wanted.keys()
        stale = [
            alloc_id
            for alloc_id, modify_index in wanted.items()
            if alloc_id not in self.host.gone
            and (
                alloc_id not in entries
                or entries[alloc_id].runner.alloc.alloc_modify_index < modify_index
            )
        ]
        missing = 0
        for begin in range(0, len(stale), MAX_BATCH):
            batch = tuple(stale[begin : begin + MAX_BATCH])
            fetched = await self.link.fetch(batch)
            missing += len(batch) - len(fetched.allocations)
            jobs = {_version(job): job for job in fetched.jobs}
            for alloc in fetched.allocations:
                self._take_one(alloc, jobs.get(_version_of(alloc)), fetched.elsewhere)
            if fetched.elsewhere:
                self._awaits_more.set()
        self.host.release()
        return missing == 0

    async def _await_ends_elsewhere(self) -> None:
        """Begin what replaces an allocation of another node once that one has ended."""
        failures = 0
        while True:
            await self._awaits_more.wait()
            self._awaits_more.clear()
            while awaited := self.host.awaited_elsewhere:
                try:
                    asked = self._ended_of(tuple(sorted(awaited)[:MAX_BATCH]))
                    ended = await self._unless_in_vain(asked) or ()
                except CallFailed as problem:
                    self._complain("waiting for other nodes failed", problem)
                    failures += 1
                    await self._reached.pause(self.retry.fetch(failures, self.chance()))
                else:
                    failures = 0
                    self.host.end_elsewhere(ended)

    async def _ended_of(self, awaited: tuple[str, ...]) -> tuple[str, ...]:
        """Those that have ended; none when there is more to be awaited than was asked for."""
        asked = asyncio.ensure_future(self.link.ended(awaited, MAX_WAIT_S))
        more = asyncio.ensure_future(self._awaits_more.wait())
        try:
            await asyncio.wait({asked, more}, return_when=asyncio.FIRST_COMPLETED)
            if asked.done():
                return asked.result().ids
            self._awaits_more.clear()
            return ()
        finally:
            asked.cancel()
            more.cancel()

    def _take_one(self, alloc: Allocation, job: Job | None, elsewhere: Collection[str]) -> None:
        try:
            if job is None:
                raise ValueError("its job version is not known")
            if entry := self.host.entries.get(alloc.id):
                before = entry.runner.alloc.deployment_id
                self.host.update(alloc, job)
                self.outbox.remind(alloc, is_judged=alloc.deployment_id == before)
            elif alloc.is_client_terminal:
                # Its end is told and its files are gone: a second end would cost its history.
                self.host.gone.add(alloc.id)
            else:
                self.host.add(alloc, job, elsewhere=elsewhere)
        except ValueError as problem:
            logger.warning("allocation %s refused: %s", alloc.id, problem)
            self.outbox.refuse(alloc, f"Unable to add allocation due to error: {problem}")

    async def _report_forever(self) -> None:
        tick = failures = 0
        while True:
            await self.outbox.news.wait()
            noted = self.outbox.noted
            await asyncio.sleep(REPORT_TICK_S)
            tick += 1
            # Where nothing more has come, there is nothing to wait for.
            waits = noted != self.outbox.noted and tick % _LOW_PRIORITY_EVERY != 0
            due = self.outbox.due(urgent_only=waits)
            if not due:
                continue
            try:
                await self.link.report(self.told(due))
            except CallFailed as problem:
                self._complain("report failed", problem)
                self.outbox.failed(due)
                failures += 1
                await self._reached.pause(self.retry.report(failures, self.chance()))
            else:
                failures = 0
                self.outbox.sent(due)

    def told(self, due: tuple[AllocationReport, ...]) -> Report:
        """With the last of what a node that came back has to tell, it asks to be ready.

        Its beat follows a second later: what the server decides of these reports meanwhile, it
        would decide in vain.
        """
        is_last = len(due) < MAX_BATCH
        return Report(allocations=due, asks_ready=self._is_awaited and is_last)


def _version(job: Job) -> tuple[str, str, int, int]:
    return job.namespace, job.id, job.create_index, job.version


def _version_of(alloc: Allocation) -> tuple[str, str, int, int]:
    return alloc.namespace, alloc.job_id, alloc.job_create_index, alloc.job_version
