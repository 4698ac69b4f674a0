"""`docker`: a task as a container of the node's engine (node-agent-2.md 5.6).

A container outlives the agent; it is found again by its name and by our label with the id of the
run, and removed once its end is written down beside the task.
"""

import asyncio
import contextlib
import json
import logging
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from aiodocker import Docker
from aiodocker.containers import DockerContainer
from aiodocker.exceptions import DockerError

from cluster.agent.drivers.docker.container import (
    OWNER_LABEL,
    RUN_LABEL,
    container_body,
    container_name,
)
from cluster.agent.drivers.docker.engine import (
    CONFLICT,
    NOT_FOUND,
    Engine,
    EngineAway,
    EngineError,
)
from cluster.agent.drivers.docker.engine_watch import EngineWatch
from cluster.agent.drivers.docker.group_network import GroupNetworks
from cluster.agent.drivers.docker.image_fetch import ImageFetch, Tell, image_id
from cluster.agent.drivers.docker.image_keeper import ImageKeeper
from cluster.agent.drivers.docker.log_follower import LogFollower
from cluster.agent.drivers.docker.options import read_options
from cluster.agent.drivers.docker.settings import DockerSettings
from cluster.agent.drivers.driver import (
    Abilities,
    Ended,
    Handle,
    InsideFailed,
    InsideProcess,
    Isolation,
    Launch,
    StartError,
    Streams,
    TaskReading,
)
from cluster.agent.drivers.kept_process import log_order
from cluster.agent.drivers.process_table import ProcessTable
from cluster.agent.drivers.readings import read_task
from cluster.agent.drivers.small_process import own_environment
from cluster.agent.restarts import Ending
from cluster.agent.task_process import write_atomically
from scheduler.structs.node import DriverInfo

logger = logging.getLogger(__name__)
_PAUSE_S = 0.1
#: Seconds between attempts to reach an engine that is away.
_RETRY_S = 1.0
#: Seconds that the engine may take to remove a container.
_REMOVAL_S = 10.0
#: Seconds in which an engine that starts after its agent is waited for.
_PATIENCE_S = 30.0
#: Seconds that the rest of the output may take after the end.
_LAST_OUTPUT_S = 10.0
_EXIT, _CONTAINER = "exit.json", "container.json"


@dataclass
class _Run:
    """One container under watch."""

    container: str
    directory: Path
    logs: dict[str, object] | None
    #: Its first process, as the host numbers it; 0: not known.
    pid: int = 0
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    work: list[asyncio.Task[None]] = field(default_factory=list)


class DockerDriver:
    """The containers of one node; `owner` is the node's id."""

    name = "docker"
    abilities = Abilities(isolation=Isolation.IMAGE, runs_inside=True)
    takes_mounts = joins_networks = names_hosts = True

    def __init__(self, settings: DockerSettings, owner: str) -> None:
        self._settings = settings
        self._owner = owner
        self._engine = Engine(settings.socket)
        self._kept = ImageKeeper(settings.image_note, settings.image_delay_s)
        self._images = ImageFetch(self._engine, self._kept)
        self._networks = GroupNetworks(self._engine, owner)
        self._watch = EngineWatch(settings, owner, lambda: frozenset(self._runs), self._kept)
        self._runs: dict[str, _Run] = {}

    def describe(self, now: int) -> DriverInfo:
        """Offered where an engine answers. Containers that nothing knows of are removed."""
        return self._watch.look(now)

    def prepare(self, launch: Launch) -> Handle:
        """Each run has a directory of its own for the agent's notes."""
        assert launch.directories is not None, "docker nodes have a disk"
        container_body(read_options(launch.config), launch, self._settings, "", self._owner)
        directory = launch.directories.private / launch.task_id.rpartition("/")[2]
        facts = {"directory": str(directory), "container": container_name(launch)}
        return Handle(driver=self.name, task_id=launch.task_id, facts=dict(facts))

    async def fetch(self, launch: Launch, tell: Tell) -> None:
        """Have the image there before the start; may be broken off. Raises StartError."""
        assert launch.directories is not None, "docker nodes have a disk"
        await self._images.fetch(read_options(launch.config), launch.directories, tell)

    async def start(self, launch: Launch, handle: Handle, ended: Ended) -> None:
        """Create the container and start it."""
        options = read_options(launch.config)
        directory = Path(str(handle.facts["directory"]))
        await asyncio.to_thread(directory.mkdir, parents=True, mode=0o700, exist_ok=True)
        try:
            async with self._engine.connected() as docker:
                image = await image_id(docker, options)
                self._kept.use(image, handle.task_id)
                network = await self._networks.enter(docker, options, launch)
                body = container_body(options, launch, self._settings, image, self._owner, network)
                found = await self._create(docker, container_name(launch), body)
                run = _Run(found.id, directory, log_order(launch))
                note = {"id": run.container, "logs": run.logs, "image": image}
                write_atomically(directory / _CONTAINER, note)
                await self._start(found)
                self._follow(handle, run, ended)
        except EngineError as problem:
            raise StartError(str(problem), recoverable=problem.passes) from problem
        finally:
            if handle.task_id not in self._runs:
                self._kept.release(handle.task_id)

    async def recover(self, handle: Handle, ended: Ended) -> bool:
        """Go on watching it, or tell how it ended meanwhile."""
        directory = Path(str(handle.facts["directory"]))
        if (ending := _read(directory / _EXIT)) is not None:
            loop = asyncio.get_running_loop()
            loop.call_soon(ended, msgspec.convert(ending, Ending))
            return True
        note = _read(directory / _CONTAINER)
        if note is None or not await self._is_there(str(note["id"]), handle):
            return False
        self._kept.use(str(note.get("image", "")), handle.task_id)
        self._follow(handle, _Run(str(note["id"]), directory, note["logs"]), ended)
        return True

    async def stop(self, handle: Handle, timeout_s: float, signal: str) -> None:
        """The signal of the task or else of the image, then the end by force."""
        run = self._runs.get(handle.task_id)
        if run is None:
            return
        patience = math.ceil(timeout_s)
        async with self._tolerant(run) as container:
            if signal and patience:
                await container.kill(signal=signal)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(timeout_s):
                        await run.gone.wait()
                patience = 0
            if not run.gone.is_set():
                await container.stop(t=patience)
        await run.gone.wait()

    async def signal(self, handle: Handle, signal: str) -> None:
        """To the first process of the container."""
        run = self._runs.get(handle.task_id)
        if run is None:
            return
        try:
            async with self._engine.connected() as docker:
                await docker.containers.container(run.container).kill(signal=signal)
        except EngineError as problem:
            raise ValueError(f'failed to send signal "{signal}": {problem}') from problem

    async def run_inside(
        self, handle: Handle, argv: Sequence[str], streams: Streams
    ) -> InsideProcess:
        """By a small process of its own, which copies between its streams and the engine's."""
        run = self._runs.get(handle.task_id)
        if run is None or run.gone.is_set():
            raise InsideFailed(f"task {handle.task_id} is not running")
        module = "cluster.agent.drivers.docker.inside"
        order = [self._settings.socket, run.container, "tty" if streams.is_terminal else "plain"]
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", module, *order, *argv,
            stdin=streams.stdin, stdout=streams.stdout, stderr=streams.stderr,
            env=own_environment(), start_new_session=True,
        )  # fmt: skip
        return InsideProcess(process)

    def measure(self, handle: Handle, processes: ProcessTable) -> TaskReading | None:
        """Of the container's first process and all below it, where the host shows them."""
        run = self._runs.get(handle.task_id)
        if run is None or not run.pid:
            return None
        # Nobody beside the container buries its processes: none is counted as the keeper.
        return read_task(processes, [run.pid, *processes.below(run.pid)], 0)

    async def leave_network(self, alloc_id: str) -> None:
        """Remove what holds the network of that allocation for its containers."""
        await self._networks.leave(alloc_id)

    def forget(self, handle: Handle) -> None:
        """Stop watching; the container itself is left alone."""
        run = self._runs.pop(handle.task_id, None)
        self._kept.release(handle.task_id)
        for task in run.work if run else ():
            task.cancel()

    async def _create(self, docker: Docker, name: str, body: dict[str, Any]) -> DockerContainer:
        """A container of that name; what an earlier run of the task left makes way."""
        deadline = asyncio.get_running_loop().time() + _REMOVAL_S
        while True:
            try:
                return await docker.containers.create(body, name=name)
            except DockerError as problem:
                late = asyncio.get_running_loop().time() > deadline
                if problem.status != CONFLICT or late:
                    raise
            await self._make_way(docker, name)

    async def _make_way(self, docker: Docker, name: str) -> None:
        """Remove the container of that name. Its end was told, or will never be."""
        try:
            there = await docker.containers.get(name)
            labels = there["Config"]["Labels"] or {}
            if labels.get(OWNER_LABEL) != self._owner:
                raise StartError(f'failed to create container: "{name}" is there and not ours')
            await there.delete(force=True, v=True)
        except DockerError as problem:
            # Gone by itself, or on its way.
            if problem.status not in (NOT_FOUND, CONFLICT):
                raise
            await asyncio.sleep(_PAUSE_S)

    async def _start(self, container: DockerContainer) -> None:
        try:
            await container.start()
        except DockerError as problem:
            await container.delete(force=True, v=True)
            text = f"Failed to start container {container.id}: {problem.message}"
            raise StartError(text, recoverable=problem.status >= 500) from problem

    async def _is_there(self, container: str, handle: Handle) -> bool:
        """Whether the container of this run was started; one that never was is removed."""
        deadline = asyncio.get_running_loop().time() + _PATIENCE_S
        while True:
            try:
                async with self._engine.connected() as docker:
                    found = await docker.containers.get(container)
                    if found["State"]["Status"] == "created":
                        await found.delete(force=True, v=True)
                        return False
                    labels = found["Config"]["Labels"] or {}
                    return bool(labels.get(RUN_LABEL) == handle.task_id)
            except EngineAway:
                if asyncio.get_running_loop().time() > deadline:
                    return False
                await asyncio.sleep(_RETRY_S)
            except EngineError:
                return False

    def _follow(self, handle: Handle, run: _Run, ended: Ended) -> None:
        self._runs[handle.task_id] = run
        output: asyncio.Task[None] | None = None
        if run.logs is not None:
            follower = LogFollower(self._engine, run.container, run.directory, run.logs)
            output = asyncio.create_task(follower.follow())
            run.work.append(output)
        run.work.append(asyncio.create_task(self._await_end(handle, run, output, ended)))

    async def _await_end(
        self, handle: Handle, run: _Run, output: asyncio.Task[None] | None, ended: Ended
    ) -> None:
        ending = await self._ending(run)
        if output is not None:
            await asyncio.wait([output], timeout=_LAST_OUTPUT_S)
            output.cancel()
        # The end is on disk before the container goes: a new agent finds one or the other.
        await asyncio.to_thread(
            write_atomically, run.directory / _EXIT, msgspec.to_builtins(ending)
        )
        await self._remove(run)
        run.gone.set()
        self._kept.release(handle.task_id)
        if self._runs.get(handle.task_id) is run:
            del self._runs[handle.task_id]
        ended(ending)

    async def _ending(self, run: _Run) -> Ending:
        while True:
            try:
                async with self._engine.connected() as docker:
                    container = docker.containers.container(run.container)
                    run.pid = int((await container.show())["State"]["Pid"])
                    await container.wait()
                    return _ending_of((await container.show())["State"])
            except EngineAway:
                await asyncio.sleep(_RETRY_S)
            except EngineError as problem:
                if problem.status == NOT_FOUND:
                    return Ending(exit_code=1, message="the container was removed by somebody")
                logger.warning("cannot watch", extra={"container": run.container})
                await asyncio.sleep(_RETRY_S)

    async def _remove(self, run: _Run) -> None:
        """What cannot be removed now is removed by a later look for what nothing knows of."""
        with contextlib.suppress(EngineError, TimeoutError):
            async with asyncio.timeout(_REMOVAL_S), self._engine.connected() as docker:
                await docker.containers.container(run.container).delete(force=True, v=True)

    @contextlib.asynccontextmanager
    async def _tolerant(self, run: _Run):  # type: ignore[no-untyped-def] # a generator
        """The container of a run; that it has ended meanwhile is no problem."""
        try:
            async with self._engine.connected() as docker:
                yield docker.containers.container(run.container)
        except EngineError as problem:
            if problem.status not in (NOT_FOUND, CONFLICT):
                raise OSError(str(problem)) from problem


def _ending_of(state: dict[str, Any]) -> Ending:
    code = int(state["ExitCode"])
    message = f"Docker container exited with non-zero exit code: {code}" if code else ""
    killed = bool(state["OOMKilled"])
    return Ending(exit_code=code, message="OOM Killed" if killed else message, oom_killed=killed)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
