"""Prepares one start of a task: directories, environment, options with `${...}` filled in."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from cluster.agent.alloc_directories import AllocDirectories
from cluster.agent.alloc_runner import AllocRunner
from cluster.agent.artifact_hook import DownloadFailed
from cluster.agent.artifacts.order import ArtifactRefused, FetchOrder, Limits, fetch_order
from cluster.agent.devices.keeper import DeviceKeeper
from cluster.agent.drivers.driver import (
    Abilities,
    Driver,
    Isolation,
    Launch,
    TaskDirectories,
    TaskLimits,
)
from cluster.agent.host_volumes import mounts_of
from cluster.agent.networks.for_task import task_network
from cluster.agent.task_environment import TaskPlace, filler, interpolated, task_variables
from cluster.agent.task_identity import FileReader
from cluster.agent.task_secrets import TaskSecrets
from cluster.agent.task_user import login_variables
from cluster.agent.templates.template_set import TemplateSet, template_set
from scheduler.ports import IDSource
from scheduler.structs.device import DeviceGrant
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
        limits: Limits | None = None,
    ) -> None:
        self.node = node
        self.host = host
        self.ids = ids
        self.region = region
        self.limits = limits or Limits()
        #: What the node has for single tasks; set by whoever has looked.
        self.devices = DeviceKeeper()
        #: What the secrets of its tasks stand for.
        self.secrets = TaskSecrets()
        #: Those of the node, by name; set by whoever has them.
        self.drivers: Mapping[str, Driver] = {}

    def abilities(self, driver: str) -> Abilities:
        """What that driver can do; nothing of one that is not there."""
        found = self.drivers.get(driver)
        return Abilities() if found is None else found.abilities

    def user_of(self, task: Task) -> str:
        """Whom of the host the task runs as; "" for the agent's own user, and for an image's."""
        if self._has_image(task):
            return ""
        return task.user or self.abilities(task.driver).default_user

    def reader_of(self, task: Task) -> FileReader:
        """Whom files are for that nobody but the task may read."""
        return FileReader(self.user_of(task), self._has_image(task))

    def _has_image(self, task: Task) -> bool:
        return self.abilities(task.driver).isolation is Isolation.IMAGE

    def launch(
        self,
        runner: AllocRunner,
        task: Task,
        directories: AllocDirectories | None,
        rendered: Mapping[str, str] | None = None,
    ) -> Launch:
        """Everything the driver needs. Raises OSError for its directories.

        Raises StartError where the node lacks a volume or a device.

        `rendered`: variables that templates gave; they win over the job's own.
        """
        task_id = f"{runner.alloc.id}/{task.name}/{self.ids.next_id()[:8]}"
        if directories is None:
            # A simulated task has no environment to fill.
            return Launch(task_id=task_id, task_name=task.name, config=task.config)
        made = directories.make_task(task, runner.job, has_image=self._has_image(task))
        place = self._place(runner, task, made)
        user = self.user_of(task)
        login = login_variables(user) if user else {}
        # What the host's variables say is not true of the files of an image.
        host = {} if self._has_image(task) else {**self.host, **login}
        given = self.devices.reservation(_devices(runner, task))
        variables = {**task_variables(place, host), **given.env, **(rendered or {})}
        return Launch(
            task_id=task_id,
            task_name=task.name,
            config=interpolated(place, variables, task.config),
            env=variables,
            user=user,
            image_user=task.user if self._has_image(task) else "",
            logs=task.log_config,
            directories=place.directories,
            limits=_limits(place),
            mounts=mounts_of(
                task,
                runner.group,
                runner.alloc,
                place.node.host_volumes,
                filler(place, variables),
            ),
            ports=runner.alloc.allocated_resources.shared.ports,
            devices=given.files,
            device_env=given.env,
            network=task_network(runner, filler(place, variables)),
        )

    def artifact_orders(self, runner: AllocRunner, task: Task, launch: Launch) -> list[FetchOrder]:
        """What is to be in place before that start. Raises DownloadFailed for what cannot be."""
        if launch.directories is None or not task.artifacts:
            return []
        fill_in = self.filler(runner, task, launch)
        try:
            return [
                fetch_order(
                    artifact, fill_in, launch.directories, user=launch.user, limits=self.limits
                )
                for artifact in task.artifacts
            ]
        except ArtifactRefused as problem:
            raise DownloadFailed(str(problem)) from problem

    def filler(self, runner: AllocRunner, task: Task, launch: Launch) -> Callable[[str], str]:
        """Replaces every `${...}` of a text that is known at that start."""
        assert launch.directories is not None, "a simulated task has no environment to fill"
        return filler(self._place(runner, task, launch.directories), launch.env)

    def templates(
        self, runner: AllocRunner, task: Task, launch: Launch, *, now: int
    ) -> TemplateSet:
        """What is to be rendered for that start. Raises HookFailed for a path leading out."""
        return template_set(
            task.templates,
            launch,
            self.filler(runner, task, launch),
            namespace=runner.alloc.namespace,
            region=self.region,
            now=now,
        )

    def _place(self, runner: AllocRunner, task: Task, directories: TaskDirectories) -> TaskPlace:
        is_rooted = self.abilities(task.driver).isolation is not Isolation.NONE
        return TaskPlace(
            node=self.node(),
            alloc=runner.alloc,
            job=runner.job,
            group=runner.group,
            task=task,
            region=self.region,
            directories=replace(directories, is_rooted=is_rooted),
            network=runner.network_status,
            secrets=self.secrets.known((runner.alloc.id, task.name)),
        )


def _devices(runner: AllocRunner, task: Task) -> tuple[DeviceGrant, ...]:
    granted = runner.alloc.allocated_resources.tasks.get(task.name)
    return granted.devices if granted else ()


def _limits(place: TaskPlace) -> TaskLimits | None:
    """What the task was granted, for its control group."""
    granted = place.alloc.allocated_resources.tasks.get(place.task.name)
    if granted is None:
        return None
    cpu = place.node.node_resources.cpu
    return TaskLimits(
        cpu_mhz=granted.cpu.cpu_shares,
        memory_mb=granted.memory.memory_mb,
        memory_max_mb=granted.memory.memory_max_mb,
        cores=granted.cpu.reserved_cores,
        core_mhz=cpu.cpu_shares / max(1, cpu.total_cpu_cores),
    )
