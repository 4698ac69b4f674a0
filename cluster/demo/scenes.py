"""What happens in each scenario, as somebody would do it by hand.

In: a stage. Out: writes, and nodes that come and go. Each begins by taking away what it left the
time before, so that it can be played again.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable

from cluster.demo import jobs
from cluster.demo.stage import DemoStage
from cluster.store.ports import RecordReader
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.deployment import DeploymentStatus
from scheduler.structs.identity import DEFAULT_NAMESPACE, JobKey

#: Jobs that want one node in the plan conflict; four of them fit.
RIVALS = 10
#: System jobs of the storm for each processor of this machine.
STORM_JOBS_PER_CORE, MOST_STORM_JOBS = 20, 80
#: Seconds a silent node stays away after it was counted as lost.
AWAY_S = 8.0


async def fits(stage: DemoStage) -> None:
    """A job that fits."""
    await stage.purge("demo-fits")
    await stage.run(jobs.fits())


async def blocked(stage: DemoStage) -> None:
    """A job that waits for memory."""
    await stage.purge("demo-blocked")
    await stage.run(jobs.blocked())


async def canary(stage: DemoStage) -> None:
    """A version that works, then one that does not."""
    await stage.purge("demo-canary")
    await stage.run(jobs.canary(is_broken=False))
    key = JobKey(DEFAULT_NAMESPACE, "demo-canary")

    def is_stable(reader: RecordReader) -> bool:
        statuses = [each.status for each in reader.deployments_by_job(key)]
        return statuses == [DeploymentStatus.SUCCESSFUL]

    await stage.until(is_stable, "the first version to be healthy")
    await stage.run(jobs.canary(is_broken=True))


async def silent(stage: DemoStage) -> None:
    """One node with work falls silent and comes back."""
    await _resident(stage)
    lost = stage.busiest(1)
    try:
        await stage.silence(*lost)
        await asyncio.sleep(AWAY_S)
    finally:
        await stage.call_back(*lost)


async def flapping(stage: DemoStage) -> None:
    """Two nodes go and come back twice."""
    await _resident(stage)
    pair = stage.busiest(2)
    for _ in range(2):
        try:
            await stage.silence(*pair)
        finally:
            await stage.call_back(*pair)


async def preemption(stage: DemoStage) -> None:
    """A rack is filled with work that does not matter, then something urgent needs it."""
    await stage.purge("demo-urgent", "demo-filler")
    await stage.run(jobs.filler())
    await stage.until(_placed("demo-filler", 20), "rack r2 to be full")
    await stage.run(jobs.urgent())


async def conflict(stage: DemoStage) -> None:
    """Many jobs want one node at once."""
    names = [f"demo-rival-{number}" for number in range(RIVALS)]
    await stage.purge(*names)
    node = stage.on_rack("r1")[-1].node.name
    # Handed out at one moment: each worker finds the node free, and knows nothing of the others.
    async with stage.nothing_handed_out():
        await stage.run(*(jobs.rival(number, node) for number in range(RIVALS)))


async def drain(stage: DemoStage) -> None:
    """Two nodes of a rack that is full are drained: what leaves the first finds no place."""
    await stage.end_drains()
    await stage.purge("demo-rack")
    await stage.run(jobs.full_rack())
    await stage.until(_placed("demo-rack", 20), "rack r3 to be full")
    await stage.drain("a new disk", *stage.on_rack("r3")[:2])


async def storm(stage: DemoStage) -> None:
    """The whole fleet goes and comes back beside many system jobs."""
    count = storm_jobs(os.cpu_count() or 1)
    await stage.purge_like("demo-storm-")
    await stage.run(*(jobs.everywhere(number) for number in range(count)))
    await stage.until(_placed("demo-storm-0", len(stage.fleet.nodes)), "the system jobs to run")
    try:
        await stage.silence(*stage.fleet.nodes)
    finally:
        await stage.call_back(*stage.fleet.nodes)


async def clear(stage: DemoStage) -> None:
    """Everything as it was at the beginning."""
    await stage.purge_like()
    await stage.end_drains()
    await stage.call_back(*stage.fleet.nodes)


def storm_jobs(cores: int) -> int:
    """How many system jobs a machine with so many processors can stand."""
    return min(STORM_JOBS_PER_CORE * cores, MOST_STORM_JOBS)


async def _resident(stage: DemoStage) -> None:
    await stage.run(jobs.resident())
    await stage.until(_placed("demo-resident", 60), "the fleet to have work")


def _placed(name: str, count: int) -> Callable[[RecordReader], bool]:
    key = JobKey(DEFAULT_NAMESPACE, name)

    def is_placed(reader: RecordReader) -> bool:
        allocs = reader.allocations_by_job(key)
        running = [each for each in allocs if each.client_status is ClientStatus.RUNNING]
        return len(running) >= count

    return is_placed


#: By the scenario's name.
SCENES: dict[str, Callable[[DemoStage], Awaitable[None]]] = {
    "fits": fits,
    "blocked": blocked,
    "canary": canary,
    "silent": silent,
    "flapping": flapping,
    "preemption": preemption,
    "conflict": conflict,
    "drain": drain,
    "storm": storm,
    "clear": clear,
}
