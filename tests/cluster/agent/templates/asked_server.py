"""A server as the tasks of an agent see it: variables and services, asked for by name."""

import asyncio
import contextlib

from cluster.agent.protocol import LookedUp


class Server:
    """Answers questions as a server does, and wakes who waits when something is set."""

    def __init__(self):
        self.variables, self.services, self.refused = {}, {}, {}
        self.asked = []
        self._index = 1
        self._news = asyncio.Event()

    def set(self, path, **items):
        self.variables[path] = items or None
        self._index += 1
        self._news.set()
        self._news = asyncio.Event()

    async def __call__(self, question):
        self.asked.append(question)
        if question.after >= self._index and question.wait_s:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), question.wait_s)
        return LookedUp(
            index=self._index,
            variables={path: self.variables.get(path) for path in question.variables},
            lists=dict.fromkeys(question.lists, ()),
            services={name: self.services.get(name, ()) for name in question.services},
            refused=self.refused,
        )
