"""Renders the templates of every task here before it starts, and again when their data changes.

In: launches of tasks, a way to ask the cluster. Out: variables for the start, and what a change
asks of a running task: a restart, signals, or nothing. One loop for each task with templates that
depend on the cluster.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from cluster.agent.abortable import Who
from cluster.agent.protocol import LookedUp, Lookup
from cluster.agent.server_link import CallFailed
from cluster.agent.templates.renderer import RenderFailed
from cluster.agent.templates.task_templates import Ask, TaskTemplates, TellMissing
from cluster.agent.templates.template_set import TemplateFailed, TemplateSet
from scheduler.structs.task_group import ChangeScript


class TemplateChange(NamedTuple):
    """What is to happen to a task whose templates, or one of whose identities, changed."""

    restarts: bool
    signals: tuple[str, ...]
    #: The identity that is another one; "": files of templates are.
    identity: str = ""
    scripts: tuple[ChangeScript, ...] = ()

    @property
    def words(self) -> tuple[str, str, str]:
        """What the task's history says of a restart and of a signal, and of what it speaks."""
        if self.identity:
            head = f"Identity[{self.identity}]"
            return f"{head}: new token acquired", f"{head}: new Identity token acquired", head
        return (
            "Template with change_mode restart re-rendered",
            "Template re-rendered",
            "Template",
        )

    def unsent(self, signal: str, problem: object) -> str:
        """What it says where a signal cannot be sent."""
        if self.identity:
            return f"Identity[{self.identity}]: failed to send signal: {problem}"
        return f"Template failed to send signals [{signal}]: {problem}"


class TemplateHost(Protocol):
    """What the keeper tells: that a task's files changed, or cannot be made any more."""

    @property
    def ask(self) -> Ask:
        """How the cluster is asked."""

    def templates_changed(self, who: Who, change: TemplateChange) -> None:
        """Restart it, or send it signals."""

    def templates_failed(self, who: Who, why: str) -> None:
        """End it as failed, with that sentence in its history."""


class TemplateKeeper:
    """The templates of one node."""

    def __init__(self, host: TemplateHost, chance: Callable[[], float]) -> None:
        self._host = host
        self._chance = chance
        self._tasks: dict[Who, TaskTemplates] = {}
        self._loops: dict[Who, asyncio.Task[None]] = {}

    async def prepare(
        self, who: Who, orders: TemplateSet, tell: TellMissing, *, anew: bool
    ) -> dict[str, str]:
        """Have every file of the task in place; the variables they give. Raises TemplateFailed.

        `anew`: render again although it was done for a start before.
        """
        if who in self._tasks and not anew:
            return self._tasks[who].env
        templates = self._begin(who, orders)
        try:
            await templates.first(tell)
        except RenderFailed as problem:
            self.stop(who)
            raise TemplateFailed(str(problem)) from problem
        except asyncio.CancelledError:
            self.stop(who)
            raise
        self._watch(who, templates)
        return templates.env

    async def resume(self, who: Who, orders: TemplateSet) -> None:
        """The agent is new and the task runs already: what changed meanwhile is told."""
        templates = self._begin(who, orders)
        try:
            changed = await templates.first(lambda _sentence: None)
        except RenderFailed as problem:
            self._host.templates_failed(who, f"Template failed: {problem}")
            return
        await self._tell(who, templates, changed)
        self._watch(who, templates)

    def first_scripts(self, who: Who) -> tuple[ChangeScript, ...]:
        """Those that run once the task has begun, although nothing has changed."""
        wanted = self._tasks[who].wanted if who in self._tasks else ()
        scripts = (each.script for each in wanted)
        return tuple(each for each in scripts if each is not None and each.run_on_first_render)

    def stop(self, who: Who) -> None:
        """The task is over."""
        self._tasks.pop(who, None)
        loop = self._loops.pop(who, None)
        if loop is not None and loop is not asyncio.current_task():
            loop.cancel()

    def stop_all(self, alloc_id: str, alive: Iterable[str]) -> None:
        """Of an allocation only these tasks may still need theirs."""
        over = {who for who in self._tasks if who[0] == alloc_id and who[1] not in set(alive)}
        for who in over:
            self.stop(who)

    async def close(self) -> None:
        """End every loop."""
        loops = list(self._loops.values())
        for who in list(self._tasks):
            self.stop(who)
        await asyncio.gather(*loops, return_exceptions=True)

    def _begin(self, who: Who, orders: TemplateSet) -> TaskTemplates:
        self.stop(who)
        made = TaskTemplates(who[0], who[1], orders.order, orders.wanted, self._host.ask)
        self._tasks[who] = made
        return made

    def _watch(self, who: Who, templates: TaskTemplates) -> None:
        if templates.is_watched and self._tasks.get(who) is templates:
            loop = asyncio.get_running_loop()
            self._loops[who] = loop.create_task(self._follow(who, templates))

    async def _follow(self, who: Who, templates: TaskTemplates) -> None:
        while True:
            try:
                changed = await templates.next_change()
            except RenderFailed as problem:
                self._host.templates_failed(who, f"Template failed: {problem}")
                return
            await self._tell(who, templates, changed)

    async def _tell(self, who: Who, templates: TaskTemplates, changed: list[int]) -> None:
        wanted = [templates.wanted[number] for number in changed]
        acting = [each for each in wanted if each.change_mode != "noop"]
        if not acting:
            return
        await asyncio.sleep(self._chance() * max(each.splay_s for each in acting))
        restarts = any(each.change_mode == "restart" for each in acting)
        signals = dict.fromkeys(each.change_signal for each in acting if each.change_signal)
        scripts = tuple(each.script for each in acting if each.script is not None)
        # A restart makes the others needless.
        change = TemplateChange(
            restarts, () if restarts else tuple(signals), scripts=() if restarts else scripts
        )
        self._host.templates_changed(who, change)


async def nobody_to_ask(_question: Lookup) -> LookedUp:
    """Of a node without a server: templates that need one wait."""
    raise CallFailed("there is no server")
