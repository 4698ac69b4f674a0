"""Containers in the network of their group (node-agent-2.md 5.6, and its rulings on networks).

An engine lets a container into the network of another container, by no other name. So each
allocation has a pause container, which enters the allocation's namespace and waits there; when it
is gone, another one enters the same namespace. What names mean there is in files of the task's.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aiodocker import Docker
from aiodocker.containers import DockerContainer
from aiodocker.exceptions import DockerError

from cluster.agent.drivers.docker.container import (
    ALLOC_LABEL,
    OWNER_LABEL,
    PAUSE_LABEL,
    joins_group,
    name_files,
)
from cluster.agent.drivers.docker.engine import (
    CONFLICT,
    NOT_FOUND,
    Engine,
    EngineAway,
    EngineError,
)
from cluster.agent.drivers.docker.options import DockerOptions
from cluster.agent.drivers.docker.pause_image import (
    PROGRAM,
    SEEN_AT,
    image_archive,
    image_name,
    why_none,
)
from cluster.agent.drivers.driver import Launch, StartError
from cluster.agent.networks.resolver import host_resolver_lines, resolver_text
from scheduler.structs.network import DNSConfig

logger = logging.getLogger(__name__)
#: Seconds that the pause container may take to enter the namespace, and between two looks.
_ENTRY_S, _PAUSE_S = 10.0, 0.02
_LOCAL_NAMES = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"


def pause_name(alloc_id: str) -> str:
    """What the container is called that holds the network of that allocation."""
    return f"bivouac-pause-{alloc_id}"


class GroupNetworks:
    """The pause containers of one node; `owner` is the node's id."""

    def __init__(self, engine: Engine, owner: str) -> None:
        self._engine = engine
        self._owner = owner
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def enter(self, docker: Docker, options: DockerOptions, launch: Launch) -> str:
        """What the engine is to call the task's network; "": as the options say.

        Raises StartError.
        """
        if not joins_group(options, launch):
            return ""
        if why := why_none():
            raise StartError(why)
        await asyncio.to_thread(_write_names, options, launch)
        alloc_id = launch.task_id.partition("/")[0]
        async with self._locks[alloc_id]:
            pause = await self._standing(docker, alloc_id, launch.network.namespace)
            if pause is None:
                pause = await self._make(docker, alloc_id, launch)
        return f"container:{pause}"

    async def leave(self, alloc_id: str) -> None:
        """The network is taken away: nothing of ours is to hold it. Says what does not go."""
        if not self._engine.socket:
            return
        async with self._locks[alloc_id]:
            try:
                async with self._engine.connected() as docker:
                    await self._remove(docker, alloc_id)
            except EngineAway:
                logger.debug("no engine to ask for a pause container of %s", alloc_id)
            except (EngineError, StartError) as problem:
                # The look for containers that nothing knows of finds it later.
                logger.warning("pause container of %s stays: %s", alloc_id, problem)
        self._locks.pop(alloc_id, None)

    async def _standing(self, docker: Docker, alloc_id: str, namespace: str) -> str | None:
        """The pause container that is in the namespace; one that is not makes way."""
        try:
            found = await docker.containers.get(pause_name(alloc_id))
        except DockerError as problem:
            if problem.status == NOT_FOUND:
                return None
            raise
        if found["State"]["Running"] and _is_in(int(found["State"]["Pid"]), namespace):
            return str(found.id)
        await self._remove(docker, alloc_id)
        return None

    async def _make(self, docker: Docker, alloc_id: str, launch: Launch) -> str:
        await _have_image(docker)
        body = pause_body(alloc_id, self._owner, launch)
        made = await docker.containers.create(body, name=pause_name(alloc_id))
        try:
            await made.start()
            await _await_entry(made, launch.network.namespace)
        except BaseException:
            await made.delete(force=True, v=True)
            raise
        return made.id

    async def _remove(self, docker: Docker, alloc_id: str) -> None:
        name = pause_name(alloc_id)
        try:
            found = await docker.containers.get(name)
            if (found["Config"]["Labels"] or {}).get(OWNER_LABEL) != self._owner:
                raise StartError(f'failed to create container: "{name}" is there and not ours')
            await found.delete(force=True, v=True)
        except DockerError as problem:
            # Gone by itself, or on its way.
            if problem.status not in (NOT_FOUND, CONFLICT):
                raise


def pause_body(alloc_id: str, owner: str, launch: Launch) -> dict[str, Any]:
    """The engine's words for it: nothing but the right to enter the namespace."""
    return {
        "Image": image_name(),
        "Cmd": [PROGRAM],
        "Hostname": launch.network.hostname or alloc_id,
        "Labels": {ALLOC_LABEL: alloc_id, OWNER_LABEL: owner, PAUSE_LABEL: "1"},
        "HostConfig": {
            "NetworkMode": "none",
            "CapDrop": ["ALL"],
            "CapAdd": ["SYS_ADMIN"],
            "SecurityOpt": ["no-new-privileges"],
            "ReadonlyRootfs": True,
            "PidsLimit": 1,
            "Binds": [f"{launch.network.namespace}:{SEEN_AT}:ro"],
            "LogConfig": {"Type": "none"},
        },
    }


async def _have_image(docker: Docker) -> None:
    """Hand the engine our image, unless it has it. Without any registry."""
    try:
        await docker.images.inspect(image_name())
    except DockerError as problem:
        if problem.status != NOT_FOUND:
            raise
    else:
        return
    # With its tag in the name: podman reads no other.
    params = {"fromSrc": "-", "repo": image_name()}
    headers = {"Content-Type": "application/x-tar"}
    asked = docker._query(
        "images/create", "POST", params=params, data=image_archive(), headers=headers
    )
    async with asked as response:
        await response.read()


async def _await_entry(pause: DockerContainer, namespace: str) -> None:
    """Until the container is in it: whoever joined before would be elsewhere."""
    deadline = asyncio.get_running_loop().time() + _ENTRY_S
    while True:
        state = (await pause.show())["State"]
        if state["Running"] and _is_in(int(state["Pid"]), namespace):
            return
        if not state["Running"] or asyncio.get_running_loop().time() > deadline:
            text = "the pause container cannot enter the network of the group"
            raise StartError(text, recoverable=True)
        await asyncio.sleep(_PAUSE_S)


def _is_in(pid: int, namespace: str) -> bool:
    try:
        return Path(f"/proc/{pid}/ns/net").samefile(namespace)
    except OSError:
        return False


def _write_names(options: DockerOptions, launch: Launch) -> None:
    """The files behind `/etc/hosts` and, where somebody says so, `/etc/resolv.conf`."""
    for file, target in name_files(options, launch):
        is_hosts = target == "/etc/hosts"
        text = hosts_text(options, launch) if is_hosts else _resolver_text(options, launch)
        file.write_text(text)
        file.chmod(0o644)


def hosts_text(options: DockerOptions, launch: Launch) -> str:
    """The allocation by its address and name, and what the task adds."""
    return _LOCAL_NAMES + "".join(f"{line}\n" for line in _host_lines(options, launch))


def _host_lines(options: DockerOptions, launch: Launch) -> Iterator[str]:
    network = launch.network
    name = network.hostname or launch.task_id.partition("/")[0]
    yield f"{network.address or '127.0.0.1'} {name}"
    for text in options.extra_hosts:
        name, _, address = text.partition(":")
        yield f"{address} {name}"


def _resolver_text(options: DockerOptions, launch: Launch) -> str:
    own = DNSConfig(
        servers=options.dns_servers,
        searches=options.dns_search_domains,
        options=options.dns_options,
    )
    return resolver_text(launch.network.dns or own, host_resolver_lines())
