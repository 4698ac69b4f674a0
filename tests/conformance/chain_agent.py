"""One agent of a scenario as a process of its own: `python -m tests.conformance.chain_agent`.

In: the options and environment of `manage.py runagent`, and in `CHAIN_HOST_VOLUMES` the names of
host volumes, which only this agent has, and only by name. Otherwise: that command's agent.
"""

import asyncio
import dataclasses
import os
from argparse import ArgumentParser

import django
from msgspec.structs import replace

from cluster.agent.agent import Agent
from cluster.agent.config import AgentConfig
from cluster.agent.means import Means
from cluster.agent.protocol import Report
from cluster.management.commands import runagent
from cluster.runtime.clock import RandomIDs, SystemClock, chance
from scheduler.structs.node import HostVolume, Node


class RecordedAgent(Agent):
    """An agent whose node is ready by its next beat, as the recorded ones were."""

    def __init__(self, config: AgentConfig, means: Means) -> None:
        super().__init__(config, means)
        self.client.told = lambda due: Report(allocations=due)


class ChainAgent(RecordedAgent):
    """An agent whose node has the volumes that its scenario names, and mounts none of them."""

    def __init__(self, config: AgentConfig, means: Means) -> None:
        super().__init__(config, means)
        self.host.surroundings = dataclasses.replace(self.host.surroundings, is_simulated=True)

    def _look(self) -> Node:
        names = os.environ["CHAIN_HOST_VOLUMES"].split()
        volumes = {name: HostVolume(name=name, path=f"/srv/{name}") for name in names}
        return replace(super()._look(), host_volumes=volumes)


def main() -> None:
    django.setup()
    parser = ArgumentParser()
    runagent.Command().add_arguments(parser)
    options = vars(parser.parse_args())
    kind = ChainAgent if os.environ["CHAIN_HOST_VOLUMES"] else RecordedAgent
    means = Means(SystemClock(), RandomIDs(), chance)
    asyncio.run(runagent.serve(kind(runagent.config_from(options), means)))


if __name__ == "__main__":
    main()
