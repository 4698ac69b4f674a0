"""A node whose agent runs in the test itself, with a real disk and real processes."""

import itertools

from cluster.agent.agent_state import DiskStorage
from cluster.agent.alloc_host import AllocHost
from cluster.agent.alloc_runner import Surroundings
from cluster.agent.drivers.mock import MockDriver
from cluster.agent.drivers.raw_exec import RawExecDriver
from cluster.agent.outbox import Outbox
from cluster.agent.task_launch import TaskLauncher
from cluster.runtime.clock import RandomIDs, SystemClock
from scheduler.structs.policies import RestartPolicy
from tests.builders import make_allocation, make_job, make_node, make_task, make_task_group
from tests.cluster.agent.deadline import until

CLOCK = SystemClock()
NO_TRY = RestartPolicy(attempts=0, mode="fail")
_numbers = itertools.count()


def make_work(config=None, *, driver="mock_driver", **task):
    task = make_task(driver=driver, config=config or {"run_for": "1h"}, **task)
    job = make_job(task_groups=(make_task_group(tasks=(task,), restart_policy=NO_TRY),))
    return make_allocation(job, next(_numbers)), job


class Node:
    """A node whose agent can be stopped and started again."""

    def __init__(self, directory, artifact=None, drivers=(), networks=None):
        self.directory = directory
        self.artifact = artifact
        self.drivers = drivers
        #: Makes the networks of a storage; None: as an agent without settings does.
        self.networks = networks
        #: Makes the sockets of its tasks; as an agent without a server has none.
        self.sockets = lambda: None
        self.storage = self.host = self.outbox = None

    async def start(self, ask=None):
        self.storage = DiskStorage(self.directory / "state", self.directory / "alloc")
        ours = (MockDriver(CLOCK.now), RawExecDriver(enabled=True))
        drivers = {each.name: each for each in (*ours, *self.drivers)}
        launcher = TaskLauncher(
            make_node, {"PATH": "/usr/bin:/bin"}, RandomIDs(), limits=self.artifact
        )
        networks = self.networks and self.networks(self.storage)
        self.host = AllocHost(launcher, drivers, self.storage, CLOCK, Surroundings(), networks)
        self.host.ask = ask or self.host.ask
        self.host.sockets = self.sockets()
        self.outbox = Outbox(self.host)
        self.host.changed = self.outbox.note
        await self.host.restore()

    async def stop(self):
        await self.host.close()
        self.storage.close()

    def status(self, alloc):
        return self.host.entries[alloc.id].runner.client_status[0]

    async def reach(self, alloc, status):
        await until(lambda: self.status(alloc) is status, f"status {status}")

    def tell(self):
        """The server hears of everything."""
        for entry in self.host.entries.values():
            self.host.acknowledge(entry.runner.report())

    def read(self, alloc, path):
        file = self.storage.directories(alloc.id).root / path
        return file.read_text() if file.exists() else ""

    async def end(self):
        """Stop it, and whatever still runs on it."""
        for entry in self.host.entries.values():
            for handle in entry.handles.values():
                await self.host.drivers[handle.driver].stop(handle, 0, "")
        await self.stop()
