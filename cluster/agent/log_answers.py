"""What an agent tells of its own log, and what it tells of its work while somebody follows it.

In: the forms of `followed_log`. Out: frames, or lines. The log itself is not written more for it.
"""

from collections.abc import AsyncIterator, Callable, Mapping

import msgspec

from cluster.agent.alloc_host import AllocHost
from cluster.agent.channel_client import AnswerRefused
from cluster.followed_log import LEVELS, Form, followed, log_file, written_so_far
from cluster.log_lines import FOR_FOLLOWERS
from scheduler.structs.wire import Wire

Body = dict[str, object]
Verbs = Mapping[str, Callable[[Body], AsyncIterator[bytes]]]
NO_FILE = "No nomad log file defined"
SIMULATED = "this node is simulated: it has no log of its own"


class ExportCall(Wire, frozen=True):
    """Whether lines are wanted as they are."""

    plain: bool = False


async def _follow(body: Body) -> AsyncIterator[bytes]:
    form = msgspec.convert(body, Form)
    if form.level not in LEVELS:
        raise AnswerRefused(f"Unknown log level: {form.level[:64]}", 400)
    async for piece in followed(form):
        yield piece


async def _export(body: Body) -> AsyncIterator[bytes]:
    call = msgspec.convert(body, ExportCall)
    descriptor = log_file()
    if descriptor is None:
        raise AnswerRefused(NO_FILE, 400)
    async for piece in written_so_far(descriptor, is_plain=call.plain):
        yield piece


async def _none(_body: Body) -> AsyncIterator[bytes]:
    yield _refused()


def _refused() -> bytes:
    raise AnswerRefused(SIMULATED, 404)


LOG_VERBS: Verbs = {"log.follow": _follow, "log.export": _export}
NO_LOG: Verbs = {"log.follow": _none, "log.export": _none}


class TaskLines:
    """A line for each event of a task, for those who follow the log; none while nobody does."""

    def __init__(self, host: AllocHost, now: Callable[[], int]) -> None:
        self._host = host
        self._now = now
        #: The last event told of each allocation, ns; while somebody follows.
        self._told: dict[str, int] = {}
        self._since = 0

    def look(self, alloc_id: str) -> None:
        """An allocation has another state."""
        if not FOR_FOLLOWERS.handlers:
            self._since = 0
            self._told.clear()
            return
        # The events that led to this state are a moment old.
        self._since = self._since or self._now() - 1_000_000_000
        entry = self._host.entries.get(alloc_id)
        if entry is None:
            self._told.pop(alloc_id, None)
            return
        before = self._told.get(alloc_id, self._since)
        for name, run in sorted(entry.runner.tasks.items()):
            for event in run.state.events:
                if event.time > before:
                    FOR_FOLLOWERS.info(
                        'Task event: alloc_id=%s task=%s type="%s" msg="%s"',
                        alloc_id, name, event.type, event.display_message,
                    )  # fmt: skip
                    self._told[alloc_id] = max(self._told.get(alloc_id, 0), event.time)
