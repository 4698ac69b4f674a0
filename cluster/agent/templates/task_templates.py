"""The templates of one task: rendered until everything they need is there, then kept up to date.

In: orders, a way to ask the cluster. Out: the variables they give, and which of them changed.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from cluster.agent.protocol import LookedUp, Lookup
from cluster.agent.server_link import CallFailed
from cluster.agent.templates.render_order import (
    SERVICE,
    SERVICES,
    VARIABLE,
    VARIABLES,
    FoundData,
    FoundService,
    RenderOrder,
)
from cluster.agent.templates.renderer import RenderFailed, render
from scheduler.structs.service_registration import ServiceRegistration
from scheduler.structs.task_group import ChangeScript

logger = logging.getLogger(__name__)

Ask = Callable[[Lookup], Awaitable[LookedUp]]
#: Told the sentence about what is missing, once it has been so for a while.
TellMissing = Callable[[str], None]

#: Seconds for which the same things must be missing before anybody is told.
_QUIET_S = 3.0
#: Seconds of one question, and between two that failed.
_WAIT_S = 60.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.25, 60.0
#: More rounds than any template needs: each finds what the one before did not know.
_MOST_ROUNDS = 50
_NAMED = 3


@dataclass(frozen=True)
class Wanted:
    """One template, and what is to happen when it changes."""

    change_mode: str
    change_signal: str
    splay_s: float
    is_once: bool
    #: Seconds without a further change before it is rendered again, and at most.
    quiet_s: float
    patience_s: float
    script: ChangeScript | None = None


class TaskTemplates:
    """Rendered by `first`, then by `next_change`; one caller at a time."""

    def __init__(
        self, alloc_id: str, task: str, order: RenderOrder, wanted: Sequence[Wanted], ask: Ask
    ) -> None:
        self._alloc_id = alloc_id
        self._task = task
        self._order = order
        self.wanted = wanted
        self._ask = ask
        self._index = 0
        self._uses: dict[str, None] = {}
        self._envs: dict[int, dict[str, str]] = {}

    @property
    def env(self) -> dict[str, str]:
        """What `env` templates gave last, later ones over earlier ones."""
        return {key: text for _n, env in sorted(self._envs.items()) for key, text in env.items()}

    @property
    def is_watched(self) -> bool:
        """Whether any may ever change."""
        return bool(self._uses) and not all(wanted.is_once for wanted in self.wanted)

    async def first(self, tell: TellMissing) -> list[int]:
        """Render all of them; the numbers of those whose file was not so. Raises RenderFailed."""
        missing: tuple[str, ...] = ()
        timer: asyncio.TimerHandle | None = None
        changed: dict[int, None] = {}
        loop = asyncio.get_running_loop()
        try:
            while True:
                now_missing = await self._round(changed, range(len(self.wanted)))
                if not now_missing:
                    return list(changed)
                if now_missing != missing:
                    missing = now_missing
                    if timer:
                        timer.cancel()
                    timer = loop.call_later(_QUIET_S, tell, _sentence(missing))
                await self._hear()
        finally:
            if timer:
                timer.cancel()

    async def next_change(self) -> list[int]:
        """Wait for news and render again; the numbers of those that changed, maybe none."""
        before = self._order.found
        await self._hear()
        if self._order.found == before:
            return []
        await self._settle()
        changed: dict[int, None] = {}
        watched = [number for number, each in enumerate(self.wanted) if not each.is_once]
        # What is missing now stays as it was.
        await self._round(changed, watched)
        return list(changed)

    async def _settle(self) -> None:
        """Until nothing has changed for a while: changes come in groups."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        quiet = min(each.quiet_s for each in self.wanted)
        patience = min(each.patience_s for each in self.wanted)
        while quiet > 0 and loop.time() - began < patience:
            before = self._order.found
            await self._look(wait_s=quiet)
            if self._order.found == before:
                return

    async def _round(self, changed: dict[int, None], numbers: Sequence[int]) -> tuple[str, ...]:
        """Render until nothing is unknown; what is missing."""
        for _turn in range(_MOST_ROUNDS):
            order = replace(
                self._order, templates=tuple(self._order.templates[number] for number in numbers)
            )
            renderings = await render(order)
            for number, rendering in zip(numbers, renderings, strict=True):
                self._uses |= dict.fromkeys(rendering.uses)
                if rendering.error:
                    raise RenderFailed(rendering.error)
                if rendering.changed:
                    changed[number] = None
                is_whole = not (rendering.needs or rendering.missing)
                if is_whole and self._order.templates[number].is_env:
                    self._envs[number] = rendering.env
            if not any(rendering.needs for rendering in renderings):
                return tuple(sorted({name for each in renderings for name in each.missing}))
            await self._look(wait_s=0.0)
        raise RenderFailed(f"what it needs is not settled after {_MOST_ROUNDS} rounds")

    async def _hear(self) -> None:
        await self._look(wait_s=_WAIT_S)

    async def _look(self, *, wait_s: float) -> None:
        """Ask for everything that is used; again and again while the server cannot be reached."""
        pause = _FIRST_PAUSE_S
        while True:
            try:
                return self._take(await self._ask(self._question(wait_s)))
            except CallFailed as problem:
                logger.debug("cannot look up: %s", problem)
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_S)

    def _take(self, told: LookedUp) -> None:
        if told.refused:
            raise RenderFailed("; ".join(sorted(told.refused.values())))
        self._index = told.index
        self._order = replace(self._order, found=_found(told))

    def _question(self, wait_s: float) -> Lookup:
        names: dict[str, list[str]] = {VARIABLE: [], VARIABLES: [], SERVICE: [], SERVICES: []}
        for use in self._uses:
            kind, _, name = use.partition(" ")
            names[kind].append(name)
        return Lookup(
            alloc_id=self._alloc_id,
            task=self._task,
            after=self._index if wait_s else 0,
            wait_s=wait_s,
            variables=tuple(names[VARIABLE]),
            lists=tuple(names[VARIABLES]),
            services=tuple(names[SERVICE]),
            all_services=bool(names[SERVICES]),
        )


def _found(told: LookedUp) -> FoundData:
    return FoundData(
        variables=told.variables,
        lists=told.lists,
        services={
            name: tuple(_found_service(row) for row in rows)
            for name, rows in told.services.items()
        },
        all_services=told.all_services,
    )


def _found_service(row: ServiceRegistration) -> FoundService:
    return FoundService(
        id=row.id,
        name=row.service_name,
        node=row.node_id,
        address=row.address,
        port=row.port,
        datacenter=row.datacenter,
        tags=row.tags,
        job_id=row.job_id,
        alloc_id=row.alloc_id,
    )


def _sentence(missing: Sequence[str]) -> str:
    more = len(missing) - _NAMED
    return f"Missing: {', '.join(missing[:_NAMED])}" + (f", and {more} more" if more > 0 else "")
