"""Has images where containers start from them: pulled from a registry, or from an archive.

In: options and who is to be told how far it is. Out: an image that the engine has, or StartError.
Tasks that ask for the same image at the same time share one pull.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from aiodocker import Docker
from aiodocker.exceptions import DockerError

from cluster.agent.alloc_directories import inside
from cluster.agent.drivers.docker.engine import NOT_FOUND, Engine, EngineError
from cluster.agent.drivers.docker.image_keeper import ImageKeeper
from cluster.agent.drivers.docker.options import DockerOptions
from cluster.agent.drivers.driver import StartError, TaskDirectories

#: Called with a sentence for the history of the task.
Tell = Callable[[str], None]
#: Seconds between two sentences of one pull.
TELL_EVERY_S = 5.0
#: Seconds without any progress after which a pull is given up (node-agent-2.md 5.6).
NO_PROGRESS_S = 120.0
_MEBIBYTE = 1024 * 1024
_CHUNK = 1024 * 1024
#: What registries say of an image that is not there, or not for this caller: no retry helps.
_HOPELESS = ("manifest unknown", "name unknown", "pull access denied", "unauthorized")


@dataclass
class PullProgress:
    """How far the layers of one image are."""

    #: By layer: bytes there, bytes in all, what the engine does with it.
    layers: dict[str, tuple[int, int, str]] = field(default_factory=dict)

    def note(self, line: Mapping[str, Any]) -> None:
        """One line of the engine's."""
        layer, status = str(line.get("id", "")), str(line.get("status", ""))
        if not layer or status.startswith("Pulling from"):
            return
        have, whole, _ = self.layers.get(layer, (0, 0, ""))
        detail = line.get("progressDetail") or {}
        if status == "Downloading":
            have, whole = int(detail.get("current", 0)), int(detail.get("total", 0))
        elif status in ("Pull complete", "Download complete", "Already exists"):
            have = whole
        self.layers[layer] = (have, whole, status)

    @property
    def sentence(self) -> str:
        """How far it is, for people."""
        states = [state for _, _, state in self.layers.values()]
        done = sum(state in ("Pull complete", "Already exists") for state in states)
        waiting = states.count("Waiting") + states.count("Pulling fs layer")
        pulling = len(states) - done - waiting
        have = sum(have for have, _, _ in self.layers.values()) // _MEBIBYTE
        whole = sum(whole for _, whole, _ in self.layers.values()) // _MEBIBYTE
        return (
            f"Docker image pull progress: Pulled {done}/{len(states)} ({have}MiB/{whole}MiB) "
            f"layers: {waiting} waiting/{pulling} pulling"
        )


class ImageFetch:
    """The pulls of one node."""

    def __init__(self, engine: Engine, keeper: ImageKeeper) -> None:
        self._engine = engine
        self._keeper = keeper
        self._pulls: dict[str, _Pull] = {}

    async def fetch(
        self, options: DockerOptions, directories: TaskDirectories, tell: Tell
    ) -> None:
        """Have the image there. Raises StartError."""
        reference = image_reference(options.image)
        try:
            await asyncio.to_thread(self._keeper.wanted, reference)
            async with self._engine.connected() as docker:
                if options.load:
                    before = await _there(docker, reference)
                    await _load(docker, options, directories)
                    await self.note(docker, reference, before)
                    return
                is_there = await _find(docker, reference) is not None
            moves = reference.endswith(":latest")
            if is_there and not (moves or options.force_pull):
                return
            await self._pull(reference, options, tell)
        except EngineError as problem:
            text = f"Failed to pull `{options.image}`: {problem}"
            raise StartError(text, recoverable=problem.passes) from problem

    async def _pull(self, reference: str, options: DockerOptions, tell: Tell) -> None:
        tell("Downloading image")
        pull = self._pulls.get(reference)
        if pull is None:
            pull = self._pulls[reference] = _Pull(self, self._engine, reference, options)
            pull.work.add_done_callback(lambda work: self._forget(reference, work))
        pull.listeners.append(tell)
        try:
            # Whoever gives up leaves the pull to those who still wait for it.
            await asyncio.shield(pull.work)
        finally:
            pull.listeners.remove(tell)
            if not pull.listeners:
                pull.work.cancel()

    async def note(self, docker: Docker, reference: str, before: frozenset[str]) -> None:
        """It is there; `before`: what the engine had before it was asked."""
        image = await _find(docker, reference)
        if image is not None:
            await asyncio.to_thread(self._keeper.fetched, image, reference, before)

    def _forget(self, reference: str, work: asyncio.Task[None]) -> None:
        self._pulls.pop(reference, None)
        if not work.cancelled():
            # Whoever waited was told; where nobody did, nobody misses it.
            work.exception()


class _Pull:
    """One pull, and who is told of it."""

    def __init__(
        self, fetch: ImageFetch, engine: Engine, reference: str, options: DockerOptions
    ) -> None:
        self.listeners: list[Tell] = []
        self._fetch = fetch
        self._engine = engine
        self._reference = reference
        self._options = options
        self.work = asyncio.create_task(self._run())

    async def _run(self) -> None:
        progress = PullProgress()
        loop = asyncio.get_running_loop()
        told_at = loop.time()
        name = self._options.image
        try:
            async with (
                asyncio.timeout(self._options.pull_timeout_s),
                self._engine.connected() as docker,
            ):
                before = await _there(docker, self._reference)
                lines = _lines(docker, self._reference, self._options)
                while (line := await asyncio.wait_for(_next(lines), NO_PROGRESS_S)) is not None:
                    progress.note(line)
                    if loop.time() - told_at >= TELL_EVERY_S:
                        told_at = loop.time()
                        for tell in self.listeners:
                            tell(progress.sentence)
                await self._fetch.note(docker, self._reference, before)
        except TimeoutError as problem:
            text = f"Failed to pull `{name}`: it took too long: {progress.sentence}"
            raise StartError(text, recoverable=True) from problem
        except EngineError as problem:
            hopeless = any(word in str(problem).lower() for word in _HOPELESS)
            text = f"Failed to pull `{name}`: {problem}"
            raise StartError(text, recoverable=not hopeless) from problem


def image_reference(image: str) -> str:
    """The image with its tag: `latest` where neither tag nor digest is given."""
    plain = image.removeprefix("https://")
    last = plain.rpartition("/")[2]
    return plain if ":" in last or "@" in last else f"{plain}:latest"


async def image_id(docker: Docker, options: DockerOptions) -> str:
    """The image that a task starts from. Raises StartError when the engine has it no more."""
    reference = image_reference(options.image)
    found = await _find(docker, reference)
    if found is None:
        text = f'Failed to create container configuration for image "{reference}": no such image'
        raise StartError(text, recoverable=True)
    return found


async def _find(docker: Docker, reference: str) -> str | None:
    try:
        return str((await docker.images.inspect(reference))["Id"])
    except DockerError as problem:
        if problem.status == NOT_FOUND:
            return None
        raise


async def _there(docker: Docker, reference: str) -> frozenset[str]:
    """The ids of all that the engine has, and the reference if it knows that."""
    found = {image["Id"] for image in await docker.images.list(all=True)}
    return frozenset(found | ({reference} if await _find(docker, reference) else set()))


async def _load(docker: Docker, options: DockerOptions, directories: TaskDirectories) -> None:
    """Hand an archive of the task's own directory to the engine."""
    try:
        path = inside(directories.local, options.load.removeprefix("local/"))
        with path.open("rb") as archive:
            await docker.images.import_image(_chunks(archive))
    except OSError as problem:
        text = f'unable to load image from archive "{options.load}": {problem.strerror or problem}'
        raise StartError(text) from problem


async def _chunks(archive: Any) -> AsyncIterator[bytes]:
    while piece := await asyncio.to_thread(archive.read, _CHUNK):
        yield piece


def _lines(docker: Docker, reference: str, options: DockerOptions) -> AsyncIterator[Any]:
    auth = options.auth
    credentials = msgspec.to_builtins(auth) if auth.username or auth.password else None
    if credentials is not None:
        credentials["serveraddress"] = credentials.pop("server_address") or _registry(reference)
        reference = f"{_registry(reference)}/{_in_registry(reference)}"
    return docker.images.pull(reference, auth=credentials, stream=True)


async def _next(lines: AsyncIterator[Any]) -> Any:
    return await anext(lines, None)


def _registry(reference: str) -> str:
    """The host an image is kept at; the engine's own where none is named."""
    first, slash, _ = reference.partition("/")
    is_host = slash and ("." in first or ":" in first or first == "localhost")
    return first if is_host else "docker.io"


def _in_registry(reference: str) -> str:
    registry = _registry(reference)
    plain = reference.removeprefix(f"{registry}/")
    return plain if "/" in plain or registry != "docker.io" else f"library/{plain}"
