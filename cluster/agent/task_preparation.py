"""Everything between a task's directories and its driver: artifacts, then templates.

In: a hosted allocation and one of its tasks. Out: a launch with the variables that templates gave,
or a StartError that says which part failed. What waits can be broken off.
"""

import logging
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Protocol

from cluster.agent import task_events as events
from cluster.agent.abortable import Abortable, StartAborted, Who
from cluster.agent.agent_state import Storage
from cluster.agent.artifact_hook import fetch_artifacts
from cluster.agent.drivers.driver import Driver, Launch, StartError, TaskDirectories
from cluster.agent.host_volumes import require_mounting
from cluster.agent.hosted_alloc import HostedAlloc
from cluster.agent.identity_keeper import IdentityHost, IdentityKeeper
from cluster.agent.networks.keeper import AllocNetworks, NetworkFailed
from cluster.agent.task_api.sockets import VARIABLE as API_ADDRESS
from cluster.agent.task_api.sockets import TaskSockets, with_address
from cluster.agent.task_identity import VARIABLE as IDENTITY
from cluster.agent.task_identity import Ask, with_further_identities, with_identity
from cluster.agent.task_launch import TaskLauncher
from cluster.agent.task_run import Phase
from cluster.agent.template_keeper import TemplateChange, TemplateKeeper
from cluster.agent.templates.task_templates import Ask as AskCluster
from scheduler.ports import Clock
from scheduler.structs.allocation import TaskEvent
from scheduler.structs.task_group import Task

logger = logging.getLogger(__name__)

#: How a driver gets what a task needs before its start, such as an image.
Fetch = Callable[[Launch, Callable[[str], None]], Coroutine[None, None, None]]


class Teller(IdentityHost, Protocol):
    """Whoever is told of allocations that have more to say."""

    changed: Callable[[str], None]
    #: What the cluster tells a task.
    ask: AskCluster
    #: An identity of a task; None: nobody is to be asked.
    ask_identity: Ask | None
    #: Where tasks ask the cluster's API; None: nowhere.
    sockets: TaskSockets | None
    networks: AllocNetworks


class TaskPreparation:
    """The starts of one node's tasks."""

    def __init__(
        self,
        launcher: TaskLauncher,
        storage: Storage,
        clock: Clock,
        templates: TemplateKeeper,
        host: Teller,
        chance: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._launcher = launcher
        self._storage = storage
        self._clock = clock
        self._templates = templates
        self._host = host
        self._work = Abortable()
        self._identities = IdentityKeeper(host, clock, chance)

    async def launch(self, entry: HostedAlloc, task: Task, driver: Driver) -> Launch:
        """What the driver is to start. Raises StartError, and OSError for the directories."""
        launch = await self._filled(entry, task, driver)
        fetch: Fetch | None = getattr(driver, "fetch", None)
        if fetch is not None:
            work = fetch(launch, partial(self._say_of_driver, entry, task))
            await self._work.run(_who(entry, task), work)
        return launch

    async def _filled(self, entry: HostedAlloc, task: Task, driver: Driver) -> Launch:
        runner = entry.runner
        directories = self._storage.directories(runner.alloc.id)
        if directories is not None:
            await self._connect(entry)
        first = self._launcher.launch(runner, task, directories)
        if await self._fetch_secrets(entry, task, first):
            first = self._launcher.launch(runner, task, directories)
        if first.mounts:
            require_mounting(driver, task)
        alloc_id, ask, reader = (
            runner.alloc.id,
            self._host.ask_identity,
            self._launcher.reader_of(task),
        )
        first = await with_identity(first, alloc_id, task, ask, reader)
        first, ends = await with_further_identities(first, alloc_id, task, ask, reader)
        if first.directories is not None:
            self._identities.given(alloc_id, task, first.directories, reader, ends)
            if self._host.sockets is not None:
                await self._host.sockets.open(_who(entry, task), first.directories)
                first = with_address(first, task)
        if first.directories is None or not (task.artifacts or task.templates):
            return first
        env = await self._work.run(_who(entry, task), self._prepare(entry, task, first))
        if not env:
            return first
        again = self._launcher.launch(runner, task, directories, env)
        token = {key: text for key, text in first.env.items() if _is_identity(key, task)}
        return replace(again, env={**again.env, **token})

    async def _fetch_secrets(self, entry: HostedAlloc, task: Task, launch: Launch) -> bool:
        """Whether `${...}` stands for more than before. Raises StartError."""
        who, secrets = _who(entry, task), self._launcher.secrets
        if launch.directories is None or not secrets.needs(who, task):
            return False

        def tell(sentence: str) -> None:
            self._say(entry, task, events.missing_for_templates(self._clock.now(), sentence))

        work = secrets.fetch(
            who,
            task,
            namespace=entry.runner.alloc.namespace,
            fill_in=self._launcher.filler(entry.runner, task, launch),
            ask=self._host.ask,
            tell=tell,
        )
        await self._work.run(who, work)
        return True

    async def _connect(self, entry: HostedAlloc) -> None:
        """Its network is there since its beginning, unless the machine was started anew."""
        networks, runner = self._host.networks, entry.runner
        if runner.network_namespace or not networks.is_due(runner):
            return
        try:
            await networks.set_up(runner)
        except NetworkFailed as problem:
            raise StartError(str(problem), recoverable=True) from problem

    def abort(self, entry: HostedAlloc, task: str) -> None:
        """Break off what the start of that task waits for."""
        self._work.abort((entry.runner.alloc.id, task))

    async def resume(self, entry: HostedAlloc, name: str) -> None:
        """The task was found running by a new agent: keep its files up to date."""
        runner = entry.runner
        task = runner.tasks[name].task
        directories = self._storage.directories(runner.alloc.id)
        if directories is None:
            return
        reader = self._launcher.reader_of(task)
        self._identities.resume(runner.alloc.id, task, directories.task(name), reader)
        await self._listen_anew(_who(entry, task), directories.task(name))
        if not task.templates:
            return
        launch = self._launcher.launch(runner, task, directories)
        try:
            if await self._fetch_secrets(entry, task, launch):
                launch = self._launcher.launch(runner, task, directories)
        except StartError as problem:
            if not isinstance(problem, StartAborted):
                self._host.templates_failed(_who(entry, task), f"Template failed: {problem}")
            return
        orders = self._launcher.templates(runner, task, launch, now=self._clock.now())
        await self._templates.resume(_who(entry, task), orders)

    def first(self, entry: HostedAlloc, name: str) -> TemplateChange:
        """What its templates ask for with the first start of a task: scripts, if anything."""
        run = entry.runner.tasks[name]
        found = () if run.state.restarts else self._templates.first_scripts(_who(entry, run.task))
        return TemplateChange(restarts=False, signals=(), scripts=found)

    def follow(self, entry: HostedAlloc) -> None:
        """Let go of the templates and identities of tasks that are over."""
        runs = entry.runner.tasks.items()
        alive = [name for name, run in runs if run.phase is not Phase.DEAD]
        self._templates.stop_all(entry.runner.alloc.id, alive)
        self._identities.stop_all(entry.runner.alloc.id, alive)
        self._launcher.secrets.stop_all(entry.runner.alloc.id, alive)
        if self._host.sockets is not None:
            self._host.sockets.stop_all(entry.runner.alloc.id, alive)

    async def close(self) -> None:
        """Files stay as they are."""
        await self._templates.close()
        await self._identities.close()
        if self._host.sockets is not None:
            await self._host.sockets.close()

    async def _listen_anew(self, who: Who, places: TaskDirectories) -> None:
        if self._host.sockets is None:
            return
        try:
            await self._host.sockets.open(who, places)
        except OSError as problem:
            logger.warning("task %s/%s asks nothing of the cluster: %s", *who, problem)

    async def _prepare(self, entry: HostedAlloc, task: Task, launch: Launch) -> dict[str, str]:
        await self._fetch(entry, task, launch)
        if not task.templates:
            return {}
        orders = self._launcher.templates(entry.runner, task, launch, now=self._clock.now())
        run = entry.runner.tasks[task.name]

        def tell(sentence: str) -> None:
            self._say(entry, task, events.missing_for_templates(self._clock.now(), sentence))

        anew = run.state.restarts > 0 and run.tracker.policy.render_templates
        return await self._templates.prepare(_who(entry, task), orders, tell, anew=anew)

    async def _fetch(self, entry: HostedAlloc, task: Task, launch: Launch) -> None:
        orders = self._launcher.artifact_orders(entry.runner, task, launch)
        if not orders or launch.directories is None:
            return

        def told(received: int, expected: int) -> None:
            self._say(entry, task, events.downloading(self._clock.now(), received, expected))

        kept = entry.fetched.setdefault(task.name, set())
        await fetch_artifacts(orders, launch.directories, kept, told)

    def _say_of_driver(self, entry: HostedAlloc, task: Task, sentence: str) -> None:
        self._say(entry, task, events.of_driver(self._clock.now(), sentence))

    def _say(self, entry: HostedAlloc, task: Task, line: TaskEvent) -> None:
        entry.runner.tasks[task.name].say_anew(line)
        self._host.changed(entry.runner.alloc.id)


def _is_identity(variable: str, task: Task) -> bool:
    named = (f"{IDENTITY}_{each.name}" for each in task.identities)
    return variable in {IDENTITY, API_ADDRESS, *named}


def _who(entry: HostedAlloc, task: Task) -> Who:
    return entry.runner.alloc.id, task.name
