"""A restart of every task of a group whose services leave the list first (node-agent-2.md 1.1).

Whoever sends requests there has the group's `shutdown_delay` to go elsewhere; then the services
come back and the restart begins. What is asked for in this time is forgotten when the agent ends.
"""

from collections.abc import Callable
from dataclasses import dataclass

from cluster.agent.task_run import Command
from scheduler.structs.wire import Duration, Nanoseconds


@dataclass
class Withdrawal:
    """The time before such a restart."""

    ends_at: Nanoseconds
    #: The restart itself, at its time.
    restart: Callable[[Nanoseconds], list[Command]]

    @property
    def wake_at(self) -> Nanoseconds:
        """When it is over."""
        return self.ends_at

    def shift(self, by: Duration) -> None:
        """The clock was set by so much."""
        self.ends_at += by
