"""Prepares one start of a task: directories, environment, options with `${...}` filled in."""

from collections.abc import Callable, Mapping

from cluster.agent.alloc_directories import AllocDirectories
from cluster.agent.alloc_runner import AllocRunner
from cluster.agent.drivers.driver import Launch
from cluster.agent.task_environment import TaskPlace, interpolated, task_variables
from cluster.agent.task_user import login_variables
from scheduler.ports import IDSource
from scheduler.structs.node import Node
from scheduler.structs.task_group import Task


class TaskLauncher:
    """Knows the node and the environment that its tasks start from."""

    def __init__(
        self,
        node: Callable[[], Node],
        host: Mapping[str, str],
        ids: IDSource,
        region: str = "global",
    ) -> None:
        self.node = node
        self.host = host
        self.ids = ids
        self.region = region

    def launch(
        self, runner: AllocRunner, task: Task, directories: AllocDirectories | None
    ) -> Launch:
        """Everything the driver needs. Raises OSError when the directories cannot be made."""
        task_id = f"{runner.alloc.id}/{task.name}/{self.ids.next_id()[:8]}"
        if directories is None:
            # A simulated task has no environment to fill.
            return Launch(task_id=task_id, task_name=task.name, config=task.config)
        place = TaskPlace(
            node=self.node(),
            alloc=runner.alloc,
            job=runner.job,
            group=runner.group,
            task=task,
            region=self.region,
            directories=directories.make_task(task, runner.job),
        )
        login = login_variables(task.user) if task.user else {}
        variables = task_variables(place, {**self.host, **login})
        return Launch(
            task_id=task_id,
            task_name=task.name,
            config=interpolated(place, variables, task.config),
            env=variables,
            user=task.user,
            logs=task.log_config,
            directories=place.directories,
        )
