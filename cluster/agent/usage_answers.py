"""What a node answers when it is asked what is used: statistics of now, rows of the past hour.

In: a body. Out: JSON, in the shapes of the public API where it has one (http-api.md 5.5). A
simulated node has no machine of its own: it tells nothing, and says so.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from cluster.agent.alloc_host import AllocHost
from cluster.agent.channel_client import AnswerRefused
from cluster.agent.devices.found import Told
from cluster.agent.devices.keeper import DeviceKeeper
from cluster.agent.statistics import allocation_statistics, machine_statistics
from cluster.agent.usage_sampler import UsageSampler
from cluster.host_facts import host_facts
from cluster.operations.usage_rows import (
    AllocationRows,
    Columns,
    NodeRows,
    SumRows,
    Used,
    added_up,
    as_one,
    used_since,
)
from scheduler.structs.wire import Wire

Body = dict[str, object]
Verbs = Mapping[str, Callable[[Body], AsyncIterator[bytes]]]
#: Allocations that may be added up in one answer.
MOST = 10_000
SIMULATED = "this node is simulated: it measures nothing"
_NOT_HERE = 404
SECOND = 1_000_000_000


class UsageCall(Wire, frozen=True):
    """Which allocation, and maybe which task of it."""

    alloc_id: str
    task: str = ""


class SumCall(Wire, frozen=True):
    """Which allocations to add up; those that are not here add nothing."""

    alloc_ids: tuple[str, ...]
    #: Seconds before now over which each one is told of by itself; 0: they are only added up.
    each_over: int = 0


class Measured(Protocol):
    """Answers about what is used."""

    def verbs(self, host: AllocHost) -> Verbs:
        """By the name of each call, its answer."""


class Unmeasured:
    """The answers of a simulated node."""

    def verbs(self, host: AllocHost) -> Verbs:
        """Empty statistics of allocations; of a machine there are none."""

        async def of_alloc(body: Body) -> AsyncIterator[bytes]:
            _known(host, msgspec.convert(body, UsageCall).alloc_id)
            yield msgspec.json.encode(allocation_statistics({}, running=()))

        async def rows(body: Body) -> AsyncIterator[bytes]:
            alloc_id = _known(host, msgspec.convert(body, UsageCall).alloc_id)
            yield msgspec.json.encode(AllocationRows(alloc_id=alloc_id))

        async def sums(body: Body) -> AsyncIterator[bytes]:
            msgspec.convert(body, SumCall)
            yield msgspec.json.encode(SumRows())

        async def none(_body: Body) -> AsyncIterator[bytes]:
            yield _refused()

        return {
            "alloc.stats": of_alloc,
            "alloc.usage": rows,
            "allocs.usage": sums,
            "host.facts": none,
            "host.stats": none,
            "host.usage": none,
        }


UNMEASURED = Unmeasured()


class UsageAnswers:
    """The answers of a real node."""

    def __init__(
        self, sampler: UsageSampler, alloc_dir: Path, devices: DeviceKeeper | None = None
    ) -> None:
        self.sampler = sampler
        self.alloc_dir = alloc_dir
        self.devices = devices or DeviceKeeper()

    def verbs(self, host: AllocHost) -> Verbs:
        """By the name of each call, its answer."""
        assert host is self.sampler.host, "one node, one host"
        return {
            "alloc.stats": self._statistics,
            "alloc.usage": self._rows,
            "allocs.usage": self._sums,
            "host.facts": self._machine_facts,
            "host.stats": self._machine_statistics,
            "host.usage": self._machine_rows,
        }

    async def _statistics(self, body: Body) -> AsyncIterator[bytes]:
        call = msgspec.convert(body, UsageCall)
        _known(self.sampler.host, call.alloc_id)
        await self.sampler.look()
        usages = {
            name: track.usage
            for (alloc_id, name), track in self.sampler.tasks.items()
            if alloc_id == call.alloc_id and call.task in ("", name) and track.usage
        }
        running = [name for name in usages if self.sampler.tasks[call.alloc_id, name].is_running]
        devices = await self._devices_of(call.alloc_id, running)
        told = allocation_statistics(
            usages, running=running, core_mhz=self.sampler.core_mhz, devices=devices
        )
        yield msgspec.json.encode(told)

    async def _devices_of(self, alloc_id: str, running: Iterable[str]) -> dict[str, list[Told]]:
        """What the devices of its tasks do, of tasks that were granted some."""
        granted = self.sampler.host.entries[alloc_id].runner.alloc.allocated_resources.tasks
        wanted = {name: granted[name].devices for name in running if name in granted}
        now = self.sampler.clock.now()
        return {
            name: await asyncio.to_thread(self.devices.statistics, now, grants)
            for name, grants in wanted.items()
            if grants
        }

    async def _rows(self, body: Body) -> AsyncIterator[bytes]:
        call = msgspec.convert(body, UsageCall)
        _known(self.sampler.host, call.alloc_id)
        yield msgspec.json.encode(
            AllocationRows(
                alloc_id=call.alloc_id,
                since=self.sampler.since,
                now=self.sampler.clock.now(),
                tasks={
                    name: track.ring.columns
                    for (alloc_id, name), track in self.sampler.tasks.items()
                    if alloc_id == call.alloc_id and call.task in ("", name)
                },
            )
        )

    async def _sums(self, body: Body) -> AsyncIterator[bytes]:
        call = msgspec.convert(body, SumCall)
        if len(call.alloc_ids) > MOST:
            raise AnswerRefused(f"at most {MOST} allocations at a time", 400)
        now = self.sampler.clock.now()
        rows = {key: as_one(each) for key, each in self._columns_of(call.alloc_ids).items()}
        each: dict[str, Used] = {}
        if call.each_over:
            since = now // SECOND - call.each_over
            told = {key: used_since(own, since) for key, own in rows.items()}
            each = {key: used for key, used in told.items() if used is not None}
        yield msgspec.json.encode(
            SumRows(since=self.sampler.since, now=now, sums=added_up(rows.values()), each=each)
        )

    def _columns_of(self, alloc_ids: Iterable[str]) -> dict[str, list[Columns]]:
        wanted = set(alloc_ids)
        found: dict[str, list[Columns]] = {}
        for (alloc_id, _), track in self.sampler.tasks.items():
            if alloc_id in wanted:
                found.setdefault(alloc_id, []).append(track.ring.columns)
        return found

    async def _machine_facts(self, _body: Body) -> AsyncIterator[bytes]:
        yield msgspec.json.encode(await asyncio.to_thread(host_facts))

    async def _machine_statistics(self, _body: Body) -> AsyncIterator[bytes]:
        await self.sampler.look()
        sampler = self.sampler
        now = sampler.clock.now()
        told = machine_statistics(
            sampler.machine.shares,
            sampler.core_mhz,
            now,
            self.alloc_dir,
            await asyncio.to_thread(self.devices.statistics, now) or None,
        )
        yield msgspec.json.encode(told)

    async def _machine_rows(self, _body: Body) -> AsyncIterator[bytes]:
        sampler = self.sampler
        yield msgspec.json.encode(
            NodeRows(
                since=sampler.since,
                now=sampler.clock.now(),
                machine=sampler.machine.ring.columns,
            )
        )


def _refused() -> bytes:
    raise AnswerRefused(SIMULATED, _NOT_HERE)


def _known(host: AllocHost, alloc_id: str) -> str:
    if alloc_id not in host.entries:
        raise AnswerRefused(f'Unknown allocation "{alloc_id}"', _NOT_HERE)
    return alloc_id
