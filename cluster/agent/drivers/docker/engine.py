"""One node's way to its container engine, by the library `aiodocker`.

What the engine refuses is raised as `EngineError`, in its words.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from aiodocker import Docker
from aiodocker.exceptions import DockerError
from aiohttp import ClientError

#: The library's own number for an engine that cannot be reached.
_UNREACHABLE = 900
NOT_FOUND = 404
CONFLICT = 409


class EngineError(Exception):
    """The engine refused, or could not be asked."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status

    @property
    def passes(self) -> bool:
        """Another attempt may go well."""
        return self.status >= 500


class EngineAway(EngineError):
    """Nobody listens on the engine's socket, or the connection broke off."""

    def __init__(self, text: str) -> None:
        super().__init__(_UNREACHABLE, text)


class Engine:
    """Connections to the engine at one socket; each asker has its own."""

    def __init__(self, socket: str) -> None:
        self.socket = socket

    @contextlib.asynccontextmanager
    async def connected(self) -> AsyncIterator[Docker]:
        """A connection, closed at the end. Raises EngineError and EngineAway."""
        docker = Docker(url=f"unix://{self.socket}")
        try:
            yield docker
        except DockerError as problem:
            if problem.status == _UNREACHABLE:
                text = f"cannot connect to the container engine at {self.socket}"
                raise EngineAway(text) from problem
            raise EngineError(problem.status, str(problem.message)) from problem
        except (ClientError, asyncio.IncompleteReadError, ConnectionError) as problem:
            raise EngineAway(f"the container engine broke off: {problem}") from problem
        finally:
            await docker.close()
