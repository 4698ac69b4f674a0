"""Fetches what the `secret` blocks of a task name, before its first start (node-agent-2.md 2.6).

In: a task, a way to ask the cluster as that task. Out: what `${secret.<name>.<key>}` stands for.
It is kept in the memory of the agent alone, as long as the task may start again.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from cluster.agent.abortable import Who
from cluster.agent.drivers.driver import HookFailed
from cluster.agent.protocol import LookedUp, Lookup
from cluster.agent.server_link import CallFailed
from cluster.agent.templates.task_templates import Ask, TellMissing
from scheduler.structs.task_group import SecretAsk, Task

logger = logging.getLogger(__name__)

#: The provider that every node has: variables of the cluster.
PROVIDER = "nomad"
#: As the reference's own, for jobs that ask for a version.
VERSION = "1.0.0"
ATTRIBUTES = {f"plugins.secrets.{PROVIDER}.version": VERSION}

#: Seconds for which the same must be missing before anybody is told.
_QUIET_S = 3.0
#: Seconds of one question, and between two that failed.
_WAIT_S = 60.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.25, 60.0
_NAMESPACE = "namespace"


class TaskSecrets:
    """What the secrets of one node's tasks stand for."""

    def __init__(self) -> None:
        self._kept: dict[Who, dict[str, str]] = {}

    def known(self, who: Who) -> Mapping[str, str]:
        """Names as they stand in `${...}`, with their values; nothing before they were fetched."""
        return self._kept.get(who, {})

    def needs(self, who: Who, task: Task) -> bool:
        """Whether they are yet to be fetched: a later start has those of the first."""
        return bool(task.secrets) and who not in self._kept

    async def fetch(
        self,
        who: Who,
        task: Task,
        *,
        namespace: str,
        fill_in: Callable[[str], str],
        ask: Ask,
        tell: TellMissing,
    ) -> None:
        """Have all of them; waits for what is not there yet, and tells that once.

        Raises HookFailed for what the task may not read. Tasks with secrets of other providers
        are refused before.
        """
        paths = {each.name: _path(each, namespace, fill_in) for each in task.secrets}
        wanted = tuple(dict.fromkeys(paths.values()))
        found = await _found(Lookup(alloc_id=who[0], task=who[1], variables=wanted), ask, tell)
        self._kept[who] = {
            f"secret.{name}.{key}": value
            for name, path in paths.items()
            for key, value in found[path].items()
        }

    def stop_all(self, alloc_id: str, alive: Iterable[str]) -> None:
        """Of an allocation only these tasks may start again."""
        kept = set(alive)
        for who in [who for who in self._kept if who[0] == alloc_id and who[1] not in kept]:
            del self._kept[who]


def _path(secret: SecretAsk, own: str, fill_in: Callable[[str], str]) -> str:
    unknown = sorted(secret.config.keys() - {_NAMESPACE})
    if unknown:
        raise HookFailed(f'secrets: the config of "{secret.name}" has no key "{unknown[0]}"')
    path, _, other = fill_in(secret.path).partition("@")
    namespace = fill_in(str(secret.config.get(_NAMESPACE) or "")) or other or own
    return f"{path}@{namespace}"


async def _found(question: Lookup, ask: Ask, tell: TellMissing) -> dict[str, dict[str, str]]:
    loop = asyncio.get_running_loop()
    timer: asyncio.TimerHandle | None = None
    told = ""
    try:
        while True:
            answer = await _answer(question, ask)
            if answer.refused:
                raise HookFailed(f"secrets: {'; '.join(sorted(answer.refused.values()))}")
            missing = sorted(path for path in question.variables if not answer.variables.get(path))
            if not missing:
                return {path: dict(items or {}) for path, items in answer.variables.items()}
            sentence = _sentence(missing)
            if sentence != told:
                told = sentence
                if timer is not None:
                    timer.cancel()
                timer = loop.call_later(_QUIET_S, tell, sentence)
            question = replace(question, after=answer.index, wait_s=_WAIT_S)
    finally:
        if timer is not None:
            timer.cancel()


async def _answer(question: Lookup, ask: Ask) -> LookedUp:
    """Asked again and again while the server cannot be reached."""
    pause = _FIRST_PAUSE_S
    while True:
        try:
            return await ask(question)
        except CallFailed as problem:
            logger.debug("cannot look up: %s", problem)
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)


def _sentence(missing: list[str]) -> str:
    names = ", ".join(f"nomad.var.block({path}.global)" for path in missing[:3])
    more = len(missing) - 3
    return f"Missing: {names}" + (f", and {more} more" if more > 0 else "")
